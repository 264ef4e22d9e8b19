"""The lab in Python: a file, a frame, a study or a store in; runs with their rows, sentences,
charts and exports out.

``import rubriclab as rl`` gives ``rl.read``, ``rl.open`` and ``rl.run``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import rubriclab.measures  # noqa: F401  every topic registers itself
from rubriclab.core.judgments import Judgments
from rubriclab.core.operations import check, contrast, limit_of, same_rules, worst
from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import PaperPart, ReadingPart, validated
from rubriclab.model.text import LabError

if TYPE_CHECKING:
    from rubriclab.exports.paper_table import PaperTable
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.session import Snapshot
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store
    from rubriclab.study.plan import Plan
    from rubriclab.words.answer import Answer

Kind = Literal["scores", "criteria", "pairs", "lists", "responses"]


class Run:
    """A run's judgments and all that they say. ``store`` and ``id`` are None for a run that is in
    no store.
    """

    def __init__(
        self,
        table: JudgmentTable,
        reading: ReadingPart | None = None,
        *,
        store: Store | None = None,
        id: str | None = None,
    ) -> None:
        self.table, self.store, self.id = table, store, id
        self.reading = reading or validated(ReadingPart, table.reading, f"{table.name}: ")

    def __repr__(self) -> str:
        return f"Run({self.table.name!r}, {len(self.table.rows):,} judgments, {self.table.state})"

    def info(self) -> RunInfo:
        """Name, state and counts as the store has them. Raises LabError for a run that is in no
        store.
        """
        if self.store is None or self.id is None:
            raise LabError(f"“{self.table.name}” is in no store: it was read from a file.")
        return self.store.run(self.id)

    @cached_property
    def reading_checks(self) -> list[ReadingCheck]:
        """The reading check of each judge: its first replies, what was read, and warnings."""
        from rubriclab.runs.reading_check import stored_checks

        if self.store is None or self.id is None or self.plan is None:
            return []
        return stored_checks(self.store, self.plan, self.id)

    def close(self) -> None:
        """Let go of the store, so that another process can open it."""
        if self.store is not None:
            self.store.close()

    @cached_property
    def findings(self) -> Findings:
        """Every number of the run, computed once."""
        return Findings(Judgments(self.table, self.reading.unit), self.reading)

    def rows(
        self, topic: str | None = None, measure: str | None = None, condition: int | None = None
    ) -> pd.DataFrame:
        """One row a number: topic, measure, condition, what it is about, value, low, high, level,
        units, n, p, verdict.
        """
        from rubriclab.exports.table import frame

        self.findings.of_topic("all" if topic is None else topic)
        rows = frame(self.findings)
        for column, wanted in (("topic", topic), ("measure", measure), ("condition", condition)):
            if wanted is not None:
                rows = rows[rows[column] == wanted]
        return rows.reset_index(drop=True)

    def text(self, topic: str = "") -> str:
        """The answer in words: what ``results`` prints; then the numbers of a ``topic``, or of
        “all”.
        """
        from rubriclab.exports.terminal import findings_text

        return findings_text(self.findings, topic)

    def paper_table(
        self, *measures: str, across: str = "dataset", by_strategy: bool = False
    ) -> PaperTable:
        """Measures as papers print them: lines judges, columns data sets or levels of what
        ``across`` names.

        “position_share:1” takes the number about position 1. What the study's ``[paper]`` names of
        a measure stands beside it. The table has ``frame()``, ``numbers()``, ``latex()``.
        """
        from rubriclab.exports.paper_table import paper_table

        return paper_table(
            self.findings, measures, across=across, by_strategy=by_strategy, papers=self.papers
        )

    @property
    def papers(self) -> list[PaperPart]:
        """What papers printed of the run's design, as its study says."""
        study = {} if self.store is None or self.id is None else self.store.study(self.id)
        return [PaperPart.model_validate(part) for part in study.get("paper") or ()]

    def chart(self, measure: str, *, judge: str | None = None) -> Any:
        """A Plotly figure of one measure. Raises LabError for a measure that no chart shows
        here.
        """
        from rubriclab.figures.charts import chart_of

        return chart_of(self.findings, measure, judge=judge)

    def judgments(self, **filters: Any) -> pd.DataFrame:
        """One row a judgment: item_id, condition, ordering, score, expected, position, status (and
        the reply, from a store).

        ``filters``: condition, item (an item_id), position, score, status, limit; from a store
        criterion and text too.
        """
        with self._in_store() as (store, id):
            return store.judgments(id, **filters)

    @contextlib.contextmanager
    def _in_store(self) -> Iterator[tuple[Store, str]]:
        """(store, id): the run's own, or those of a store that ends with the block."""
        if self.store is not None and self.id is not None:
            yield self.store, self.id
            return
        from rubriclab.store.store import Store

        with TemporaryDirectory() as folder, Store.open(Path(folder) / "lab.duckdb") as store:
            yield store, store.add_table(self.table)

    def read_as(
        self,
        unit: str | None = None,
        smallest: float | None = None,
        *,
        share: float | None = None,
        single: float | None = None,
        epsilon: float | None = None,
        cut: float | None = None,
    ) -> Run:
        """The same judgments under another unit, other smallest effects (mean in steps of the
        scale), epsilon or cut.
        """
        changes = {"mean": smallest, "share": share, "single": single}
        sizes = self.reading.smallest.model_dump() | {
            key: value for key, value in changes.items() if value is not None
        }
        own = {"unit": unit, "epsilon": epsilon, "cut": cut}
        own = self.reading.model_dump() | {
            key: value for key, value in own.items() if value is not None
        }
        reading = validated(ReadingPart, own | {"smallest": sizes}, "reading: ")
        return Run(self.table, reading, store=self.store, id=self.id)

    def minus(self, other: Run | int) -> Contrast:
        """A - B, number by number, paired on the units that both have.

        ``other``: another run, or the number of a condition, which every other condition of this
        run is held against. Raises LabError for a condition that the run does not have.
        """
        rows, conditions = self.findings.rows, range(len(self.table.conditions))
        if isinstance(other, Run):
            theirs = len(other.table.conditions)
            codes = [
                (code, 0 if theirs == 1 else code)
                for code in conditions
                if theirs == 1 or code < theirs
            ]
            return Contrast(
                contrast(rows, other.findings.rows, other.table.name), self, other, codes
            )
        if other not in conditions:
            raise LabError(
                f"“{self.table.name}” has no condition {other}; it has 0 to {conditions[-1]}."
            )
        codes = [(code, other) for code in conditions if code != other]
        theirs_rows = [row for row in rows if row.condition == other]
        mine = ([row for row in rows if row.condition == code] for code, _ in codes)
        return Contrast(
            [row for part in mine for row in contrast(part, theirs_rows)], self, self, codes
        )

    def gate(
        self, *limits: str, judge: str = "", rules: int | None = None
    ) -> Literal["passes", "fails", "unknown"]:
        """Check limits such as “favours_positions=0.1”, as the command ``gate`` does; all of them
        have to pass.

        ``judge``: only this judge of the run. ``rules``: the version of the rules that the limits
        were derived under. Raises LabError where those rules have changed since, and for a judge
        that the run does not have.
        """
        if rules is not None:
            same_rules(rules, "The gate", "Derive its limits again: rubriclab gate RUN --derive.")
        read = [limit_of(text) for text in limits]
        return worst(checked.word for checked in check(self.findings, read, judge))

    @cached_property
    def plan(self) -> Plan | None:
        """The plan that the run was made from; None for judgments made elsewhere and where it
        cannot be made again.
        """
        from rubriclab.runs.manager import plan_of_run

        if self.store is None or self.id is None:
            return None
        try:
            return plan_of_run(self.store, self.id)
        except LabError:
            return None

    def descriptions(
        self, criterion: str | None = None, condition: int | None = None
    ) -> dict[Any, str]:
        """What each score stands for in the run's rubric (that of a condition, by its code); empty
        where it is not known.
        """
        if self.plan is None or (
            condition is None and len({part.rubric.id for part in self.plan.parts}) > 1
        ):
            return {}
        rubric = self.plan.parts[self.plan.part_of[condition or 0]].rubric
        several = len(rubric.criteria) > 1
        if several and criterion is None:
            return {}
        return {
            option.score: option.description
            for option in rubric.criterion(criterion if several else None).options
        }

    def _judged_text(self, call: int) -> str:
        """The text that a call judged; empty where it is not known."""
        if self.store is not None and self.id is not None:
            return str(self.store.call(self.id, call)["item"]["response"])
        items, rows = self.table.items, self.table.rows
        item = int(rows.loc[rows["call"] == call, "item"].iloc[0])
        return str(items["response"].iloc[item] or "") if "response" in items else ""

    def card(
        self, protocol: str = "", margin: float | None = None, judge: str = ""
    ) -> dict[str, Any]:
        """The judge card of one judge, as JSON values: see ``card_of``."""
        from rubriclab.apply.card import card_of

        return card_of(self.findings, self.plan, protocol=protocol, margin=margin, judge=judge)

    def content(self, ending: str, **report: Any) -> bytes:
        """The run as a file of that ending: .html report, .zip run, .csv judgments, .numbers.csv
        and .tex every number, .card.json judge card.

        ``report``: title, include, texts of the report, as ``report_html`` takes them; of a card
        what ``card`` takes. Raises LabError for another ending.
        """
        from rubriclab.data.safe_files import csv_text
        from rubriclab.exports.report import report_html
        from rubriclab.exports.table import frame, judgments_frame, latex_table, spoken
        from rubriclab.store.bundle import bundle_bytes

        if ending == ".html":
            known: dict[str, Any] = {
                "text_of": self._judged_text,
                "descriptions": self.descriptions(),
            }
            return report_html(self.findings, **known, **report).encode()
        if ending == ".card.json":
            return (json.dumps(self.card(**report), indent=1, ensure_ascii=False) + "\n").encode()
        if ending == ".zip":
            return bundle_bytes(self.table, self.store, self.id, csv_text(frame(self.findings)))
        if ending == ".csv":
            return csv_text(judgments_frame(self.table, self.judgments(limit=None))).encode()
        if ending == ".numbers.csv":
            return csv_text(frame(self.findings)).encode()
        if ending == ".tex":
            return latex_table(spoken(self.findings)).encode()
        endings = ".html, .zip, .csv, .parquet, .tex or .card.json"
        raise LabError(f"No file of a run ends in “{ending}”; expected {endings}.")

    def export(
        self,
        path: str | Path,
        *,
        texts: bool = False,
        title: str | None = None,
        table: PaperTable | None = None,
        **card: Any,
    ) -> Path:
        """Write the run to a file; the ending decides: .html report, .zip run, .csv or .parquet
        judgments, .tex table of numbers, .card.json judge card (``card``: protocol, margin, judge).

        ``texts``: the report shows one answer word for word; ``table``: it alone is written, as
        .tex or .csv. A file that was there stays whole until the new one is.
        """
        from rubriclab.data.limits import user_path
        from rubriclab.data.safe_files import csv_text, write_atomically

        path = user_path(path)
        ending = ".card.json" if path.name.endswith(".card.json") else path.suffix
        own = {".html": ("texts", "title"), ".card.json": ("protocol", "margin", "judge")}.get(
            ending, ()
        )
        options = {"texts": texts, "title": title} | card
        if more := [
            name
            for name, value in options.items()
            if value not in (None, "", False) and name not in own
        ]:
            raise LabError(
                f"{path.name} has no {', '.join(more)}: texts and title are of a report (.html), "
                f"the rest of a card."
            )
        if path.suffix == ".parquet" and table is None:
            with self._in_store() as (store, id):
                return store.write_parquet(id, path)
        if ending == ".card.json":
            content = self.content(".card.json", **card)
        elif table is None:
            content = self.content(path.suffix, texts=texts, title=title)
        elif path.suffix in (".tex", ".csv"):
            content = (
                table.latex() if path.suffix == ".tex" else csv_text(table.numbers())
            ).encode()
        else:
            raise LabError(
                f"{path.name} ends in “{path.suffix}”; a table is written as .tex or .csv."
            )
        write_atomically(path, content)
        return path


class Contrast:
    """The differences of two runs (or of conditions): rows as a frame, and an answer for each two
    conditions.

    ``codes``: the numbers of the conditions that are held against each other, of the first and of
    the second run.
    """

    def __init__(
        self, differences: list[Row], a: Run, b: Run, codes: list[tuple[int, int]]
    ) -> None:
        self.differences, self._runs, self._codes = differences, (a, b), codes

    @cached_property
    def answers(self) -> list[tuple[Answer, list[Row]]]:
        """What the page Compare says of each two, and the rows that it says it of."""
        from rubriclab.core.differences import differences, paired
        from rubriclab.words.contrasts import compare_answer, pair_names

        a, b = self._runs
        pairs = [paired(a.findings, code, b.findings, other) for code, other in self._codes]
        made = [
            (pair, differences(pair, b.table.name if a is not b else pair.arms[1].code))
            for pair in pairs
        ]
        names = (a.table.name, b.table.name)
        return [(compare_answer(pair, pair_names(pair, names), rows), rows) for pair, rows in made]

    def rows(self) -> pd.DataFrame:
        from rubriclab.exports.table import frame_of_rows

        return frame_of_rows(self.differences)


class Lab:
    """A store of runs, made where there is none. Use it in a ``with`` block, or call ``close``: one
    process has it at a time.
    """

    def __init__(self, path: str | Path = "lab.duckdb") -> None:
        from rubriclab.store.store import Store

        self.store = Store.open(Path(path))

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def runs(self) -> pd.DataFrame:
        """One row a run: id, name, state, judges, planned and done calls, when."""
        columns = (
            "id",
            "name",
            "state",
            "reorder",
            "judges",
            "planned",
            "done",
            "created",
            "reason",
        )
        rows = [{name: getattr(run, name) for name in columns} for run in self.store.runs()]
        return pd.DataFrame(rows, columns=columns)

    def run(self, name: str) -> Run:
        """A run by its id, a unique beginning of it, or its name. Raises LabError where there is
        none.
        """
        return kept_run(self.store, self.store.run(name).id)


def kept_run(store: Store, id: str) -> Run:
    return Run(store.table(id), store=store, id=id)


def read(
    source: str | Path | pd.DataFrame,
    kind: Kind | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Run:
    """A run from judgments made elsewhere (a table of scores or choices, a frame, another tool's
    log) or from a run's zip.

    ``kind`` and ``columns`` (ours = theirs) only where the columns do not tell. Raises LabError
    naming row and column.
    """
    from rubriclab.data.limits import user_path
    from rubriclab.data.scores import MissingColumn, read_judgments
    from rubriclab.data.tables import read_table, table_of_frame
    from rubriclab.logs.log import KNOWN, read_log
    from rubriclab.store.bundle import read_bundle

    if isinstance(source, pd.DataFrame):
        table = table_of_frame(source, name or "frame")
    else:
        path = user_path(source)
        if path.suffix == ".zip":
            return Run(read_bundle(path))
        log = None if columns else read_log(path, kind=kind)
        table = log.table if log is not None else read_table(path, path.name)
    try:
        made = read_judgments(table, kind=kind, columns=dict(columns or {}), name=name or "")
    except MissingColumn as fault:
        words = f"If it is the log of a tool, its form is not known. These are: {', '.join(KNOWN)}."
        raise LabError(f"{fault} {words}") from None
    return Run(made)


def run(
    study: str | Path | Plan,
    store: str | Path = "lab.duckdb",
    *,
    items: int | None = None,
    drop: tuple[str, ...] = (),
    max_calls: int | None = None,
    max_money: float | None = None,
    retry_failed: bool = False,
    trust: bool = False,
    judges: Mapping[str, Callable[..., Any]] | None = None,
    ray: str | None = None,
    secrets: Mapping[str, str] | None = None,
    check: bool = True,
    tries: int | None = None,
    progress: Callable[[Snapshot], None] | None = None,
) -> Run:
    """Ask what a study has not asked yet, and come back with the run; its store stays open until
    ``Run.close``.

    ``study``: a TOML file, a log with prompts, ``demo`` for the sample with the embedded judge, or
    a plan of one. ``judges``: functions ``(messages, item)`` of your own, each in place of the
    study's judge of that name, or one more; ``trust``: a study that was handed on may run its own
    code, and the study's keys may be sent to its addresses, which the store keeps; ``ray``: the
    address of a Ray cluster whose nodes ask the calls. ``check``: each judge is asked eight calls
    first, and the run pauses with the reason where their replies cannot be read
    (``Run.reading_checks``). ``tries``: ask so many calls of each judge and pause. ``progress`` is
    called twice a second. Stopped by Ctrl-C the run pauses: calls in flight are waited for, then
    KeyboardInterrupt goes on.
    """
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import Run as Running
    from rubriclab.store.store import Store

    known = {"items": items, "drop": drop, "trust": trust, "functions": judges}
    plan = plan_of_file(study, **known) if isinstance(study, str | Path) else study
    opened = Store.open(Path(store))
    running: Running | None = None
    try:
        running = Running(
            opened,
            plan,
            secrets=secrets,
            max_calls=max_calls,
            max_money=max_money,
            retry_failed=retry_failed,
            functions=judges,
            ray=ray,
            agree=trust,
            check="stop" if check else "off",
            tries=tries,
        ).start()
        waited(running, progress)
        return kept_run(opened, running.id)
    except BaseException:
        if running is not None and running.active:  # stopped in the moment in which it had begun
            running.pause("stopped as it began")
            running.wait(60)
        opened.close()
        raise


def waited(running: Any, progress: Callable[[Any], None] | None) -> None:
    """Until what was started has ended or paused; Ctrl-C pauses it and goes on as
    KeyboardInterrupt.
    """
    try:
        while running.wait(0.5).state in ("planned", "running"):
            if progress is not None:
                progress(running.snapshot())
    except KeyboardInterrupt:
        running.pause("stopped by Ctrl-C")
        try:
            running.wait(60)
        except KeyboardInterrupt:
            # A second Ctrl-C: calls in flight are dropped, and the store is let go of before it
            # closes.
            running.cancel()
            with contextlib.suppress(KeyboardInterrupt):
                running.wait(10)
        raise
    if progress is not None:
        progress(running.snapshot())
