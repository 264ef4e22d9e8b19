"""Offer the lab to Python: read judgments, run studies, and ask a run for its results.

Notebooks use it as ``rl.read``, ``rl.open`` and ``rl.run``. The command line and the pages stand
on it too, so it prints nothing and asks nobody. Names in here are public: other people's
notebooks use them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import rubriclab.measures  # noqa: F401  every topic registers itself
from rubriclab.core.judgments import Arm, Judgments
from rubriclab.core.operations import check, contrast, limit_of, same_rules, worst
from rubriclab.core.topic import Findings, Row
from rubriclab.measures.fragile import chances
from rubriclab.measures.judges import counterpart, rows_apart
from rubriclab.model.judgment import JudgmentTable, order_text
from rubriclab.model.passing import check_cut
from rubriclab.model.study import PaperPart, ReadingPart, validated
from rubriclab.model.text import LabError, shorten

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
    """A run's judgments and every result that follows from them.

    store, id: None for a run that was read from a file and is in no store.
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
        self._answers: dict[int, str] = {}  # by item: what was shown of it, read once
        self.reading = reading or validated(ReadingPart, table.reading, f"{table.name}: ")

    def __repr__(self) -> str:
        return f"Run({self.table.name!r}, {len(self.table.rows):,} judgments, {self.table.state})"

    def info(self) -> RunInfo:
        """Return name, state and counts from the store.

        Raises LabError for a run that is not in a store.
        """
        if self.store is None or self.id is None:
            raise LabError(f"“{self.table.name}” is not in a store: it was read from a file.")
        return self.store.run(self.id)

    @cached_property
    def keeps_prompts(self) -> bool:
        """Whether it was imported from a log with its prompts, which can be reordered."""
        if self.store is None or self.id is None:
            return False
        return self.store.keeps_prompts(self.id)

    @cached_property
    def reading_checks(self) -> list[ReadingCheck]:
        """The reading check of each judge: its first replies, what was parsed, and warnings."""
        from rubriclab.runs.reading_check import stored_checks

        if self.store is None or self.id is None or self.plan is None:
            return []
        return stored_checks(self.store, self.plan, self.id)

    def close(self) -> None:
        """Close the store, so that another process can open it."""
        if self.store is not None:
            self.store.close()

    @cached_property
    def findings(self) -> Findings:
        """Every number of the run. Each is computed when it is first needed, and once."""
        return Findings(Judgments(self.table, self.reading.unit), self.reading)

    def rows(
        self, topic: str | None = None, measure: str | None = None, condition: int | None = None
    ) -> pd.DataFrame:
        """Return one row per number, optionally of one topic, measure or condition.

        The columns are topic, measure, condition, what the number is about (position, score and
        so on), value, low, high, level, units, n, p and verdict. Raises LabError for an unknown
        topic.
        """
        from rubriclab.exports.table import frame

        self.findings.of_topic("all" if topic is None else topic)  # refuses an unknown topic
        rows = frame(self.findings)
        for column, wanted in (("topic", topic), ("measure", measure), ("condition", condition)):
            if wanted is not None:
                rows = rows[rows[column] == wanted]
        return rows.reset_index(drop=True)

    def text(self, topic: str = "") -> str:
        """Return the verdict as ``rubriclab results`` prints it.

        A ``topic`` adds its numbers, and “all” adds every number.
        """
        from rubriclab.exports.terminal import findings_text

        return findings_text(self.findings, topic)

    def paper_table(
        self, *measures: str, across: str = "dataset", by_strategy: bool = False
    ) -> PaperTable:
        """Return measures as papers print them: judges in lines, data sets in columns.

        ``across`` puts something else in the columns, for example a factor. “position_share:1” is
        the number about position 1. A number that the study's ``[paper]`` gives appears next to
        ours. The table has ``frame()``, ``numbers()`` and ``latex()``.
        """
        from rubriclab.exports.paper_table import paper_table

        return paper_table(
            self.findings, measures, across=across, by_strategy=by_strategy, papers=self.papers
        )

    @cached_property
    def papers(self) -> list[PaperPart]:
        """The numbers that papers printed for this design, as the study names them."""
        if self.store is None or self.id is None:
            return []
        study = self.store.study(self.id)
        return [PaperPart.model_validate(part) for part in study.get("paper") or ()]

    def chart(self, measure: str, *, judge: str | None = None) -> Any:
        """Return a Plotly figure of one measure. Raises LabError if no chart shows it."""
        from rubriclab.figures.charts import chart_of

        return chart_of(self.findings, measure, judge=judge)

    def judgments(self, **filters: Any) -> pd.DataFrame:
        """Return one row per judgment: item_id, condition, ordering, score, position and so on.

        ``filters`` are condition, item (an item_id), position, score, status and limit. A run of
        a store also has the replies, and the filters criterion and text.
        """
        with self._in_store() as (store, id):
            return store.judgments(id, **filters)

    def differing(self, judge: str, other: str) -> pd.DataFrame:
        """Return the judgments on which two judges differ: the same item in the same order.

        One row each, in the order of the first judge's calls. Columns: condition and call of the
        first judge, other_call, item_id, criterion, ordering, repeat, answer and other_answer:
        scores, or for pairs and lists the winner's position (0: a tie).

        Raises LabError for a judge that the run lacks, and if the two were never asked the same.
        """
        known = list(dict.fromkeys(about.judge for about in self.table.conditions))
        for name in (judge, other):
            if name not in known:
                raise LabError(
                    f"“{self.table.name}” has no judge “{shorten(name)}”. It has "
                    f"{shorten(', '.join(known), 300)}."
                )
        arms = [arm for arm in self.findings.judgments.arms if arm.condition.judge == judge]
        pairs = [(arm, counterpart(arm, other)) for arm in arms]
        frames = [_apart(arm, theirs) for arm, theirs in pairs if theirs is not None]
        if judge == other or not frames:
            raise LabError(
                f"“{shorten(judge)}” and “{shorten(other)}” were never asked the same. Name two "
                "judges that share a data set and an ordering strategy."
            )
        return pd.concat(frames, ignore_index=True)

    def fragile(self, condition: int | None = None) -> pd.DataFrame:
        """Return the scores to look at again: at most 20 of each condition, most likely first.

        Columns: condition, item_id, criterion, probability and given. The probability is that of
        two calls in two different orders to differ, as the first round of repeats
        says; ``given`` is what the item got in that round. ``rows("fragile")`` says whether the
        list kept its promise in the other rounds.
        """
        from rubriclab.words.fragile import fragile_list

        listed = [
            {
                "condition": arm.code,
                "item_id": item.item_id,
                "criterion": item.criterion,
                "probability": item.chance,
                "given": item.given,
            }
            for arm in self.findings.judgments.arms
            if condition in (None, arm.code)
            and (made := fragile_list(self.findings, arm.code)) is not None
            for item in made.items
        ]
        columns = ["condition", "item_id", "criterion", "probability", "given"]
        return pd.DataFrame(listed, columns=columns)

    @contextlib.contextmanager
    def _in_store(self) -> Iterator[tuple[Store, str]]:
        """Give the run's store and ID, or a store that is deleted when the block ends."""
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
        passes: str | None = None,
        labels: Literal["random", "by label", "by verdict"] | None = None,
        baseline: str | None = None,
        families: Mapping[str, str] | None = None,
    ) -> Run:
        """Return the same judgments with other settings of the analysis.

        unit: what is independent (item, block, prompt). smallest: the smallest mean change that
        matters, in steps of the scale. share, single: the smallest position bias and the smallest
        change in single scores that matter, as shares. epsilon: the allowance of the alt-test.
        cut: the lowest score that passes. passes: of a scale of two scores, the label or score that
        passes; it takes the place of cut, and cut of it. labels: how the answers with people's
        labels were chosen. baseline: the judge that others are compared with. families: the family
        of a judge by its name, in place of the guess. Whatever is left out stays as it is. Raises
        LabError for a value that cannot be.
        """
        sizes = self.reading.smallest.model_dump()
        for key, value in (("mean", smallest), ("share", share), ("single", single)):
            if value is not None:
                sizes[key] = value
        settings = self.reading.model_dump()
        for key, setting in (
            ("unit", unit),
            ("epsilon", epsilon),
            ("cut", cut),
            ("passes", passes),
            ("labels", labels),
            ("baseline", baseline),
            ("families", families),
        ):
            if setting is not None:
                settings[key] = setting
        settings["smallest"] = sizes
        if passes and cut is None:
            settings["cut"] = None
        elif cut is not None and not passes:
            settings["passes"] = ""
        reading = validated(ReadingPart, settings, "reading: ")
        if passes:
            Judgments(self.table).check_passes(reading)
        if cut is not None:
            check_cut([about.scores for about in self.table.conditions], reading)
        return Run(self.table, reading, store=self.store, id=self.id)

    def minus(self, other: Run | int) -> Contrast:
        """Return A - B, number by number, paired on the units that both have.

        ``other`` is another run, or the number of a condition of this run. Each other condition
        is then compared with that one. Raises LabError for a condition that the run lacks.
        """
        if isinstance(other, Run):
            return self._minus_run(other)
        rows, conditions = self.findings.rows, range(len(self.table.conditions))
        if other not in conditions:
            raise LabError(
                f"“{self.table.name}” has no condition {other}. Use 0 to {conditions[-1]}."
            )
        subtracted = [row for row in rows if row.condition == other]
        pairs, differences = [], []
        for code in conditions:
            if code != other:
                pairs.append((code, other))
                own = [row for row in rows if row.condition == code]
                differences += contrast(own, subtracted)
        return Contrast(differences, self, self, pairs)

    def _minus_run(self, other: Run) -> Contrast:
        """Return this run minus another one.

        Conditions pair by their number. A run with one condition is compared with each of ours.
        """
        theirs = len(other.table.conditions)
        pairs = []
        for code in range(len(self.table.conditions)):
            if theirs == 1:
                pairs.append((code, 0))
            elif code < theirs:
                pairs.append((code, code))
        differences = contrast(self.findings.rows, other.findings.rows, other.table.name)
        return Contrast(differences, self, other, pairs)

    def gate(
        self, *limits: str, judge: str = "", rules: int | None = None
    ) -> Literal["passes", "fails", "unknown"]:
        """Check limits such as “favours_positions=0.1”. All of them must pass.

        judge: check only this judge. rules: the version of the rules under which the limits were
        derived. Raises LabError if those rules have changed, and for an unknown judge.
        """
        if rules is not None:
            same_rules(rules, "The gate", "Derive its limits again: rubriclab gate RUN --derive.")
        read = [limit_of(text) for text in limits]
        return worst(checked.word for checked in check(self.findings, read, judge))

    @cached_property
    def plan(self) -> Plan | None:
        """The plan of the run. None for judgments made elsewhere, and if it cannot be rebuilt."""
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
        """Return the description of each score in the run's rubric.

        Several data sets may have several rubrics, so name a condition, and a criterion if the
        rubric has several. Empty if the rubric is not known or the choice is not clear.
        """
        if self.plan is None:
            return {}
        rubrics = {part.rubric.id for part in self.plan.parts}
        if condition is None and len(rubrics) > 1:
            return {}
        rubric = self.plan.parts[self.plan.part_of[condition or 0]].rubric
        if len(rubric.criteria) == 1:
            criterion = None
        elif criterion is None:
            return {}
        options = rubric.criterion(criterion).options
        return {option.score: option.description for option in options}

    def judged_text(self, call: int) -> str:
        """Return the answer that a call judged, or an empty text if it is not known."""
        rows, items = self.table.rows, self.table.items
        item = int(rows["item"].to_numpy()[rows["call"].to_numpy() == call][0])
        if item not in self._answers:
            text = items["response"].iloc[item] if "response" in items else ""
            if self.store is not None and self.id is not None:
                text = self.store.item(self.id, item)["response"]
            self._answers[item] = str(text or "")
        return self._answers[item]

    def card(
        self, protocol: str = "", margin: float | None = None, judge: str = ""
    ) -> dict[str, Any]:
        """Return the judge card of one judge as JSON values: see ``card_of``."""
        from rubriclab.apply.card import card_of

        return card_of(self.findings, self.plan, protocol=protocol, margin=margin, judge=judge)

    def content(self, ending: str, **report: Any) -> bytes:
        """Return the run as the content of a file with this ending.

        .html: report. .page.html: report on one sheet for each judge. .zip: the run itself. .csv:
        judgments. .numbers.csv, .tex: every number. .card.json: judge card. ``report`` holds the
        options of ``report_html``, those of ``card``, or ``texts`` and ``judge`` for sheets. Raises
        LabError for another ending.
        """
        from rubriclab.data.safe_files import csv_text
        from rubriclab.exports.report import report_html
        from rubriclab.exports.table import frame, judgments_frame, latex_table, spoken
        from rubriclab.store.bundle import bundle_bytes

        if ending == ".html":
            known: dict[str, Any] = {
                "text_of": self.judged_text,
                "descriptions": self.descriptions(),
            }
            return report_html(self.findings, **known, **report).encode()
        if ending == ".page.html":
            return self._one_page(**report).encode()
        if ending == ".card.json":
            return (json.dumps(self.card(**report), indent=1, ensure_ascii=False) + "\n").encode()
        if ending == ".zip":
            return bundle_bytes(self.table, self.store, self.id, csv_text(frame(self.findings)))
        if ending == ".csv":
            judged = self.judgments(limit=None)
            return csv_text(judgments_frame(self.table, judged, chances(self.findings))).encode()
        if ending == ".numbers.csv":
            return csv_text(frame(self.findings)).encode()
        if ending == ".tex":
            return latex_table(spoken(self.findings)).encode()
        raise LabError(
            f"A run cannot be written as “{ending}”. Use .html, .page.html, .zip, .csv, .parquet, "
            f".tex or .card.json."
        )

    @property
    def _named_in_commands(self) -> str:
        """The run's ID, if it was made here; an import may be in a store that no command opens."""
        if self.store is None or self.id is None or self.store.imported(self.id):
            return ""
        return self.id

    def _one_page(self, *, texts: bool = False, judge: str = "") -> str:
        from rubriclab.exports.presentation import one_page

        return one_page(
            self.findings,
            study=None if self.plan is None else self.plan.study,
            text_of=self.judged_text if texts else None,
            judge=judge,
            run=self._named_in_commands,
            printed=datetime.now(),
        )

    def export(
        self,
        path: str | Path,
        *,
        texts: bool = False,
        title: str | None = None,
        table: PaperTable | None = None,
        **card: Any,
    ) -> Path:
        """Write the run to a file. Its ending decides what is written.

        .html: report, and ``texts`` shows one answer word for word. .page.html: the same on one A4
        sheet for each judge. .zip: the run itself. .csv, .parquet: judgments. .tex: table of
        numbers. .card.json: judge card, with ``card`` as in ``Run.card``. With ``table``, only
        that table is written, as .tex or .csv. An existing file stays whole until the new one is
        complete. Raises LabError for another ending, and for an option that this kind of file does
        not have.
        """
        from rubriclab.data.limits import user_path
        from rubriclab.data.safe_files import csv_text, write_atomically

        path = user_path(path)
        ending = next((end for end in LONG_ENDINGS if path.name.endswith(end)), path.suffix)
        _refuse_options(path.name, ending, {"texts": texts, "title": title} | card)
        if table is not None:
            if ending == ".tex":
                content = table.latex().encode()
            elif ending == ".csv":
                content = csv_text(table.numbers()).encode()
            else:
                raise LabError(f"{path.name}: a table is written as .tex or .csv.")
        elif ending == ".parquet":
            with self._in_store() as (store, id):
                return store.write_parquet(id, path, chances(self.findings))
        elif ending == ".card.json":
            content = self.content(ending, **card)
        elif ending == ".page.html":
            content = self.content(ending, texts=texts, judge=card.get("judge", ""))
        else:
            content = self.content(ending, texts=texts, title=title)
        write_atomically(path, content)
        return path


LONG_ENDINGS = (".card.json", ".page.html")
"""Endings of two parts, which decide what is written."""
EXPORT_OPTIONS = {
    ".html": ("texts", "title"),
    ".page.html": ("texts", "judge"),
    ".card.json": ("protocol", "margin", "judge"),
}
"""Which options of ``Run.export`` a kind of file has. All other kinds have none."""


def _refuse_options(name: str, ending: str, options: Mapping[str, Any]) -> None:
    """Raise LabError if an option is set that a file of this ending does not have."""
    allowed = EXPORT_OPTIONS.get(ending, ())
    extra = [
        option
        for option, value in options.items()
        if option not in allowed and value not in (None, "", False)
    ]
    if extra:
        raise LabError(
            f"{name} has no {', '.join(extra)}. Only a report (.html) has texts and a title, and "
            f"one on A4 sheets (.page.html) has texts and a judge. Only a judge card (.card.json) "
            f"has the other options."
        )


class Contrast:
    """The differences of two runs, or of two conditions of one run.

    differences: one row per number that both have, A - B. pairs: the numbers of the conditions
    that are compared, in the first and in the second run.
    """

    def __init__(
        self, differences: list[Row], a: Run, b: Run, pairs: list[tuple[int, int]]
    ) -> None:
        self.differences = differences
        self._runs = (a, b)
        self._pairs = pairs

    @cached_property
    def answers(self) -> list[tuple[Answer, list[Row]]]:
        """What the page Compare says about each pair of conditions, with the rows behind it."""
        from rubriclab.core.differences import differences, paired
        from rubriclab.words.contrasts import compare_answer, pair_names

        a, b = self._runs
        pairs = [paired(a.findings, code, b.findings, other) for code, other in self._pairs]
        made = [
            (pair, differences(pair, b.table.name if a is not b else pair.arms[1].code))
            for pair in pairs
        ]
        names = (a.table.name, b.table.name)
        return [(compare_answer(pair, pair_names(pair, names), rows), rows) for pair, rows in made]

    def rows(self) -> pd.DataFrame:
        """Return one row per difference, with the columns of ``Run.rows``."""
        from rubriclab.exports.table import frame_of_rows

        return frame_of_rows(self.differences)


class Lab:
    """A store of runs. A new file is made if there is none.

    Only one process can write a store. Use it in a ``with`` block, or call ``close``.

    read_only: change nothing. The store can then be read while another process writes it, as it
    is at this moment. told: hears what is being waited for.
    """

    def __init__(
        self,
        path: str | Path = "lab.duckdb",
        *,
        read_only: bool = False,
        told: Callable[[str], None] | None = None,
    ) -> None:
        from rubriclab.store.store import Store

        opened = Store.open_to_read if read_only else Store.open_when_free
        self.store = opened(Path(path), told=told)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, so that another process can open it."""
        self.store.close()

    def runs(self) -> pd.DataFrame:
        """Return one row per run: id, name, state, judges, planned and done calls, and dates."""
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
        """Return a run by its ID, the start of its ID, or its name.

        Raises LabError if no run matches, or several do.
        """
        return kept_run(self.store, self.store.run(name).id)


def kept_run(store: Store, id: str) -> Run:
    """Return the run of this ID from an open store."""
    return Run(store.table(id), store=store, id=id)


def read(
    source: str | Path | pd.DataFrame,
    kind: Kind | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
    looks: int | None = None,
) -> Run:
    """Read judgments made elsewhere, or a run's zip, and return them as a run.

    source: a table of judgments, a frame, the log of another tool, or a zip. kind, columns: only
    needed if the columns do not show what they hold; ``columns`` maps the lab's names to yours.
    looks: for a file that grows and is read again and again, how many answers it will hold in the
    end. The 5% are then shared over all looks. Without it only one reading is guarded.
    Raises LabError that names the row and the column at fault.
    """
    from rubriclab.data.limits import user_path
    from rubriclab.data.scores import MissingColumn, read_judgments
    from rubriclab.data.tables import read_table, table_of_frame
    from rubriclab.logs.log import KNOWN, read_log
    from rubriclab.runs.imported import read_run

    if isinstance(source, pd.DataFrame):
        table = table_of_frame(source, name or "frame")
    else:
        path = user_path(source)
        if path.suffix == ".zip":
            if looks is not None:
                raise LabError("A run's zip has its own looks. Leave out looks.")
            return Run(read_run(path).table)
        log = None if columns else read_log(path, kind=kind)
        table = log.table if log is not None else read_table(path, path.name)
    try:
        made = read_judgments(table, kind=kind, columns=dict(columns or {}), name=name or "")
    except MissingColumn as fault:
        known = ", ".join(KNOWN)
        raise LabError(
            f"{fault} If it is the log of a tool, its form is not known. These are: {known}."
        ) from None
    if looks is None:
        return Run(made)
    from rubriclab.core.looks import with_planned_looks

    return Run(with_planned_looks(made, looks))


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
    ask_all: bool = False,
    progress: Callable[[Snapshot], None] | None = None,
    told: Callable[[str], None] | None = None,
) -> Run:
    """Run a study, or continue it, and return the run when it has ended or paused.

    The store stays open until ``Run.close``. Ctrl-C pauses the run: it waits for calls in flight
    and then raises KeyboardInterrupt.

    study: a study file (TOML), a preset, a log with prompts, ``demo``, or a plan.
    judges: functions ``(messages, item)`` of your own by name. Each replaces the study's judge of
    that name, or is one more.
    trust: run the code of a study that somebody else made, and send its keys to its addresses.
    The store remembers this.
    check: ask each judge eight calls first, and pause with the reason if their replies cannot be
    parsed (``Run.reading_checks``). tries: ask only so many calls of each judge, and pause.
    ask_all: ask every planned call of a study that stops early.
    ray: the address of a Ray cluster whose nodes ask the calls.
    progress: is called twice a second. told: hears for whom the store is waited for.
    """
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import Run as Running
    from rubriclab.store.store import Store

    if isinstance(study, str | Path):
        plan = plan_of_file(study, items=items, drop=drop, trust=trust, functions=judges)
    else:
        plan = study
    opened = Store.open_when_free(Path(store), told=told)
    opened.share()
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
            ask_all=ask_all,
        ).start()
        waited(running, progress)
        return kept_run(opened, running.id)
    except BaseException:
        # Ctrl-C may arrive after the start and before ``waited`` can handle it.
        if running is not None and running.active:
            running.pause("stopped as it began")
            running.wait(60)
        opened.close()
        raise


def waited(running: Any, progress: Callable[[Any], None] | None) -> None:
    """Wait until a started job has ended or paused.

    Ctrl-C pauses the job and is raised again. A second Ctrl-C drops the calls in flight.
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
            # The job must let go of the store before the caller closes it.
            running.cancel()
            with contextlib.suppress(KeyboardInterrupt):
                running.wait(10)
        raise
    if progress is not None:
        progress(running.snapshot())


def _apart(arm: Arm, other: Arm) -> pd.DataFrame:
    """Return the judgments on which two judges differ; ``Run.differing`` names the columns."""
    mine, theirs = rows_apart(arm, other)
    items = arm.run.items.iloc[arm.item_code[arm.item[mine]]]
    orderings = [arm.run.orderings[code] for code in arm.order_code[arm.order[mine]]]
    answers = [
        each.position[rows] + 1 if arm.condition.chooses else each.value[rows]
        for each, rows in ((arm, mine), (other, theirs))
    ]
    return pd.DataFrame(
        {
            "condition": arm.code,
            "call": arm.call[mine],
            "other_call": other.call[theirs],
            "item_id": items["item_id"].to_numpy(),
            "criterion": items["criterion"].to_numpy(),
            "ordering": [order_text(ordering.shown) for ordering in orderings],
            "repeat": arm.repeat[mine],
            "answer": answers[0],
            "other_answer": answers[1],
        }
    )
