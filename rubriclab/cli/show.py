"""A run's name in; results, judgments or the list of runs out: the commands that show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from rubriclab.cli import common
from rubriclab.cli.common import Across, ByStrategy, Json, Outcome, RunName, StorePath, Tables
from rubriclab.model.text import LabError, count, printable, shorten

if TYPE_CHECKING:
    from rubriclab.store.store import Store

Unit = Literal["auto", "item", "block", "prompt"]


def results(
    run: RunName,
    *,
    against: Annotated[
        str | None, Parameter(help="A run, or a condition's number: rows A - B are added.")
    ] = None,
    topic: Annotated[
        str, Parameter(help="This topic's numbers too, or those of “all”; with --json alone.")
    ] = "",
    unit: Annotated[Unit | None, Parameter(help="What counts as independent.")] = None,
    smallest: Annotated[
        float | None, Parameter(help="Smallest change of the mean that matters, in steps.")
    ] = None,
    table: Tables = None,
    across: Across = "dataset",
    by_strategy: ByStrategy = False,
    cut: Annotated[
        float | None, Parameter(help="The lowest score that passes; the middle of the scale.")
    ] = None,
    epsilon: Annotated[
        float | None, Parameter(help="How much worse than a replaced rater it may be, a share.")
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Is the judge biased by order, by how much, and what to do: the answer; --topic all adds every
    number.
    """
    from rubriclab.exports.table import document, row_document
    from rubriclab.exports.terminal import findings_text, rows_text

    with common.run_of(run, store) as chosen:
        if any(value is not None for value in (unit, smallest, cut, epsilon)):
            chosen = chosen.read_as(unit=unit, smallest=smallest, cut=cut, epsilon=epsilon)
        if made := common.paper_table(chosen, table, across, by_strategy):
            return Outcome(made.document() if json else made.text())
        held = None
        if against is not None:
            numbered = against.isdigit() and int(against) < len(chosen.table.conditions)
            held = chosen.minus(int(against) if numbered else common.other_run(chosen, against))
        extra = held.differences if held else []
        code = common.MEND if chosen.table.state == "failed" else common.DONE
        if json:
            said: dict[str, Any] = document(chosen.findings, extra=extra)
            if topic not in ("", "all"):
                chosen.findings.of_topic(topic)  # refuses one that there is not
                said["rows"] = [row for row in said["rows"] if row["topic"] == topic]
            for answer, rows in held.answers if held else ():
                compared = {"headline": answer.headline, "line": answer.line}
                said.setdefault("compared", []).append(
                    compared | {"rows": [row_document(row) for row in rows]}
                )
            return Outcome(said, code)
        lines = ["\n".join(answer.lines()) for answer, _ in held.answers] if held else []
        differences = printable("\n\n".join(["", *lines])) if lines else ""
        differences += "\n\nDifferences (A - B)\n" + rows_text(extra) if extra else ""
        numbers = count(len(chosen.findings.rows), "number")
        more = "" if topic else f"\n{numbers} more: --topic all, or --json for programs.\n"
        return Outcome(findings_text(chosen.findings, topic) + differences + more, code)


def judgments(
    run: RunName,
    *,
    condition: int | None = None,
    item: str | None = None,
    position: int | None = None,
    score: float | None = None,
    status: Literal["ok", "unparsed", "refused", "truncated", "error"] | None = None,
    limit: Annotated[
        int, Parameter(help="At most so many.", validator=validators.Number(gte=1))
    ] = 50,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Single judgments: what was shown, what came back."""
    from rubriclab.exports.table import as_json

    with common.run_of(run, store) as chosen:
        frame = chosen.judgments(
            condition=condition,
            item=item,
            position=position,
            score=score,
            status=status,
            limit=limit,
        )
    rows = [{key: as_json(value) for key, value in row.items()} for row in frame.to_dict("records")]
    if json:
        return Outcome({"judgments": rows})
    lines = []
    for row in rows:
        score_text = row["status"] if row["score"] is None else f"score {row['score']:g}"
        reply = f" · {shorten(str(row['reply']), 80)}" if row.get("reply") else ""
        lines.append(
            f"{shorten(row['item_id'], 1_000)} · listed {row['ordering']} · {score_text}{reply}"
        )
    return Outcome("\n".join(lines) if lines else "No judgment matches.")


def runs(
    run: Annotated[str | None, Parameter(help="A run: id, a beginning of it, or name.")] = None,
    *,
    rename: Annotated[str | None, Parameter(help="Give the run another name.")] = None,
    delete: Annotated[bool, Parameter(help="Delete the run and its judgments.")] = False,
    backup: Annotated[Path | None, Parameter(help="Copy the whole store to a new file.")] = None,
    read_again: Annotated[
        bool,
        Parameter(help="Say what today's reader would change in the run's scores and verdicts."),
    ] = False,
    write: Annotated[bool, Parameter(help="With --read-again: keep the new readings.")] = False,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """The runs of the store; rename or delete one, read its replies again, or back the store up."""
    if [rename is not None, delete, backup is not None, read_again].count(True) > 1:
        raise LabError(
            "--rename, --delete, --backup and --read-again are a command each: give one."
        )
    if write and not read_again:
        raise LabError("--write keeps what --read-again finds: give both.")
    if (rename is not None or delete or read_again) and run is None:
        raise LabError("Name the run that is meant, as: rubriclab runs RUN --rename NAME.")
    if backup is not None:
        return _backed_up(store, backup, json)
    with common.opened(store) as lab:
        listed = lab.store.runs() if run is None else [lab.store.run(run)]
        if delete:
            (info,) = listed
            lab.store.delete(info.id)
            return Outcome(
                {"deleted": info.id}
                if json
                else f"Deleted {info.name} and its {count(info.done, 'call')}."
            )
        if read_again:
            return _read_again(lab.store, listed[0].id, write=write, json=json)
        if rename is not None:
            lab.store.rename(listed[0].id, rename)
            listed = [lab.store.run(listed[0].id)]
        lost = "" if run is None else lab.store.not_read(listed[0].id)
    if json:
        fields = ("id", "name", "state", "reason", "planned", "done", "reorder", "created")
        return Outcome(
            {"runs": [{name: getattr(info, name) for name in fields} for info in listed]}
        )
    lines = [
        f"{info.id} · {info.name} · {info.state} · {info.done:,} of {count(info.planned, 'call')}"
        + (f" · {info.reason}" if info.reason else "")
        for info in listed
    ]
    if run is not None and lost:
        lines.append(lost)
    return Outcome("\n".join(lines) if lines else "No runs yet. Try: rubriclab run demo --items 20")


def _read_again(store: "Store", id: str, *, write: bool, json: bool) -> Outcome:
    """Show what another reading of the stored replies changes, and keep it where that is asked
    for.
    """
    from rubriclab.runs.manager import plan_of_run
    from rubriclab.runs.read_again import read_again

    made = read_again(store, id, plan_of_run(store, id), write=write)
    if json:
        fields = ("judgments", "gained", "lost", "changed", "verdicts", "written")
        return Outcome({"run": id, **{name: getattr(made, name) for name in fields}})
    hint = "" if made.written or not made.differing else " Keep it with --write."
    return Outcome(made.sentence() + hint)


def _backed_up(store: Path | None, target: Path, json: bool) -> Outcome:
    """Copied without opening it for writing: a store with a damaged log is copied up to the
    damage.
    """
    from rubriclab.store.store import Store

    cut = Store.save_copy(common.existing_store(store), target)
    if json:
        return Outcome({"backup": str(target), "cut_at": cut})
    if cut is None:
        return Outcome(f"The store was copied to {target}.")
    return Outcome(
        f"The log is damaged from byte {cut:,} on; what stands before it was copied to {target}."
    )
