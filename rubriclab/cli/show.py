"""Show what the store holds: the commands results, judgments and runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from rubriclab.cli import common
from rubriclab.cli.common import Across, ByStrategy, Json, Outcome, RunName, StorePath, Tables
from rubriclab.model.text import LabError, count, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from rubriclab.api import Contrast, Run
    from rubriclab.model.passing import PassRate
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store
    from rubriclab.words.fragile import FragileList

Unit = Literal["auto", "item", "block", "prompt"]
ID_CHARACTERS, REPLY_CHARACTERS = 1_000, 80
"""How much of an item's ID and of a reply a line shows. An ID is printed whole if it is sane; a
reply only says which one it is."""


def results(
    run: RunName,
    *,
    against: Annotated[
        str | None,
        Parameter(help="Run, or number of a condition, to compare with: adds rows A - B."),
    ] = None,
    topic: Annotated[
        str,
        Parameter(
            help="Add the numbers of this topic, or of “all”. With --json, print only this topic."
        ),
    ] = "",
    unit: Annotated[
        Unit | None, Parameter(help="What counts as independent: each answer, text or prompt.")
    ] = None,
    smallest: Annotated[
        float | None, Parameter(help="Smallest mean change that matters, in steps of the scale.")
    ] = None,
    table: Tables = None,
    across: Across = "dataset",
    by_strategy: ByStrategy = False,
    cut: common.Cut = None,
    passes: common.Passes = None,
    labels: common.Labels = None,
    epsilon: Annotated[
        float | None,
        Parameter(
            help="How much less often than a person the judge may agree with other people, as a "
            "share, for example 0.1."
        ),
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Show whether the judge is biased by order, how much, and what to do."""
    with common.run_of(run, store) as chosen:
        if any(value is not None for value in (unit, smallest, cut, passes, labels, epsilon)):
            chosen = chosen.read_as(
                unit=unit,
                smallest=smallest,
                cut=cut,
                passes=passes,
                labels=labels,
                epsilon=epsilon,
            )
        if made := common.paper_table(chosen, table, across, by_strategy):
            return Outcome(made.document() if json else made.text())
        compared = _compared(chosen, against) if against is not None else None
        code = common.ERROR if chosen.table.state == "failed" else common.DONE
        if json:
            return Outcome(_results_document(chosen, topic, compared), code)
        return Outcome(_results_text(chosen, topic, compared), code)


def _compared(run: Run, against: str) -> Contrast:
    """Return the differences from another run, or from a condition of this run by its number."""
    if against.isdigit() and int(against) < len(run.table.conditions):
        return run.minus(int(against))
    return run.minus(common.other_run(run, against))


def _results_document(run: Run, topic: str, compared: Contrast | None) -> dict[str, Any]:
    """Return the results as JSON values. Raises LabError for an unknown topic."""
    from rubriclab.exports.table import document, row_document

    made: dict[str, Any] = document(run.findings, extra=compared.differences if compared else [])
    if topic not in ("", "all"):
        run.findings.of_topic(topic)  # refuses an unknown topic
        made["rows"] = [row for row in made["rows"] if row["topic"] == topic]
    if compared and compared.answers:
        made["compared"] = [
            {
                "headline": answer.headline,
                "line": answer.line,
                "rows": [row_document(row, run.findings.conditions) for row in rows],
            }
            for answer, rows in compared.answers
        ]
    return made


def _results_text(run: Run, topic: str, compared: Contrast | None) -> str:
    """Return the results as text: the verdict, a topic's numbers, and the differences."""
    from rubriclab.exports.terminal import findings_text, rows_text

    text = findings_text(run.findings, topic)
    if compared:
        answers = ["\n".join(answer.lines()) for answer, _ in compared.answers]
        if answers:
            text += printable("\n\n".join(["", *answers]))
        if compared.differences:
            text += "\n\nDifferences (A - B)\n" + rows_text(
                compared.differences, run.findings.conditions
            )
    if not topic:
        numbers = count(len(run.findings.rows), "more number")
        text += f"\n{numbers}: use --topic all, or --json for programs.\n"
    return text


def judgments(
    run: RunName,
    *,
    condition: Annotated[
        int | None, Parameter(help="Only this condition, by its number in `results --json`.")
    ] = None,
    item: Annotated[str | None, Parameter(help="Only the item of this ID.")] = None,
    position: Annotated[
        int | None, Parameter(help="Only choices of this position; 1 is listed first.")
    ] = None,
    score: Annotated[float | None, Parameter(help="Only this score.")] = None,
    status: Annotated[
        Literal["ok", "unparsed", "refused", "truncated", "error"] | None,
        Parameter(help="Only calls that ended like this."),
    ] = None,
    differ: Annotated[
        tuple[str, str] | None,
        Parameter(help="Only where these two judges differ, with the answers of both."),
    ] = None,
    fragile: Annotated[
        bool,
        Parameter(help="The 20 items most likely to change when asked again in another order."),
    ] = False,
    limit: Annotated[
        int,
        Parameter(
            help="Show at most N judgments.",
            show_default=True,
            validator=validators.Number(gte=1),
        ),
    ] = 50,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """List single judgments with the order shown and the reply."""
    if differ is not None and fragile:
        raise LabError("Use only one of --differ and --fragile at a time.")
    calls = {"position": position, "score": score, "status": status}
    if differ is not None:
        _refuse(calls, "--differ lists the answers of two judges")
    if fragile:
        _refuse({"item": item} | calls, "--fragile lists items, not calls")
    with common.run_of(run, store) as chosen:
        if differ is not None:
            apart = chosen.differing(*differ)
            if condition is not None:
                apart = apart[apart["condition"] == condition]
            if item is not None:
                apart = apart[apart["item_id"] == item]
            return _differing(chosen, differ, apart, limit, json=json)
        if fragile:
            return _fragile(chosen, condition, limit, json=json)
        frame = chosen.judgments(condition=condition, item=item, limit=limit, **calls)
        if json:
            return Outcome({"judgments": _documents(frame)})
        return _calls(frame, _rates(chosen, frame))


def _documents(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a table as JSON values."""
    from rubriclab.exports.table import as_json

    return [{key: as_json(value) for key, value in row.items()} for row in frame.to_dict("records")]


def _refuse(filters: Mapping[str, Any], what: str) -> None:
    """Raise LabError if any of these filters is used. ``what``: why they do not fit, in words."""
    if any(value is not None for value in filters.values()):
        names = [f"--{name}" for name in filters]
        raise LabError(f"{what}. Use it without {', '.join(names[:-1])} and {names[-1]}.")


def _calls(frame: pd.DataFrame, rates: Mapping[int, PassRate | None]) -> Outcome:
    """List judgments, a line each. ``rates``: by condition, which of two scores passes."""
    rows = _documents(frame)
    if not rows:
        return Outcome("No judgments match. Remove a filter, or try another value.")
    return Outcome("\n".join(_judgment_line(row, rates.get(row["condition"])) for row in rows))


def _rates(run: Run, frame: pd.DataFrame) -> dict[int, PassRate | None]:
    """Return, by condition, which of two scores passes.

    Only of conditions whose calls listed two things: the whole run is read for it.
    """
    two = frame.loc[frame["labels"].str.len() == 2, "condition"].unique().tolist()
    return {condition: run.findings.pass_rate(condition) for condition in two}


def _fragile(run: Run, condition: int | None, limit: int, *, json: bool) -> Outcome:
    """List the items to look at again, of one condition or of each that has some."""
    from rubriclab.exports.table import row_document
    from rubriclab.words.fragile import fragile_list

    conditions = run.findings.conditions
    if condition is not None and not 0 <= condition < len(conditions):
        raise LabError(
            f"There is no condition {condition}. This run has {len(conditions)}, numbered from 0."
        )
    if json:
        rows = run.findings.select(topic="fragile", condition=condition)
        table = run.fragile(condition).groupby("condition", sort=False).head(limit)
        return Outcome(
            {
                "fragile": _documents(table),
                "rows": [row_document(row, conditions) for row in rows],
            }
        )
    parts = []
    for code, about in enumerate(conditions):
        made = fragile_list(run.findings, code) if condition in (None, code) else None
        if made is None:
            continue
        several = len(conditions) > 1
        lines = [f"{about.judge} · {about.dataset} · {about.strategy}"] if several else []
        parts.append("\n".join([*lines, *_fragile_lines(made, limit)]))
    if not parts:
        return Outcome("No score was given in two orders, so there is no list of fragile scores.")
    return Outcome("\n\n".join(parts))


def _fragile_lines(made: FragileList, limit: int) -> list[str]:
    """Return the list of one condition, an item a line, then what else is known of it."""
    lines = [made.title] if made.items else []
    lines += made.lines
    for each in made.items[:limit]:
        about = _item_name(each.item_id, each.criterion)
        lines.append(f"{100 * each.chance:.0f} in 100 · {about} · {each.given}")
    return [*lines, *made.zones[:1], *(f"  {zone}" for zone in made.zones[1:])]


def _item_name(item_id: str, criterion: str | None) -> str:
    """Return what a line calls an item: its ID, and its criterion if there are several."""
    return " · ".join(shorten(name, ID_CHARACTERS) for name in (item_id, criterion) if name)


def _differing(
    run: Run, judges: tuple[str, str], apart: pd.DataFrame, limit: int, *, json: bool
) -> Outcome:
    """List the judgments on which two judges differ, with both answers in a line."""
    from rubriclab.words.phrases import order_name, score_name

    rows = _documents(apart.head(limit))
    if json:
        return Outcome({"judges": list(judges), "differing": len(apart), "judgments": rows})
    first, second = (shorten(name, ID_CHARACTERS) for name in judges)
    lines = [f"{first} and {second} differ on {count(len(apart), 'judgment')}."]
    for row in rows:
        about = _item_name(row["item_id"], row["criterion"])
        rate = run.findings.pass_rate(row["condition"])
        answers = [f"{row[name]:g}" for name in ("answer", "other_answer")]
        if rate is not None:
            answers = [score_name(row[name], rate) for name in ("answer", "other_answer")]
        lines.append(
            f"{about} · listed {order_name(row['ordering'], rate)} · {first}: {answers[0]} · "
            f"{second}: {answers[1]}"
        )
    return Outcome("\n".join(lines))


def _judgment_line(row: dict[Any, Any], rate: PassRate | None) -> str:
    """Return one judgment as a line: item, order shown, score or status, and the reply.

    ``rate``: of two scores, which are named by their labels.
    """
    from rubriclab.words.phrases import order_name, score_name

    score = row["status"] if row["score"] is None else score_name(row["score"], rate)
    listed = order_name(row["ordering"], rate)
    line = f"{shorten(row['item_id'], ID_CHARACTERS)} · listed {listed} · {score}"
    if row.get("reply"):
        line += f" · {shorten(str(row['reply']), REPLY_CHARACTERS)}"
    return line


def runs(
    run: Annotated[
        str | None, Parameter(help="Name, ID or start of the ID of a run. Default: all runs.")
    ] = None,
    *,
    rename: Annotated[str | None, Parameter(help="Give the run this name.")] = None,
    delete: Annotated[bool, Parameter(help="Delete the run and its judgments.")] = False,
    backup: Annotated[Path | None, Parameter(help="Copy the whole store to this new file.")] = None,
    read_again: Annotated[
        bool,
        Parameter(
            help="Read the stored replies again, and say which scores and verdicts would change."
        ),
    ] = False,
    write: Annotated[bool, Parameter(help="With --read-again: keep the new scores.")] = False,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """List your runs. Rename, delete or back them up, or read their replies again."""
    if [rename is not None, delete, backup is not None, read_again].count(True) > 1:
        raise LabError("Use only one of --rename, --delete, --backup and --read-again at a time.")
    if write and not read_again:
        raise LabError("--write keeps what --read-again finds. Use both together.")
    if (rename is not None or delete or read_again) and run is None:
        raise LabError("Name a run, for example: rubriclab runs RUN --rename NAME.")
    if backup is not None:
        return _backed_up(store, backup, json=json)
    changes = delete or write or rename is not None
    with common.opened(store, write=changes) as lab:
        if run is None:
            return _listed(lab.store.runs(), json=json)
        info = lab.store.run(run)
        if delete:
            lab.store.delete(info.id)
            if json:
                return Outcome({"deleted": info.id})
            return Outcome(f"Deleted {info.name} and its {count(info.done, 'call')}.")
        if read_again:
            return _read_again(lab.store, info.id, write=write, json=json)
        if rename is not None:
            lab.store.rename(info.id, rename)
            info = lab.store.run(info.id)
        return _listed([info], lab.store.not_read(info.id), json=json)


def _listed(infos: list[RunInfo], note: str = "", *, json: bool) -> Outcome:
    """List runs. ``note`` says what could not be read of a damaged one."""
    if json:
        fields = ("id", "name", "state", "reason", "planned", "done", "reorder", "created")
        documents = [{name: getattr(info, name) for name in fields} for info in infos]
        return Outcome({"runs": documents})
    if not infos:
        return Outcome("No runs yet. Start one with rubriclab run demo --items 20")
    lines = []
    for info in infos:
        done = f"{info.done:,} of {count(info.planned, 'call')}"
        line = f"{info.id} · {info.name} · {info.state} · {done}"
        lines.append(f"{line} · {info.reason}" if info.reason else line)
    if note:
        lines.append(note)
    return Outcome("\n".join(lines))


def _read_again(store: Store, id: str, *, write: bool, json: bool) -> Outcome:
    """Read stored replies again, show what changes, and keep it with ``write``."""
    from rubriclab.runs.manager import plan_of_run
    from rubriclab.runs.read_again import read_again

    made = read_again(store, id, plan_of_run(store, id), write=write)
    if json:
        fields = ("judgments", "gained", "lost", "changed", "verdicts", "written")
        return Outcome({"run": id, **{name: getattr(made, name) for name in fields}})
    text = made.sentence()
    if made.differing and not made.written:
        text += " Add --write to keep it."
    return Outcome(text)


def _backed_up(store: Path | None, target: Path, *, json: bool) -> Outcome:
    """Copy a store without opening it for writing.

    So a store with a damaged log can be copied too, up to the damage.
    """
    from rubriclab.store.store import Store

    damaged_from = Store.save_copy(common.existing_store(store), target)
    if json:
        return Outcome({"backup": str(target), "cut_at": damaged_from})
    if damaged_from is None:
        return Outcome(f"Copied the store to {target}.")
    return Outcome(
        f"Copied the store to {target}, up to byte {damaged_from:,} of its log. The log is damaged "
        f"from there."
    )
