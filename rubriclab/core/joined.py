"""Join conditions of several runs into one table of judgments, so that they get the same views.

Each chosen condition brings its whole setting: the other orders and the repeats of the same judge
on the same data, from which its noise is known. An answer that two runs judged becomes one item.
What only has the same name stays apart: it is named after its run too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.model.judgment import ITEM_COLUMNS, Condition, JudgmentTable, Ordering
from rubriclab.model.text import LabError, shorten
from rubriclab.stats.resample import Floats, Ints

NAME = "Joined"
MOST_RUN = 40
"""Characters of a run's name behind a judge or a data set."""
IDENTITY = (*(name for name in ITEM_COLUMNS if name not in ("dataset", "ratings")), "unit_text")
"""Items that have all of these in common, and their data set, are the same answer."""


class Side(NamedTuple):
    """A condition to join: the name of its run, the run's findings, and its code in them."""

    run: str
    findings: Findings
    code: int


class Origin(NamedTuple):
    """Where a joined condition comes from: the number of the side that brought it, and its code in
    that side's findings.
    """

    side: int
    code: int


@dataclass(frozen=True, eq=False)
class Joined:
    """Conditions of several runs as one. ``origins``: of each of the findings' conditions."""

    findings: Findings
    origins: tuple[Origin, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    """What one run gives: the first of its sides, its findings, its name, and the kept codes."""

    side: int
    findings: Findings
    name: str
    codes: tuple[int, ...]

    @property
    def table(self) -> JudgmentTable:
        return self.findings.judgments.table


def joined(sides: Sequence[Side]) -> Joined:
    """Return the union of conditions, read as the first side's run is read.

    Sides whose findings are the same object are of one run. Human scores of an answer are those of
    the first run that has any. Raises LabError where there is nothing to join.
    """
    if not sides:
        raise LabError("There is nothing to join. Name at least one condition.")
    parts = _parts(sides)
    datasets = _dataset_names(parts)
    conditions = _conditions(parts, datasets)
    items, item_codes = _items(parts, datasets)
    orderings, ordering_codes = _orderings(parts)
    rows = []
    probabilities = []
    longest = max(_width(part.table) for part in parts)
    notes: dict[tuple[int, str], int] = {}
    planned: list[int] = []
    first_condition = first_call = 0
    for part, item_code, ordering_code in zip(parts, item_codes, ordering_codes, strict=True):
        table = part.table
        new_code = np.full(len(table.conditions), -1, dtype=np.int64)
        new_code[list(part.codes)] = first_condition + np.arange(len(part.codes))
        asked = new_code[table.rows["condition"].to_numpy()]
        kept = asked >= 0
        own = table.rows[kept]
        rows.append(
            own.assign(
                condition=asked[kept],
                item=item_code[own["item"].to_numpy()],
                ordering=ordering_code[own["ordering"].to_numpy()],
                call=own["call"].to_numpy() + first_call,
            )
        )
        if longest:
            probabilities.append(_padded(table, longest)[kept])
        for (code, note), calls in table.notes.items():
            if new_code[code] >= 0:
                notes[int(new_code[code]), note] = calls
        if table.planned:
            planned += [table.planned[code] for code in part.codes]
        first_condition += len(part.codes)
        first_call += int(table.rows["call"].max()) + 1 if len(table.rows) else 0
    every = pd.concat(rows, ignore_index=True)
    # A setting's conditions may lie apart in its run: rows are sorted by their new codes.
    ranked = np.lexsort((every["call"], every["condition"]))
    table = JudgmentTable(
        run="",
        name=NAME,
        conditions=conditions,
        items=items,
        orderings=orderings,
        rows=every.iloc[ranked].reset_index(drop=True),
        planned=tuple(planned) if len(planned) == len(conditions) else (),
        probabilities=np.concatenate(probabilities)[ranked] if longest else None,
        state=next((p.table.state for p in parts if p.table.state != "finished"), "finished"),
        notes=notes,
    )
    reading = sides[0].findings.reading
    findings = Findings(Judgments(table, _unit(parts, reading.unit)), reading)
    origins = tuple(Origin(part.side, code) for part in parts for code in part.codes)
    return Joined(findings, origins)


def _parts(sides: Sequence[Side]) -> list[_Part]:
    """Return a part for each run, in the order in which the runs are named."""
    codes: dict[int, list[int]] = {}
    firsts: dict[int, int] = {}
    for number, side in enumerate(sides):
        run = id(side.findings)
        firsts.setdefault(run, number)
        setting = side.findings.conditions[side.code].setting
        codes.setdefault(run, []).extend(
            code for code, about in enumerate(side.findings.conditions) if about.setting == setting
        )
    names = _apart([sides[number].run for number in firsts.values()])
    return [
        _Part(number, sides[number].findings, name, tuple(dict.fromkeys(codes[run])))
        for (run, number), name in zip(firsts.items(), names, strict=True)
    ]


def _apart(names: Sequence[str]) -> list[str]:
    """Return short names of runs; a name that is there already gets a number."""
    made: list[str] = []
    for name in names:
        own = shorten(name, MOST_RUN) or "run"
        number = 1
        while own in made:
            number += 1
            own = f"{shorten(name, MOST_RUN)} {number}"
        made.append(own)
    return made


def _unit(parts: Sequence[_Part], wanted: str) -> str:
    """Return the unit to read the union in: what all runs have in common, else ``wanted``."""
    kinds = {part.findings.judgments.unit_kind for part in parts}
    return kinds.pop() if len(kinds) == 1 else wanted


# ---------------------------------------------------------------- names
@dataclass(frozen=True)
class _Answers:
    """What tells the answers of a data set from those of another.

    texts: hashes, which hold the criterion too. names: IDs of items and of prompts. asked: the
    criteria, each with whether a call chooses between answers.
    """

    texts: frozenset[int]
    names: frozenset[tuple[str, str]]
    asked: frozenset[tuple[str, bool]]

    def same(self, other: _Answers) -> bool:
        """Return whether two data sets of one name have answers in common.

        Hashes of other criteria, or of comparisons and single answers, are never equal. There the
        IDs decide.
        """
        if self.texts & other.texts:
            return True
        return not self.asked & other.asked and bool(self.names & other.names)


def _answers(part: _Part, dataset: str) -> _Answers:
    """Return what is known of the answers of a run's data set."""
    here = (part.table.items["dataset"] == dataset).to_numpy()
    items = part.table.items[here]
    texts = Judgments(part.table, "item").unit_names[here]
    names = {(kind, str(name)) for kind in ("item_id", "prompt") for name in items[kind].dropna()}
    chooses = {about.chooses for about in part.findings.conditions if about.dataset == dataset}
    asked = {(str(name), choice) for name in set(items["criterion"]) for choice in chooses}
    return _Answers(frozenset(texts.tolist()), frozenset(names), frozenset(asked))


def _dataset_names(parts: Sequence[_Part]) -> list[dict[str, str]]:
    """Return for each run what each of its data sets is called in the union."""
    known: dict[str, list[tuple[str, _Answers]]] = defaultdict(list)
    names: list[dict[str, str]] = []
    for part in parts:
        own: dict[str, str] = {}
        for name in dict.fromkeys(part.findings.conditions[code].dataset for code in part.codes):
            answers = _answers(part, name)
            same = [called for called, before in known[name] if before.same(answers)]
            if same:
                own[name] = same[0]
            else:
                own[name] = f"{name} ({part.name})" if known[name] else name
            known[name].append((own[name], answers))
        names.append(own)
    return names


def _conditions(
    parts: Sequence[_Part], datasets: Sequence[dict[str, str]]
) -> tuple[Condition, ...]:
    """Return the conditions of the union.

    A judge that two runs asked for the same has the run's name behind its own.
    """
    named = [
        [
            replace(about, dataset=called.get(about.dataset, about.dataset))
            for about in (part.findings.conditions[code] for code in part.codes)
        ]
        for part, called in zip(parts, datasets, strict=True)
    ]
    settings: dict[object, set[int]] = defaultdict(set)
    for number, own in enumerate(named):
        for about in own:
            settings[about.setting].add(number)
    twice = {about.judge for own in named for about in own if len(settings[about.setting]) > 1}
    return tuple(
        replace(about, judge=f"{about.judge} ({part.name})") if about.judge in twice else about
        for part, own in zip(parts, named, strict=True)
        for about in own
    )


# ---------------------------------------------------------------- items and orders
def _items(
    parts: Sequence[_Part], datasets: Sequence[dict[str, str]]
) -> tuple[pd.DataFrame, list[Ints]]:
    """Return the items of the union, and for each run the new code of each of its items."""
    frames = []
    for part, called in zip(parts, datasets, strict=True):
        items = part.table.items
        frames.append(items.assign(dataset=[called.get(name, name) for name in items["dataset"]]))
    every = pd.concat(frames, ignore_index=True)
    keys = every.reindex(columns=["dataset", *IDENTITY]).astype(object)
    keys = keys.where(keys.notna(), None)
    code, _ = pd.factorize(pd.Series(list(keys.itertuples(index=False, name=None)), dtype=object))
    firsts = pd.Series(code).drop_duplicates().index
    rated = every["ratings"].map(bool)
    # The first of equal items that has human scores gives them to all.
    given = every["ratings"][rated].groupby(code[rated.to_numpy()]).first()
    items = every.loc[firsts].reset_index(drop=True)
    ratings = [given.get(k, own) for k, own in enumerate(items["ratings"])]
    items = items.assign(ratings=pd.Series(ratings, dtype=object))
    cuts = np.cumsum([len(frame) for frame in frames])[:-1]
    return items, [np.asarray(own, dtype=np.int64) for own in np.split(code, cuts)]


def _orderings(parts: Sequence[_Part]) -> tuple[tuple[Ordering, ...], list[Ints]]:
    """Return the orderings of the union, and for each run the new code of each of its own."""
    known: dict[Ordering, int] = {}
    codes = []
    for part in parts:
        own = [known.setdefault(order, len(known)) for order in part.table.orderings]
        codes.append(np.array(own, dtype=np.int64))
    return tuple(known), codes


# ---------------------------------------------------------------- probabilities
def _width(table: JudgmentTable) -> int:
    """Return how many positions a run's probabilities have; 0 where it has none."""
    return 0 if table.probabilities is None else int(table.probabilities.shape[1])


def _padded(table: JudgmentTable, width: int) -> Floats:
    """Return (rows, width) probabilities of a run, NaN where there are none."""
    padded = np.full((len(table.rows), width), np.nan)
    if table.probabilities is not None:
        padded[:, : table.probabilities.shape[1]] = table.probabilities
    return padded
