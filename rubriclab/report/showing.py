"""One text under several orders of one list: what cards, pictures and a presentation are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rubriclab.findings.reads import Read, reads_of
from rubriclab.findings.telling import CHOSEN, control_arm, telling_item, turning_arms
from rubriclab.findings.trial import CriteriaTrial, OptionsTrial, Trial
from rubriclab.findings.trial_control import Control, of_scores
from rubriclab.findings.trial_orders import trial_of
from rubriclab.findings.trial_pairs import PairTrial, pair_trial
from rubriclab.model import TRIAL_ORIGIN, Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.store import Store
from rubriclab.study.plan import plan

MOST_ORDERS = 12
"""Orders that are shown one after the other: more, and a room of people stops looking."""
MOST_READS = 100_000
A_TIE = msg("a tie")
MOST_OF_A_NAME = 48
"""Characters of a judge's, criterion's or candidate's name on a card."""
TITLES = {
    "options": msg("The same answer, the same words, another order"),
    "criteria": msg("The same answer, the same criteria, another order"),
    "pairwise": msg("The same answers, the same words, another order"),
    "listwise": msg("The same answers, the same words, another order"),
}


@dataclass(frozen=True)
class Row:
    """One line of the list whose order changes: its ``name`` as :attr:`Read.shown` has it, and what it says."""

    name: str
    text: str


@dataclass(frozen=True)
class Card:
    """One reading as a card: the order it was shown in, and what came back.

    ``order``: what stood where, in a few words; ``answer``: a score or a candidate; ``lit``: which row (0-based, in the order shown) was chosen, or is
    the criterion that the score is of; None where there is none.
    """

    order: str
    answer: str
    rows: tuple[Row, ...]
    labels: tuple[str, ...]
    lit: int | None
    place: str


@dataclass(frozen=True)
class Showing:
    """One text (or some to compare) and what one judge answered about it, order by order.

    ``texts``: (candidate, response) each, the candidate empty where there is one response. ``about``: the
    criterion. ``scale``: the scores there are, none where candidates are chosen. ``reads``: every order once, the usual one first where it was asked, at most
    MOST_ORDERS of the ``asked``. ``low``, ``high``: the most different answers under two orders. ``chosen``: how it came to be this text; empty for one that was tried.
    """

    run: str
    judge: str
    simulated: bool
    axis: str
    instruction: str
    texts: tuple[tuple[str, str], ...]
    about: str
    scale: tuple[int, ...]
    rows: tuple[Row, ...]
    reads: tuple[Read, ...]
    asked: int
    low: Read
    high: Read
    control: Control
    chosen: str
    trial: Trial | None = None

    @property
    def title(self) -> str:
        return tr(TITLES[self.axis])

    @property
    def moved(self) -> bool:
        """Did two orders get two answers?"""
        return answer(self.low) != answer(self.high)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The two cards; one where one order alone was read."""
        return tuple(self.card(read) for read in dict.fromkeys((self.low, self.high)))

    def card(self, read: Read) -> Card:
        said = {row.name: row.text for row in self.rows}
        rows = tuple(Row(name, said.get(name, "")) for name in read.shown)
        labels = tuple(map(_short, read.labels if len(read.labels) == len(rows) else read.shown))
        usual = tr("Order {order}", order=" ".join(labels))
        order = usual if self.axis == "options" else tr("{name} first", name=_short(read.shown[0]))
        return Card(order, _short(_said(answer(read))), rows, labels, lit(read), _place(read))

    def height(self, read: Read) -> float | None:
        """Where an answer stands between the ends of the scale, or among the candidates: 0 to 1."""
        if read.score is None:
            names = [row.name for row in self.rows]
            given = answer(read)
            return names.index(given) / max(1, len(names) - 1) if given in names else None
        low, high = min(self.scale), max(self.scale)
        return (read.score - low) / (high - low) if high > low else 0.5

    @property
    def levels(self) -> tuple[str, ...]:
        """What can be answered, from the lowest to the highest."""
        return tuple(map(str, self.scale)) if self.scale else tuple(_short(row.name) for row in self.rows)


def answer(read: Read) -> str:
    """What came back, in as few signs as it can be said."""
    if read.position is None and read.score is None:
        return "–"
    if read.score is not None:
        return f"{read.score:g}"
    return read.shown[read.position - 1] if read.position else A_TIE


def _said(given: str) -> str:
    return tr(A_TIE) if given == A_TIE else given


def _short(name: str) -> str:
    """A name as it fits on a card."""
    return name if len(name) <= MOST_OF_A_NAME else f"{name[: MOST_OF_A_NAME - 1]}…"


def lit(read: Read) -> int | None:
    """Which row a reading is about: the one chosen, or the criterion scored."""
    place = read.place if read.place is not None else read.position
    return place - 1 if place and place <= len(read.shown) else None


def _place(read: Read) -> str:
    at = lit(read)
    if at is None:
        return tr("no row was chosen") if read.position == 0 else tr("the reply could not be read")
    if read.place is not None:
        return tr("stood at position {place} of {n}", place=at + 1, n=len(read.shown))
    return tr("chose position {place} of {n}", place=at + 1, n=len(read.shown))


def showing(
    store: Store, run: str, data: RunData | None = None, *, judge: str | None = None, arm: int | None = None
) -> Showing:
    """The text of a trial, or of a whole run the one whose answer the order moves most, as ``judge`` read it.

    ``data``: the run's judgments, where they are at hand. ``arm``: in place of a judge. Without either the
    judge whose answers lie farthest apart. Raises LabError for a judge that the run has not, and for a run in
    which nothing was read in two orders.
    """
    info = store.run(run)
    if info.origin == TRIAL_ORIGIN:
        return _of_trial(store, info.run, judge)
    data = store.frame(info.run) if data is None else data
    found = [_of_arm(store, data, code) for code in ([arm] if arm is not None else _arms(data, judge))]
    return max(found, key=_span)


def judges_shown(data: RunData) -> tuple[str, ...]:
    """The judges of a whole run that :func:`showing` can show."""
    return tuple(dict.fromkeys(data.arms[code].judge for code in turning_arms(data)))


def trial_judges(store: Store, run: str) -> tuple[str, ...]:
    """The judges of a trial that :func:`showing` can show."""
    return tuple(one.judge for one, _ in _trials(store, run))


def _arms(data: RunData, judge: str | None) -> list[int]:
    turning = turning_arms(data)
    if not turning:
        raise LabError(
            tr(
                "Nothing in “{name}” was read in two orders, so no order can be seen to move anything. Present a "
                "run whose design varies the order, or a trial.",
                name=data.name,
            )
        )
    mine = [code for code in turning if judge is None or data.arms[code].judge == judge]
    if not mine:
        raise _no_judge(judge, judges_shown(data))
    return mine


def _no_judge(judge: str | None, known: Sequence[str]) -> LabError:
    return LabError(
        tr("There is no judge “{judge}” to present here. There are: {known}.", judge=judge, known=", ".join(known))
    )


def _span(one: Showing) -> float:
    """How far the two cards lie apart: in score points, or as yes and no."""
    if one.low.score is None or one.high.score is None:
        return float(one.moved)
    return one.high.score - one.low.score


# ---------------------------------------------------------------- of a whole run


def _of_arm(store: Store, data: RunData, code: int) -> Showing:
    arm, item = data.arms[code], telling_item(data, arm=code)
    still = control_arm(data, arm=code)
    mine = _read(store, data.run, code, item)
    beside = () if still is None else _read(store, data.run, still, item)
    usual = beside[0].shown if beside else min(mine, key=lambda read: read.shown).shown
    reads = _once(mine, usual)
    text = store.item_text(data.run, item)
    if text is None:
        raise LabError(tr("The texts of run {run} are not in this store.", run=data.run))
    used = int(data.judgments.loc[data.judgments["arm"] == code, "item"].nunique())

    kept = _kept(reads)
    return Showing(
        run=data.run,
        judge=arm.judge,
        simulated=arm.simulated,
        axis=arm.axis,
        instruction=text.instruction,
        texts=text.answers or (("", text.response),),
        about=text.criterion or "",
        scale=() if arm.axis in CHOSEN else tuple(sorted(arm.scores)),
        rows=_rows(store, data.run, arm, text.criterion, reads, text.answers),
        reads=kept,
        asked=len(reads),
        low=_ends(kept)[0],
        high=_ends(kept)[1],
        control=_control(arm, code, (*mine, *beside), usual),
        chosen=_chosen(arm, used) if used > 1 else "",
    )


def _chosen(arm: Arm, used: int) -> str:
    if arm.axis in CHOSEN:
        return tr(
            "Chosen from {used:,} comparisons because its answers lie farthest apart: it shows what an order can do, not how often it does.",
            used=used,
        )
    return tr(
        "Chosen from {used:,} texts because its answers lie farthest apart: it shows what an order can do, not how often it does.",
        used=used,
    )


def _read(store: Store, run: str, arm: int, item: int) -> tuple[Read, ...]:
    frame = store.judgments_behind(run, arm=arm, item=item, limit=MOST_READS)
    return reads_of(frame.sort_values("read", kind="stable"))


def _once(reads: Sequence[Read], usual: tuple[str, ...]) -> tuple[Read, ...]:
    """The first reading of every order that could be read, the usual order first."""
    first: dict[tuple[str, ...], Read] = {}
    for read in reads:
        if answer(read) != "–":
            first.setdefault(read.shown, read)
    return tuple(sorted(first.values(), key=lambda read: read.shown != usual))


def _kept(reads: tuple[Read, ...]) -> tuple[Read, ...]:
    """At most MOST_ORDERS of them, the two ends among these."""
    if len(reads) <= MOST_ORDERS:
        return reads
    ends = _ends(reads)
    others = [read for read in reads if read not in ends][: MOST_ORDERS - len(set(ends))]
    return tuple(read for read in reads if read in others or read in ends)


def _ends(reads: Sequence[Read]) -> tuple[Read, Read]:
    """The two readings whose answers are the most different."""
    if not reads:
        raise LabError(tr("Not one reply could be read: there is nothing to present."))
    if reads[0].score is None:
        other = next((read for read in reads if answer(read) != answer(reads[0])), reads[-1])
        return reads[0], other
    height = sorted(reads, key=lambda read: (read.score or 0.0, read.expected or 0.0))
    return height[0], height[-1]


def _control(arm: Arm, code: int, reads: Sequence[Read], usual: tuple[str, ...]) -> Control:
    """What the same order asked again gave: of the usual order, or of both orders of two candidates."""
    if arm.axis in CHOSEN:
        return pair_trial(code, arm, tuple(reads)).control
    return of_scores([read.score for read in reads if read.shown == usual])


def _rows(
    store: Store, run: str, arm: Arm, criterion: str | None, reads: Sequence[Read], answers: Sequence[tuple[str, str]]
) -> tuple[Row, ...]:
    """What stands in the list, each name with its text; the names alone where the store has no study."""
    names = reads[0].shown if reads else ()
    said: Mapping[str, str] = dict(answers)
    if arm.axis not in CHOSEN and store.run(run).state != "imported":
        study = store.study(run)
        rubric = study.rubric_of(arm.variant)
        if rubric is not None and arm.axis == "criteria":
            said = {one.name: one.description or "" for one in rubric.criteria}
        elif rubric is not None:
            chosen = rubric.criterion(criterion)
            said = {str(option.score): option.description or "" for option in chosen.options}
    return tuple(Row(name, said.get(name, "")) for name in names)


# ---------------------------------------------------------------- of a trial


def _of_trial(store: Store, run: str, judge: str | None) -> Showing:
    trials = _trials(store, run)
    if not trials:
        raise LabError(tr("This trial has no answer that could be read: there is nothing to present."))
    known = [one for one in trials if judge is None or one[0].judge == judge]
    if not known:
        raise _no_judge(judge, [one.judge for one, _ in trials])
    return max((_of_one(store, run, one, arm) for one, arm in known), key=_span)


def _trials(store: Store, run: str) -> list[tuple[Trial, Arm]]:
    """What each judge said that gave at least one answer that could be read."""
    study = store.study(run)
    arms = plan(study).arms
    reads = reads_of(store.judgments_behind(run, limit=MOST_READS))
    return [(one, arms[one.arm]) for one in trial_of(study, arms, reads) if any(answer(r) != "–" for r in one.reads)]


def _of_one(store: Store, run: str, one: Trial, arm: Arm) -> Showing:
    text = store.item_text(run, one.reads[0].item)
    if text is None:
        raise LabError(tr("The texts of run {run} are not in this store.", run=run))
    mine = _once(_reads_of(one), one.reads[0].shown)
    kept = _kept(mine)
    low, high = _ends(kept)
    criterion = text.criterion
    if isinstance(one, CriteriaTrial) and (at := lit(low)) is not None:
        criterion = low.shown[at]
    return Showing(
        run=run,
        judge=one.judge,
        simulated=one.simulated,
        axis=arm.axis,
        instruction=text.instruction,
        texts=text.answers or (("", text.response),),
        about=criterion or "",
        scale=() if arm.axis in CHOSEN else tuple(sorted(arm.scores)),
        rows=_rows(store, run, arm, text.criterion, mine, text.answers),
        reads=kept,
        asked=len(mine),
        low=low,
        high=high,
        control=one.control,
        chosen="",
        trial=one,
    )


def _reads_of(one: Trial) -> tuple[Read, ...]:
    """The readings of a trial: of several criteria those of the one that moves most."""
    if isinstance(one, OptionsTrial | PairTrial):
        return one.reads
    widest = max((c for c in one.criteria if c.reads), key=lambda c: c.highest - c.lowest, default=None)
    if widest is None:
        return ()
    return tuple(read for read in one.reads if (at := lit(read)) is not None and read.shown[at] == widest.name)
