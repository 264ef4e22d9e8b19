"""The bench: versions of one rubric, each a run of its own over the same few items and orders.

A bench has no table in the store: the provenance of its runs says which bench and version they are, and
which version they came from. A version whose rubric the bench has is that version, so going back asks
nothing; of another one only those calls are asked that no run has asked (see :mod:`rubriclab.runs.reuse`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.findings.versions import VersionDifference, version_difference
from rubriclab.model import (
    AnswerMode,
    Call,
    Dataset,
    Design,
    Judge,
    Judgment,
    LabError,
    Rubric,
    Strategy,
    StrategyKind,
    Study,
    fingerprint,
)
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import did_you_mean, many
from rubriclab.runs.cost import estimate, measured
from rubriclab.runs.manager import RunManager
from rubriclab.runs.reuse import known_answers
from rubriclab.runs.runner import Run
from rubriclab.runs.sequential import Mixed
from rubriclab.runs.terms import NO_LIMITS, Limits
from rubriclab.runs.workshop_sample import drawn, known_of, single_responses
from rubriclab.store import RunInfo, Store
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan, plan

ITEMS = 16
"""Items of a bench where nobody says: two orders of each are answered by the smallest embedded judge
within ten seconds of two cores."""
REPEATS = 2
"""Reads of the usual order beside those of the balanced set: the judge's own noise."""
ROOT = msg("as it was")
"""The name of the version that a bench begins with."""
MOVED: StrategyKind = "balanced"
"""The strategy whose arm differences between versions are read from."""


@dataclass(frozen=True)
class Version:
    """A saved state of the rubric. ``run``: the run that asked it (it may still have to be asked);
    ``parent``: the run of the version that it came from, None for the first."""

    name: str
    rubric: Rubric
    run: str
    parent: str | None


@dataclass(frozen=True)
class Bench:
    """``study``: the first version's rubric on the sample, by one judge; ``held_out``: the items that the
    sample left out, None where it left out none. ``sample``: in words how it was drawn. ``not_from``: runs
    that it was chosen by, whose answers do not count here."""

    id: str
    study: Study
    held_out: Dataset | None
    versions: tuple[Version, ...]
    sample: str = ""
    not_from: tuple[str, ...] = ()

    @property
    def judge(self) -> Judge:
        return self.study.judges[0]

    def version(self, name: str) -> Version:
        """The version of that name, or of that run. Raises LabError where there is none."""
        for version in self.versions:
            if name in (version.name, version.run):
                return version
        known = ", ".join(f"“{version.name}”" for version in self.versions)
        hint = did_you_mean(name, [version.name for version in self.versions])
        raise LabError(
            tr(
                "Bench {id} has no version “{name}”.{hint} It has: {known}.",
                id=self.id,
                name=name,
                hint=hint,
                known=known,
            )
        )

    def children(self, run: str | None) -> tuple[Version, ...]:
        return tuple(version for version in self.versions if version.parent == run)

    def tree(self, run: str | None = None, depth: int = 0) -> Iterator[tuple[int, Version]]:
        """Every version below the one of ``run`` with how deep it stands, parents before their children."""
        for version in self.children(run):
            yield depth, version
            yield from self.tree(version.run, depth + 1)


# ---------------------------------------------------------------- made and opened


def new_bench(
    store: Store,
    dataset: Dataset,
    rubric: Rubric,
    judge: Judge,
    *,
    criterion: str | None = None,
    items: int = ITEMS,
    seed: int = 0,
    answer: AnswerMode = "score",
) -> Bench:
    """A bench on ``items`` of the data, with the rubric as its first version; nothing is asked yet.

    ``criterion``: one of the rubric's to work on; None: all of them, one a call. The same bench twice is
    one bench. Raises LabError for data without single responses, and for parts that do not fit.
    """
    if criterion is not None:
        rubric = Rubric(rubric.name, (rubric.criterion(criterion),))
    texts = single_responses(dataset, criterion)
    sample = drawn(texts, max(1, items), known := known_of(store, dataset, judge), seed=seed)
    chosen = replace(dataset, items=tuple(texts[i] for i in sample.items), rubric=None)
    rest = tuple(text for i, text in enumerate(texts) if i not in set(sample.items))
    held_out = replace(dataset, items=rest, rubric=None) if rest else None
    strategies = (Strategy(MOVED), Strategy("fixed", reads=REPEATS))
    design = Design(strategies=strategies, answer=answer, seed=seed, show_reference=False)
    study = Study(name="Bench", dataset=chosen, judges=(judge,), design=design, rubric=rubric)
    code = fingerprint({"study": study.id, "data": [text.item_id for text in texts], "sample": sample.words})[:8]
    kept: dict[str, Any] = {
        "sample": store.save_dataset(chosen, listed=False),
        "held_out_data": store.save_dataset(held_out, listed=False) if held_out else None,
        "drawn": sample.words,
        "not_from": [known.moved_by] if known.moved_by else [],
    }
    bench = Bench(code, study, held_out, (), sample.words, tuple(kept["not_from"]))
    prepared = plan(version_study(bench, rubric, name=ROOT))
    about = {"workshop": {**_about(bench, ROOT, None, held_out=False), **kept}}
    store.open_run(prepared, {**provenance(prepared), **about})
    return open_bench(store, code)


def bench_runs(store: Store) -> Mapping[str, tuple[RunInfo, ...]]:
    """By the id of a bench the runs of its versions, the oldest first; the bench that was worked at last first."""
    found: dict[str, list[RunInfo]] = {}
    for info in store.runs():
        if kept := _kept(info):
            runs = found.setdefault(str(kept["bench"]), [])
            runs[:0] = [] if kept["held_out"] else [info]
    return {code: tuple(runs) for code, runs in found.items()}


def benches(store: Store) -> tuple[str, ...]:
    """The ids of all benches, the one that was worked at last first."""
    return tuple(bench_runs(store))


def open_bench(store: Store, code: str) -> Bench:
    """The bench of that id, or of an id that begins so. Raises LabError where there is none."""
    every = bench_runs(store)
    known = [one for one in every if one.startswith(code)] if code else []
    if len(known) != 1:
        listed = ", ".join(every) or tr("none; make one with: workshop new")
        raise LabError(tr("The store has no bench “{code}”. Benches here: {listed}.", code=code, listed=listed))
    mine = every[known[0]]
    root = next((_kept(info) for info in mine if "sample" in _kept(info)), None)
    if root is None:
        raise LabError(
            tr(
                "Of bench {code} the first version was deleted, and with it what it was about. Restore it, if "
                "it is among the deleted runs.",
                code=known[0],
            )
        )
    versions = tuple(
        Version(str(_kept(info)["version"]), rubric, info.run, _kept(info)["parent"])
        for info in mine
        if (rubric := store.study(info.run).rubric) is not None
    )
    first = store.study(mine[0].run)
    study = replace(first, name="Bench", dataset=store.dataset(root["sample"]))
    rest = root["held_out_data"]
    held_out = store.dataset(rest) if rest else None
    return Bench(known[0], study, held_out, _attached(versions), root["drawn"], tuple(root["not_from"]))


def _attached(versions: tuple[Version, ...]) -> tuple[Version, ...]:
    """A version whose parent was deleted stands at the top."""
    runs = {version.run for version in versions}
    return tuple(one if one.parent in runs else replace(one, parent=None) for one in versions)


def _kept(info: RunInfo) -> Mapping[str, Any]:
    kept = info.provenance.get("workshop")
    return kept if isinstance(kept, Mapping) and "bench" in kept else {}


def _about(bench: Bench, name: str, parent: str | None, *, held_out: bool) -> dict[str, Any]:
    return {"bench": bench.id, "version": name, "parent": parent, "held_out": held_out}


# ---------------------------------------------------------------- a poke


def version_study(bench: Bench, rubric: Rubric, *, name: str, held_out: bool = False) -> Study:
    """What asks a version: its rubric on the bench's items, or on those that were left out."""
    dataset = bench.held_out if held_out else bench.study.dataset
    if dataset is None:
        raise LabError(tr("Bench {id} judges all items of its data: none is held out.", id=bench.id))
    title = f"Bench {bench.id} {'held out ' if held_out else ''}{name}"
    return replace(bench.study, name=title, dataset=dataset, rubric=rubric)


def same_version(bench: Bench, rubric: Rubric) -> Version | None:
    """The version of the bench that has this very rubric, if there is one."""
    return next((version for version in bench.versions if version.rubric.id == rubric.id), None)


def try_version(
    manager: RunManager,
    bench: Bench,
    rubric: Rubric,
    *,
    name: str,
    parent: str | None,
    held_out: bool = False,
    limits: Limits = NO_LIMITS,
    secrets: Mapping[str, str] | None = None,
) -> Run:
    """Ask what is not known yet of a rubric, on the bench's items (or on those held out).

    A rubric that the bench has is that version, whatever ``name`` and ``parent`` say. ``parent``: the run
    of the version it came from. Raises LabError for a name that another rubric has.
    """
    known = same_version(bench, rubric)
    if known is not None:
        rubric, name, parent = known.rubric, known.name, known.parent
    elif not held_out and any(version.name == name for version in bench.versions):
        raise LabError(
            tr(
                "Bench {id} has a version “{name}” already, with another rubric. Choose another name.",
                id=bench.id,
                name=name,
            )
        )
    study = version_study(bench, rubric, name=name, held_out=held_out)
    about = {"workshop": _about(bench, name, parent, held_out=held_out)}
    agenda = PairsFirst(plan(study))
    return manager.start(
        study, limits=limits, secrets=secrets, agenda=agenda, about=about, reuse=True, not_from=bench.not_from
    )


class PairsFirst:
    """An agenda: of every item an order and its reverse, then of every item the next two, and so on.

    So a first picture of all items stands after two calls an item. Items come in the mixed order that
    stop rules count on; further calls in an order that an item was asked in come last.
    """

    def __init__(self, prepared: Plan) -> None:
        self._plan = prepared
        self._mixed = Mixed(prepared)

    def calls(self, judge: int) -> Iterator[Call]:
        rounds: dict[int, list[Call]] = defaultdict(list)
        pairs: dict[tuple[int, ...], list[frozenset[tuple[int | str, ...]]]] = defaultdict(list)
        for call in self._mixed.calls(judge):
            shown = call.ordering.shown
            known, pair = pairs[call.items], frozenset((shown, shown[::-1]))
            if pair not in known:
                known.append(pair)
            again = call.repeat > 0
            rounds[len(shown) if again else known.index(pair)].append(call)
        for number in sorted(rounds):
            yield from rounds[number]

    def heard(self, judgment: Judgment) -> None:
        """The order is the same whatever is answered."""


# ---------------------------------------------------------------- what it costs, what came of it


@dataclass(frozen=True)
class Poke:
    """What a version takes: ``calls`` in all, of which ``known`` need not be asked; ``seconds`` and
    ``money`` (None without a price) of those that are left, as estimated."""

    calls: int
    known: int
    seconds: float
    money: float | None

    @property
    def asked(self) -> int:
        return self.calls - self.known

    def sentence(self) -> str:
        if not self.asked:
            return tr("{calls}, all of them answered before: nothing is asked.", calls=many(self.calls, "call"))
        reused = tr(", {known:,} of them answered before", known=self.known) if self.known else ""
        paid = tr(", about {money:.2g} in money", money=self.money) if self.money else ""
        return tr(
            "{calls}{reused}: {asked:,} to ask, about {seconds:.0f} s{paid}.",
            calls=many(self.calls, "call"),
            reused=reused,
            asked=self.asked,
            seconds=self.seconds,
            paid=paid,
        )


def poke(store: Store, bench: Bench, rubric: Rubric, *, held_out: bool = False) -> Poke:
    """What trying a rubric would take, without asking anything. Raises LabError as ``try_version`` does."""
    version = same_version(bench, rubric)
    name = version.name if version else "another"
    prepared = plan(version_study(bench, rubric, name=name, held_out=held_out))
    run = store.run_of(prepared.study)
    done = len(store.done_keys(run)) if store.holds(run) else 0
    known = done + len(known_answers(store, prepared, run, not_from=bench.not_from))
    judge = bench.judge
    before = measured(
        store,
        store.runs(),
        judge,
        dataset=prepared.study.dataset.name,
        axis="options",
        answer=bench.study.design.answer,
    )
    (cost,) = estimate(prepared, {judge.name: before})
    left = 1.0 - known / max(1, len(prepared))
    return Poke(len(prepared), known, cost.seconds * left, None if cost.money is None else cost.money * left)


def difference(store: Store, a_run: str, b_run: str, *, criterion: str | None = None) -> VersionDifference:
    """Version a less version b, paired on the items and orders that both have read."""
    return version_difference(store.frame(a_run), b=store.frame(b_run), criterion=criterion)
