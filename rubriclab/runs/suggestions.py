"""Suggestions that are measured: rewordings tried on a bench, and kept only if they help on items held out.

All are asked on the bench's sample; those that look best there (successive halving: Karnin, Koren and Somekh 2013,
with one round) are asked on held-out items, beside the version that they came from. What is said rests
on the held-out items alone, all versions tested there at once (Bonferroni), so that trying many
wordings makes none of them look good by luck.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.findings.suggested import Help, helped
from rubriclab.model import LabError, Rubric, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import listed, many, number
from rubriclab.runs.cost import subset
from rubriclab.runs.manager import RunManager
from rubriclab.runs.rewording import reworded_name
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import NO_LIMITS, Limits
from rubriclab.runs.workshop import Bench, Version, open_bench, poke, try_version
from rubriclab.store import Store
from rubriclab.study.rubric_suggestions import Suggestion, suggestions

FINALISTS = 3
"""So many go on to the held-out items: the more, the wider each interval."""
HELD_OUT = 60
"""Held-out items that are asked, where nobody says."""


@dataclass(frozen=True)
class Standing:
    """A version on the leaderboard: ``sample`` on the items that chose it (``run``), ``held_out`` on those that did not
    (``held_out_run``; None where it was not asked there). Only the latter is evidence."""

    name: str
    title: str
    why: str
    rubric: Rubric
    run: str
    sample: Help | None
    held_out: Help | None
    held_out_run: str | None


@dataclass(frozen=True)
class Leaderboard:
    """``base``: the version that all are held against. Those that help come first, the most helpful before others."""

    bench: str
    base: str
    standings: tuple[Standing, ...]
    tested: int
    simulated: bool

    @property
    def helping(self) -> tuple[Standing, ...]:
        return tuple(one for one in self.standings if one.held_out is not None and one.held_out.helps)

    @property
    def sentence(self) -> str:
        """What came of it, in plain words."""
        if not self.tested:
            return tr(
                "Nothing has been asked on held-out items yet: what looks good on the sample is not shown to help."
            )
        if not self.helping:
            return self._nothing()
        best = self.helping[0]
        assert best.held_out is not None
        one = best.held_out
        others = listed([tr(other.title) for other in self.helping[1:]])
        return tr(
            "{title} helps: on {items} the order moves a score by {spread} points (sd) where it was {before}{others}.",
            title=tr(best.title),
            items=many(one.n_items, "held-out item"),
            spread=number(one.spread, ".2f"),
            before=number(one.before, ".2f"),
            others=tr("; so does {others}", others=others) if others else "",
        )

    def _nothing(self) -> str:
        """That nothing helps is said of what was settled; else that nothing is shown to, and why."""
        held = [one.held_out for one in self.standings if one.held_out is not None]
        open_ones = [found for found in held if found.verdict == "undecided"]
        if not open_ones:
            return tr(
                "Nothing tried here helps: none of {wordings} on held-out items.", wordings=many(self.tested, "wording")
            )
        reasons = list(dict.fromkeys(found.why for found in open_ones if found.why))
        why = f": {'; '.join(reasons)}" if reasons else ""
        message = (
            msg("Nothing tried here is shown to help: of {wordings} on held-out items {left:,} stays undecided{why}.")
            if len(open_ones) == 1
            else msg(
                "Nothing tried here is shown to help: of {wordings} on held-out items {left:,} stay undecided{why}."
            )
        )
        return tr(message, wordings=many(self.tested, "wording"), left=len(open_ones), why=why)


def proposals(rubric: Rubric, own: Mapping[str, Rubric] | None = None) -> tuple[Suggestion, ...]:
    """Wordings of the user's, by name, then those of the lab's rules; none that is the rubric as it is, or twice.

    What a rule makes too is the rule's, with its title and its reason: a version of the bench is often one that was
    tried before.
    """
    made = suggestions(rubric)
    by_rule = {one.rubric.id for one in made}
    mine = [Suggestion(name, name, msg("proposed by you"), text) for name, text in (own or {}).items()]
    kept: dict[str, Suggestion] = {}
    for one in (*(one for one in mine if one.rubric.id not in by_rule), *made):
        if one.rubric.id != rubric.id:
            kept.setdefault(one.rubric.id, one)
    return tuple(kept.values())


def own_wordings(store: Store, bench: Bench, base: Version) -> dict[str, Rubric]:
    """The user's, by name: the other versions of the bench, and what chat models wrote of ``base`` (see ``rewording``)."""
    written = reworded_name(base.rubric, replace(bench.judge, name=""))
    kept = {one.name: one for one in store.rubrics() if one.name.startswith(written)}
    return {**kept, **{one.name: one.rubric for one in bench.versions if one.rubric.id != base.rubric.id}}


def calls_needed(store: Store, bench: Bench, base: Version, tried: Sequence[Suggestion], *, finalists: int) -> int:
    """Calls that are still to be asked on the sample, and at most on the held-out items."""
    first = sum(poke(store, bench, rubric).asked for rubric in (base.rubric, *(one.rubric for one in tried)))
    if bench.held_out is None:
        return first
    held = [poke(store, bench, one.rubric, held_out=True).asked for one in tried]
    start = poke(store, bench, base.rubric, held_out=True).asked
    return first + start + sum(sorted(held, reverse=True)[:finalists])


def with_held_out(bench: Bench, items: int) -> Bench:
    """The bench with so many of its held-out items, drawn at random. Raises LabError where it has none."""
    if bench.held_out is None:
        raise LabError(
            tr(
                "Bench {id} judges all items of its data: none is left to test a suggestion on. Make a bench of fewer.",
                id=bench.id,
            )
        )
    return replace(bench, held_out=subset(bench.held_out, items, seed=0))


def suggest(
    manager: RunManager,
    bench: Bench,
    tried: Sequence[Suggestion],
    *,
    base: str | None = None,
    finalists: int = FINALISTS,
    items: int = HELD_OUT,
    limits: Limits = NO_LIMITS,
    secrets: Mapping[str, str] | None = None,
    told: Callable[[str, Run], None] | None = None,
) -> Leaderboard:
    """Try wordings on the bench, then the best of them on held-out items; blocks until all is asked.

    ``base``: the version they came from (its name or run; default: the bench's first). What was asked
    before is not asked again. ``told`` hears what is asked, by which run. Raises LabError where one stops before its end.
    """
    bench = with_held_out(bench, items)
    first = bench.versions[0] if base is None else bench.version(base)

    def ask(rubric: Rubric, name: str, *, held_out: bool) -> str:
        parent = None if rubric.id == first.rubric.id else first.run
        run = try_version(
            manager, bench, rubric, name=name, parent=parent, held_out=held_out, limits=limits, secrets=secrets
        )
        if told is not None:
            told(f"{name}, {'held-out items' if held_out else 'sample'}", run)
        return _finished(run)

    start = manager.store.frame(ask(first.rubric, first.name, held_out=False))
    seen = []
    for one in tried:
        run = ask(one.rubric, _version_name(bench, first, one), held_out=False)
        seen.append((helped(manager.store.frame(run), start), one))
    going = [one for found, one in sorted(seen, key=lambda pair: pair[0].change) if found.change < 0][:finalists]
    if going:
        ask(first.rubric, first.name, held_out=True)
    for one in going:
        ask(one.rubric, _version_name(bench, first, one), held_out=True)
    return leaderboard(manager.store, open_bench(manager.store, bench.id), base=first.name, tried=tried)


def _finished(run: Run) -> str:
    last = run.wait()
    if last.state != "finished":
        raise LabError(f"Run {last.run} stopped before its end: {last.reason or last.state}. Call again to go on.")
    return last.run


class Round:
    """``suggest`` in a thread of its own, for a page that looks in now and then.

    ``stage``: what is being asked; ``fault``: why it ended before its end, "" where it did not.
    """

    def __init__(self, manager: RunManager, bench: Bench, tried: Sequence[Suggestion], **options: Any) -> None:
        self.stage, self.fault = "", ""
        self._work = (manager, bench, tried, options)
        self._run: Run | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._main, name=f"suggestions {bench.id}", daemon=True)

    def start(self) -> Round:
        self._thread.start()
        return self

    @property
    def active(self) -> bool:
        return self._thread.is_alive()

    @property
    def run(self) -> Run | None:
        """The run that asks just now, or asked last."""
        return self._run

    def stop(self) -> None:
        """Ask nothing more; what has been answered is kept, and another round goes on from there."""
        self._stopped = True
        if self._run is not None:
            self._run.cancel()

    def wait(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _main(self) -> None:
        manager, bench, tried, options = self._work
        try:
            suggest(manager, bench, tried, told=self._told, **options)
        except LabError as fault:
            self.fault = str(fault)
        except Exception as fault:  # it must end as a reason on the page, not in a log
            self.fault = f"The lab failed: {type(fault).__name__}: {fault}"

    def _told(self, text: str, run: Run) -> None:
        self.stage, self._run = text, run
        if self._stopped:
            run.cancel()


def _version_name(bench: Bench, base: Version, one: Suggestion) -> str:
    """What a wording is called as a version of the bench: in words, and told apart by what it was made from."""
    return one.title if base.run == bench.versions[0].run else f"{one.title}, from {base.name}"


def leaderboard(
    store: Store, bench: Bench, *, base: str | None = None, tried: Sequence[Suggestion] = ()
) -> Leaderboard:
    """Every version of the bench beside ``base``, on the sample and on the held-out items where it was asked there.

    ``tried`` lends titles and reasons. All versions on held-out items count as tested, whoever tried them.
    """
    first = bench.versions[0] if base is None else bench.version(base)
    held = _held_out_runs(store, bench)
    others = [one for one in bench.versions if one.run != first.run]
    before = held.get(first.rubric.id)
    tested = [one for one in others if before is not None and one.rubric.id in held]
    known = {one.rubric.id: one for one in (*tried, *suggestions(first.rubric))}
    start = store.frame(first.run) if store.holds(first.run) else None
    standings = [
        Standing(
            one.name,
            known[one.rubric.id].title if one.rubric.id in known else one.name,
            known[one.rubric.id].why if one.rubric.id in known else "",
            one.rubric,
            one.run,
            None if start is None else helped(store.frame(one.run), start),
            helped(store.frame(held[one.rubric.id]), _frame(store, before), tested=len(tested))
            if one in tested
            else None,
            held[one.rubric.id] if one in tested else None,
        )
        for one in others
    ]
    simulated = bench.judge.kind == "simulated"
    return Leaderboard(bench.id, first.name, tuple(sorted(standings, key=_rank)), len(tested), simulated)


def _frame(store: Store, run: str | None) -> RunData:
    assert run is not None
    return store.frame(run)


def _rank(one: Standing) -> tuple[int, float]:
    if one.held_out is not None:
        return (0 if one.held_out.helps else 1, one.held_out.change)
    return (2, one.sample.change if one.sample is not None else 0.0)


def _held_out_runs(store: Store, bench: Bench) -> dict[str, str]:
    """By the id of a rubric its run on held-out items: that of most items, where there are several."""
    found: dict[str, tuple[int, str]] = {}
    for info in store.runs():
        kept = info.provenance.get("workshop")
        if not isinstance(kept, Mapping) or kept.get("bench") != bench.id or not kept.get("held_out"):
            continue
        study = store.study(info.run)
        if study.rubric is not None:
            size = (len(study.dataset), info.run)
            found[study.rubric.id] = max(size, found.get(study.rubric.id, size))
    return {rubric: run for rubric, (_, run) in found.items()}
