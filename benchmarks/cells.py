"""Define the cells of the method check: what a study simulates and which events it counts.

``cells.txt`` lists the cells. A study is a function of a random generator that returns numbers by
the name of an event. The name's first word says what is promised:

- false, equal: at most .05. Something untrue was said, or a size at or above the smallest effect
  was called equivalent.
- holds: at least .92. A displayed interval holds what very many units give (with its width).
- found, best: power, of the lab and of single tests that are each valid at .05.
- says: true words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from scipy import stats

from benchmarks import foreign, stopping
from benchmarks.labelled import labelled_study, planned
from rubriclab.core import permutation as gate
from rubriclab.core.cells import Answers, Cells, cells, from_arms
from rubriclab.core.company_effects import decide_company, signed_ends
from rubriclab.core.differences import differences, paired
from rubriclab.core.drift import drift
from rubriclab.core.judgments import Judgments
from rubriclab.core.ladder import LadderWord, ladder_word
from rubriclab.core.operations import Limit, check, derived
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.core.variant_effects import by_holm, form_gate
from rubriclab.core.verdict import (
    Verdicts,
    _mean,
    _positions,
    _single,
    _Sizing,
    decide,
    verdicts,
)
from rubriclab.measures.fragile import ZONES, fragile, fragile_items
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart, Smallest
from rubriclab.stats.resample import sum_by
from tests.tables import choices, comparisons, criteria

Events = dict[str, float | tuple[float, float]]
"""Numbers by event. A pair is of an interval: whether it holds, and its width."""
SMALLEST = Smallest()
LARGE = 8_000


@dataclass(frozen=True)
class Cell:
    """``study``: one simulated study; ``large``: what very many units give, computed once, its
    second argument.
    """

    study: Callable[..., Events]
    large: Callable[[], Any] | None = None


# ---------------------------------------------------------------------------------- three questions
def sizes(answers: Answers) -> dict[str, Any]:
    """What the questions estimate, of very many units: leans (n,), contrasts by name, changed
    single scores beyond noise.
    """
    table = cells(answers)
    usable = np.ones(table.items, dtype=bool) if table.one_order_an_item else table.orders > 1
    sizing = _Sizing(table, usable, float(np.ptp(answers.points)))
    positions = _positions(sizing)
    made: dict[str, Any] = {"positions": np.array(positions.leans)}
    if table.by_criterion:
        made["size"] = positions.value
    if not answers.choices:
        made["mean"] = {name: contrast.value for name, contrast in _mean(sizing).contrasts.items()}
    if not table.one_order_an_item:
        made["single"] = max(0.0, _single(sizing, 1.0).value)
    return made


def single_tests(table: Cells, given: Verdicts) -> Events:
    """p <= .05 of tests that are each valid alone: F and dealt V of the positions, t of the first
    position, t of line and turn, dealt mean and own leans.
    """
    p = {"positions (F)": given.questions["positions"].p}
    p |= {f"{name} (dealt)": value for name, value in given.gate.parts.items()}
    units = int(table.unit.max()) + 1
    asked = sum_by(table.unit, np.ones(table.items), units)
    values = {"first position (t)": table.lean[:, 0]}
    if not table.one_order_an_item:
        values |= {
            f"{name} (t)": table.by_item(part * table.score)
            for name, part in table.contrasts.items()
        }
    for name, value in values.items():
        mean = (sum_by(table.unit, value, units) / np.maximum(asked, 1))[asked > 0]
        p[name] = stats.ttest_1samp(mean, 0).pvalue if np.ptp(mean) > 1e-12 else 1.0
    return {f"best {name}": float(value <= 0.05) for name, value in p.items()}


def judged(
    given: Verdicts,
    truth: Mapping[str, Any] | None,
    false: tuple[str, ...],
    *,
    prompt_matters: bool = False,
) -> Events:
    """Events of one study's verdicts. ``false``: nothing of these questions is true ("any": of none
    of them).

    ``prompt_matters``: an order is a prompt of its own to this judge; else it is untrue that any
    prompt may move it.
    """
    made: Events = {}
    told = {name: a.word == "effect" or a.above_zero for name, a in given.questions.items()}
    any_prompt = any(answer.why == "any_prompt" for answer in given.questions.values())
    if "any" in false:
        made["false anything told"] = any(told.values()) or (any_prompt and not prompt_matters)
        # Where replies go with the order the gate may well open: nothing is said of it then.
        made["false gate open"] = given.gate.p <= 0.05 < given.unparsed_p
    else:
        made["found anything"] = any(told.values())
    for name, answer in given.questions.items():
        made[f"false {name}" if {name, "any"} & {*false} else f"found {name}"] = told[name]
        made[f"says {name} equivalent"] = answer.word == "equivalent"
        if name == "single":
            made["says any prompt may do it"] = any_prompt
        if truth is None or name not in truth or not np.isfinite(answer.high):
            continue
        true = truth[name]
        every = [*true.values()] if isinstance(true, dict) else np.atleast_1d(true)
        largest = float(np.max(np.abs(every))) if name != "single" else float(true)
        of_criteria = name == "positions" and "size" in truth
        if of_criteria:
            largest = float(truth["size"])
        if largest >= answer.smallest:
            made[f"equal {name}"] = answer.word == "equivalent"
            del made[f"says {name} equivalent"]
        shown = largest
        if answer.word == "effect" and name == "positions" and not of_criteria:
            shown = abs(true[answer.position])
        if answer.word == "effect" and name == "mean":
            shown = abs(true[answer.named])
        held = answer.low - 1e-9 <= shown <= answer.high + 1e-9
        made[f"holds {name}, as shown"] = held, answer.high - answer.low
        ends = answer.intervals if name == "positions" else []
        if name == "mean":
            contrasts = answer.contrasts
            ends, every = (
                [part[1:] for part in contrasts.values()],
                [true[key] for key in contrasts],
            )
        if len(ends):
            holds = [
                low - 1e-9 <= value <= high + 1e-9
                for (low, high), value in zip(ends, every, strict=True)
            ]
            made[f"holds {name}, each"] = (
                float(np.mean(holds)),
                float(np.mean([high - low for low, high in ends])),
            )
    return made


def questioned(
    rng: np.random.Generator,
    truth: Mapping[str, Any] | None,
    *,
    maker: Callable[..., Answers],
    units: int,
    false: tuple[str, ...],
    few_blocks: bool,
    prompt_matters: bool,
    blind_losses: bool,
) -> Events:
    """``blind_losses``: whether a reply is lost hangs on nothing that has to do with the order."""
    answers, cards = maker(rng, units), gate.CARDS_DEALT
    gate.CARDS_DEALT = 0 if few_blocks else cards
    given = decide(answers, SMALLEST)
    gate.CARDS_DEALT = cards
    made = judged(given, truth, false, prompt_matters=prompt_matters)
    if blind_losses:
        made["false unparsed by order"] = given.unparsed_p <= 0.05
    elif given.unparsed_p < 1:
        made["says unparsed by order"] = given.unparsed_p <= 0.05
    return made if "any" in false else made | single_tests(cells(answers), given)


# ------------------------------------------------------------------- what each part does in a study
class About(NamedTuple):
    """A line of ``cells.txt`` with one of its numbers of units; ``kind`` and ``size`` of “first
    0.5, replies lost at random” are "first" and 0.5, of “nothing” the size is 0.
    """

    part: str
    judge: str
    planted: str
    how: str
    units: int

    @property
    def kind(self) -> str:
        return re.split(r"(?: x)?(?: \d|[,;])|$", self.planted, maxsplit=1)[0]

    @property
    def size(self) -> float:
        number = re.match(r"[a-z ]+? ([\d.]+)(?=[,;]|$)", self.planted)
        return float(number[1]) if number else 0.0

    @property
    def false(self) -> tuple[str, ...]:
        """The questions of which nothing is true."""
        if self.kind in ("nothing", "cancel", "cancelling line"):
            return ("any",) if self.kind == "nothing" else ("positions", "mean")
        return ("positions",) if self.kind in ("turn", "backward") else ()


def option_maker(about: About) -> Callable[..., Answers]:
    """Reads "2 options", "replies lost by score", "calls sent at random" in what is planted."""
    n, loss, session = (
        re.search(rule, about.planted) for rule in (r"(\d) options", "lost (.+)", "sent (.+)")
    )
    return partial(
        foreign.option_answers,
        family=about.judge.split(",")[0],
        kind=about.kind,
        size=about.size,
        n=int(n[1]) if n else 5,
        design=about.how.split(", blocks")[0],
        loss=loss[1] if loss else "",
        session=session[1] if session else "",
        declared="not declared" not in about.judge,
    )


def joint_maker(about: About) -> Callable[..., Answers]:
    return partial(
        foreign.joint_answers,
        family=about.judge,
        kind=about.kind,
        size=about.size,
        lost=0.1 * ("lost" in about.planted),
        halo=0.7 * (about.part == "criteria"),
        interchangeable=about.part != "criteria",
    )


def example_maker(about: About) -> Callable[..., Answers]:
    """Reads "4 examples", "no labels", "one gold of 4" and "clusters of 3" of the judge."""
    count = int(re.findall(r"(\d+) examples|gold of (\d+)", about.judge)[0][0] or 4)
    labels: tuple[float, ...] = foreign.EXAMPLE_LABELS[count]
    if "gold" in about.judge:
        labels = (1.0, 0.0, 0.0, 0.0)
    return partial(
        foreign.example_answers,
        labels=labels,
        kind=about.kind,
        size=about.size,
        lost=0.1 * ("lost" in about.planted),
        clusters=3 if "clusters" in about.judge else 1,
        known="no labels" not in about.judge,
    )


def choice_maker(about: About) -> Callable[..., Answers]:
    return partial(
        foreign.choice_answers,
        k=2 if about.part == "pairs" else 4,
        a_question=4 if about.judge.startswith("four") else 1,
        size=about.size * (about.kind == "first"),
        cancel=about.size * (about.kind == "cancel"),
        lost=0.1 * ("lost" in about.planted),
        repeats=1 if about.how.endswith("once") else 2,
        ties=1.0 if "ties" in about.planted else 0.1,
    )


def pass_maker(about: About) -> Callable[..., Answers]:
    return partial(foreign.pass_answers, change=about.size / 100, a_prompt=answers_a_prompt(about))


def answers_a_prompt(about: About) -> int:
    """Return how many answers a prompt has: 3 of a judge “logistic, prompts of 3”."""
    several = re.search(r"prompts of (\d+)", about.judge)
    return int(several[1]) if several else 1


MAKERS: dict[str, Callable[[About], Callable[..., Answers]]] = {
    "pass or fail": pass_maker,
    "options": option_maker,
    "an assumption broken": option_maker,
    "criteria": joint_maker,
    "answers in one call": joint_maker,
    "pairs": choice_maker,
    "lists of 4": choice_maker,
    "examples": example_maker,
}


def asked(about: About) -> Cell:
    """A cell of the three questions."""
    maker = MAKERS[about.part](about)
    made = partial(
        questioned,
        maker=maker,
        units=about.units,
        false=about.false,
        few_blocks="blocks" in about.how,
        prompt_matters=about.judge == "one fixed draw a prompt",
        blind_losses=bool(re.search("lost (at random|by prompt)", about.planted)),
    )
    if about.part == "pass or fail":
        return Cell(made, partial(pass_sizes, about.size / 100, answers_a_prompt(about)))
    return Cell(made, lambda: sizes(maker(np.random.default_rng(10**6), LARGE)))


def pass_sizes(change: float, a_prompt: int) -> dict[str, Any]:
    """Exactly what ``foreign.pass_answers`` plants: a change at the limit must not fall below it by
    chance.
    """
    weights, between = foreign.pass_rates(foreign.pass_shift(change, a_prompt), a_prompt)
    return {
        "positions": np.array([change, -change]) / 2,
        "mean": {"line": -change},
        "single": float((weights * np.square(between)).sum()),
    }


def forms_cell(about: About) -> Cell:
    forms, calls = map(int, re.findall(r"\d+", about.how))
    return Cell(partial(form_study, about=about, forms=forms - 1, calls=calls))


def form_study(rng: np.random.Generator, _: Any, *, about: About, forms: int, calls: int) -> Events:
    score = foreign.form_calls(rng, about.units, about.kind, about.size, forms, calls)
    order, orders = np.repeat([0, 1], calls), np.array([np.arange(5)[::-1], np.arange(5)])
    family = [
        choices(np.hstack([score[:, 0], score[:, k + 1]]), order, orders) for k in range(forms)
    ]
    given = by_holm(
        [(answers, form_gate(answers, np.arange(about.units))) for answers in family], SMALLEST
    )
    if about.kind == "shift" and forms > 1:
        key = "false anything told"
        return {f"{key} of the form that moves nothing": judged(given[-1], None, ("any",))[key]}
    least = min(given, key=lambda each: each.gate.p)
    made = judged(least, None, ("mean",) if about.kind == "cancel" else about.false)
    if about.kind == "shift":
        means = score.mean(axis=2)
        made["best mean difference (t)"] = stats.ttest_rel(means[:, 0], means[:, 1]).pvalue <= 0.05
        made |= {f"best {name} (dealt)": p <= 0.05 for name, p in least.gate.parts.items()}
    return made


def company_cell(about: About) -> Cell:
    """A cell of all criteria in one call next to each by itself."""
    criteria = int(re.findall(r"(\d+) criteria", about.judge)[0])
    alone, together = map(int, re.findall(r"\d+", about.how))
    mood = re.search(r"mood ([\d.]+)", about.judge)
    shift = foreign.company_shift(about.kind, about.size, criteria)
    maker = partial(
        foreign.company_answers,
        units=about.units,
        criteria=criteria,
        calls=(alone, together),
        shift=shift,
        mood=float(mood[1]) if mood else 0.0,
        lost=0.1 * ("lost" in about.planted),
    )
    return Cell(partial(company_study, maker=maker, true=foreign.company_means(shift)))


def company_study(
    rng: np.random.Generator, _: Any, *, maker: Callable[..., Answers], true: np.ndarray
) -> Events:
    """What is said of the mean over criteria, of each criterion, and of single scores."""
    answers = maker(rng)
    given, criteria = decide_company(answers, SMALLEST)
    mean = given.mean
    assert mean is not None
    moved = np.abs(true) > 1e-9
    told = np.array([verdict.above_zero for verdict in criteria])
    nothing = not moved.any()
    anything = given.gate.open or mean.above_zero or bool(told.any())
    made: Events = {("false" if nothing else "found") + " anything told": anything}
    cancels = abs(true.mean()) < 1e-9
    made[("false" if cancels else "found") + " mean"] = mean.above_zero
    made["false criterion named"] = bool(told[~moved].any())
    if moved.any():
        made["found a criterion named"] = bool(told[moved].any())
        made["found all criteria named"] = bool(told[moved].all())
        sides = np.array([verdict.signed for verdict in criteria])[moved] * true[moved]
        made["false direction of a criterion"] = bool((told[moved] & (sides < 0)).any())
    key = "says" if abs(true.mean()) < mean.smallest else "equal"
    made[f"{key} mean equivalent"] = mean.word == "equivalent"
    equal = [verdict.word == "equivalent" for verdict in criteria]
    far = np.abs(true) >= mean.smallest
    if far.any():
        made["equal criterion"] = bool(np.array(equal)[far].any())
    for name, verdicts_, values in (
        ("mean", [mean], [true.mean()]),
        ("each criterion", criteria, true),
    ):
        ends = [signed_ends(verdict) for verdict in verdicts_]
        held = [
            low - 1e-9 <= value <= high + 1e-9
            for (low, high), value in zip(ends, values, strict=True)
        ]
        if np.isfinite(ends).all():
            width = float(np.mean([high - low for low, high in ends]))
            made[f"holds {name}, as shown"] = float(np.mean(held)), width
    made |= {f"best {part} (dealt)": p <= 0.05 for part, p in given.gate.parts.items()}
    return made


def several_settings(rng: np.random.Generator, _: Any, *, about: About) -> Events:
    """Data sets of one judge: what is said of each at its own 5%, and by Holm's rule over their
    gates.
    """
    settings = int(about.how.split()[0])
    given = [decide(foreign.option_answers(rng, about.units), SMALLEST) for _ in range(settings)]
    told = [
        any(a.word == "effect" or a.above_zero for a in each.questions.values()) for each in given
    ]
    return {
        "says anything of any of them, each at its own .05": any(told),
        "false anything told, a setting": float(np.mean(told)),
        "false first gate, by Holm": min(each.gate.p for each in given) <= 0.05 / settings,
    }


def of_arms(rng: np.random.Generator, truth: Any, *, about: About) -> Events:
    return judged(
        verdicts(Judgments(TABLES[about.part](about)(rng, about.units), "auto").arms, SMALLEST),
        truth,
        about.false,
    )


def mixed_cell(about: About) -> Cell:
    large = partial(foreign.option_answers, units=LARGE, kind=about.kind, size=about.size)
    return Cell(partial(of_arms, about=about), lambda: sizes(large(np.random.default_rng(10**6))))


def compared(rng: np.random.Generator, _: Any, *, about: About) -> Events:
    """Two judges on the same items: what is said of their difference. Of a judge that answers each
    prompt by one fixed draw nothing is true of the order, though its single scores change with it.
    """
    sides = about.judge.split(" and ")
    planted = [about.kind if about.kind != "nothing" else ""] * 2
    if "by one alone" in about.planted:
        planted[1] = ""
    found = [
        Findings(
            Judgments(
                foreign.option_table(
                    rng, about.units, family, kind or "nothing", about.size * bool(kind), fixed=0
                ),
                "auto",
            )
        )
        for family, kind in zip(sides, planted, strict=True)
    ]
    rows = differences(paired(found[0], 0, found[1], 0))
    same = planted[0] == planted[1]
    return {
        f"{'false' if same or row.counts['question'] == 'single' else 'found'} "
        f"{row.counts['question']} differs": row.verdict == "effect"
        for row in rows
    } | {f"says {row.counts['question']} alike": row.verdict == "equivalent" for row in rows}


# ----------------------------------------------------------------------- drift between runs, limits
CHANGES: dict[str, tuple[str, dict[str, float]]] = {
    "nothing": ("", {}),
    "level": ("level", {"level": 0.5}),
    "first": ("order", {"first": 1.3}),
    "noise": ("noise", {"noise": 2.0}),
}


def two_runs(rng: np.random.Generator, _: Any, *, about: About) -> Events:
    """The same units judged twice, the second time changed as planted; each question's word, and
    that of all.
    """
    question, how = CHANGES[about.kind]
    after, units = [{}, how], about.units
    quality = rng.normal(0, 1, units)
    if about.judge.endswith("options"):
        runs = [foreign.run_of(rng, 3 + quality, **each) for each in after]
    elif about.judge.endswith("pairs"):
        chance = 1 / (1 + np.exp(-(quality[:, None] * np.array([1, -1]) + 0.5)))
        runs = [
            comparisons(np.where(rng.random((units, 2)) < chance, 1, 2), foreign.rotations(2))
            for _ in after
        ]
    else:
        own = rng.normal(3, 1, (units, 1, 4))
        scores = [np.clip(np.rint(own + rng.normal(0, 0.7, (units, 8, 4))), 1, 5) for _ in after]
        runs = [criteria(score, foreign.rotations(4, both=True)) for score in scores]
    before, then = (Judgments(table, "auto").arms for table in runs)
    made = drift(before, then, SMALLEST)
    events: Events = {
        ("found" if question else "false") + " anything changed": made.word == "effect"
    }
    for name, answer in made.questions.items():
        events[("found " if question else "false ") + name] = answer.word == "effect"
        same = "equal level" if name == question == "level" else f"says {name} unchanged"
        events[same] = answer.word == "equivalent"
    return events


def limits_kept(rng: np.random.Generator, _: Any, *, about: About) -> Events:
    """Limits derived from one run, held by the same judge asked anew about the same texts."""
    quality = rng.normal(3, 1, about.units)
    first, again = (Findings(Judgments(foreign.run_of(rng, quality), "auto")) for _ in range(2))
    words = [made.word for made in check(again, [limit for limit, _ in derived(first)])]
    return {
        "says a derived limit passes again": float(np.mean([word == "passes" for word in words])),
        "false a derived limit fails": "fails" in words,
    }


def at_the_limit(rng: np.random.Generator, truth: Mapping[str, Any], *, about: About) -> Events:
    """Limits where the truth is: each may pass in 5%, and fail in 5%."""
    found = Findings(Judgments(foreign.run_of(rng, rng.normal(3, 1, about.units)), "auto"))
    made: Events = {}
    for measure, size in (
        ("favours_positions", np.abs(truth["positions"]).max()),
        ("changes_single", truth["single"]),
    ):
        (checked,) = check(found, [Limit(measure, -float(size), float(size))])
        made[f"equal {measure} passes at its true size"] = checked.word == "passes"
        made[f"false {measure} fails at its true size"] = checked.word == "fails"
    return made


def limits_cell(about: About) -> Cell:
    def large() -> dict[str, Any]:
        rng = np.random.default_rng(10**6)
        return sizes(
            from_arms(Judgments(foreign.run_of(rng, rng.normal(3, 1, LARGE)), "auto").arms)
        )

    whole = about.planted.startswith("derived")
    return Cell(
        partial(limits_kept if whole else at_the_limit, about=about), None if whole else large
    )


# ------------------------------------------------------------------------------ rows of every topic
def number(about: About) -> float:
    """What the description of a judge holds: "3 to a question", "to the power 2", "own to a prompt
    by 0.5".
    """
    return float(re.findall(r"[\d.]+", about.judge)[0])


TABLES: dict[str, Callable[[About], Callable[..., JudgmentTable]]] = {
    "mixed arms": lambda a: partial(
        foreign.option_table, kind=a.kind, size=a.size, fixed=4, calls=10
    ),
    "decision judges": lambda a: partial(foreign.stated_table, first=a.size, reworded=number(a)),
    "rows: people and judge": lambda a: partial(
        foreign.people_table, kind=a.judge.split(", ")[1], size=4 if "four" in a.judge else 1
    ),
    "rows: what helps": lambda a: partial(foreign.helped_table, first=a.size),
    "rows: options": lambda a: partial(
        foreign.option_table, family=a.judge, kind=a.kind, size=a.size
    ),
    "rows: pairs": lambda a: partial(
        foreign.choice_table, k=2, size=a.size, a_question=int(number(a))
    ),
    "rows: lists of 4": lambda a: partial(
        foreign.choice_table, k=4, size=a.size, a_question=int(number(a))
    ),
    "rows: criteria": lambda a: partial(foreign.criteria_table, kind=a.kind, size=a.size),
    "rows: answers in one call": lambda a: partial(
        foreign.responses_table, kind=a.kind, size=a.size
    ),
    "rows: forms of a prompt": lambda a: partial(foreign.forms_table, size=a.size),
    "rows: ranking": lambda a: partial(foreign.ranked_table, moved=a.size),
    "rows: probabilities": lambda a: partial(
        foreign.stated_table, sharper=number(a), first=a.size, reworded=0.3
    ),
}
TESTED = {
    "rows: options": ("chi2",),
    "rows: people and judge": ("chi2", "top1_excess"),
    "rows: criteria": ("friedman", "carryover"),
    "rows: answers in one call": ("friedman", "carryover"),
    "rows: ranking": ("top1_excess",),
}
"""Rows whose p is held against .05 where nothing is planted."""
OF_TWENTY = ("fragile_promised", "fragile_kept", "fragile_rest")
"""Rows about 20 items of however many: those of very many units are others. They have a part of
their own."""


def rows_cell(about: About) -> Cell:
    maker, units = TABLES[about.part](about), LARGE // (8 if "four" in about.judge else 2)
    return Cell(partial(row_study, maker=maker, about=about), partial(large_rows, maker, units))


def rows_of(table: JudgmentTable) -> Iterator[tuple[str, Row]]:
    """Every row of every topic, with its measure and what it is about; of topics of one arm the
    first arm's.
    """
    arms, reading = Judgments(table, "auto").arms, ReadingPart()
    for spoken in TOPICS.values():
        for subject in spoken.subjects(arms[:1] if spoken.per == "arm" else arms):
            for row in spoken.rows(
                subject, **({"reading": reading} if spoken.takes_reading else {})
            ):
                if isinstance(row, Row):
                    of = {**row.of, **({"condition": row.condition} if row.condition > 0 else {})}
                    yield (
                        " ".join([row.measure, *(f"{name}={value}" for name, value in of.items())]),
                        row,
                    )


def row_study(
    rng: np.random.Generator,
    truth: Mapping[str, float],
    *,
    maker: Callable[..., JudgmentTable],
    about: About,
) -> Events:
    """Every row with an interval; those that hold all at once (level above .95) are one event a
    measure.
    """
    made: Events = {}
    at_once: dict[str, bool] = {}
    rejected: dict[str, list[bool]] = {}
    for key, row in rows_of(maker(rng, about.units)):
        if row.measure in OF_TWENTY:
            continue
        low, high = row.interval
        if row.measure in TESTED.get(about.part, ()) and not about.size and np.isfinite(row.p):
            rejected.setdefault(f"false p of {row.measure}, a row", []).append(row.p <= 0.05)
        if not np.isfinite(low) or key not in truth:
            continue
        held = bool(low - 1e-9 <= truth[key] <= high + 1e-9)
        if row.level > 0.951:
            at_once[row.measure] = at_once.get(row.measure, True) and held
        else:
            made[f"holds {key}"] = held, high - low
    made |= {key: float(np.mean(each)) for key, each in rejected.items()}
    return made | {f"holds {measure}, all at once": held for measure, held in at_once.items()}


def large_rows(maker: Callable[..., JudgmentTable], units: int) -> dict[str, float]:
    """Values of two times so many units on average."""
    rows = [rows_of(maker(np.random.default_rng([10**6, k]), units)) for k in range(2)]
    first, second = (
        {key: row.value for key, row in half if np.isfinite(row.value)} for half in rows
    )
    return {key: (value + second[key]) / 2 for key, value in first.items() if key in second}


# ------------------------------------------------------------------------------ the fragile scores
def fragile_cell(about: About) -> Cell:
    """Reads "5 scores" or "5 scores, cut at 3" of the judge, and "2 orders twice" of the design."""
    scores, *cut = map(int, re.findall(r"\d+", about.judge))
    orders = int(about.how.split()[0])
    maker = partial(foreign.repeated_rounds, scores=scores, orders=orders, moved=about.size)
    reading = ReadingPart(cut=cut[0] if cut else None)
    return Cell(
        partial(fragile_study, maker=maker, units=about.units, reading=reading),
        partial(large_zones, maker, reading),
    )


def fragile_study(
    rng: np.random.Generator,
    truth: Mapping[str, float],
    *,
    maker: Callable[..., tuple[JudgmentTable, np.ndarray]],
    units: int,
    reading: ReadingPart,
) -> Events:
    """What the list of fragile scores promises, what another round gives and what is true of it.

    ``truth``: the order effect of each zone.
    """
    table, share = maker(rng, units)
    (arm,) = Judgments(table, "auto").arms
    rows = {" ".join([row.measure, *row.of.values()]): row for row in fragile(arm, reading)}
    made = fragile_items(arm, reading.cut)
    if reading.cut is not None:
        passed = share[..., arm.scores >= reading.cut].sum(axis=2)
        share = np.stack([1 - passed, passed], axis=2)
    orders = share.shape[1]
    same = np.square(share.sum(axis=1)).sum(axis=1) - np.square(share).sum(axis=(1, 2))
    apart = (1 - same / (orders * (orders - 1)))[arm.item_code]
    listed, low_high = made.listed, rows["fragile_kept"].interval
    events: Events = {
        "says promised of the listed": rows["fragile_promised"].value,
        "says true of the listed": float(apart[listed].mean()),
        "says kept of the listed": rows["fragile_kept"].value,
        "says kept of the rest": rows["fragile_rest"].value,
        "holds fragile_kept": (
            low_high[0] <= apart[listed].mean() <= low_high[1],
            low_high[1] - low_high[0],
        ),
    }
    held = []
    for zone in ZONES:
        low, high = rows[f"order_effect_by_zone {zone}"].interval
        if np.isfinite(low):
            held.append(low <= truth[zone] <= high)
            events[f"says effect where {zone}"] = rows[f"order_effect_by_zone {zone}"].value
    if held:
        events["holds order_effect_by_zone, all at once"] = all(held)
    return events


def large_zones(
    maker: Callable[..., tuple[JudgmentTable, np.ndarray]], reading: ReadingPart
) -> dict[str, float]:
    """The order effect of each zone in very many units."""
    (arm,) = Judgments(maker(np.random.default_rng(10**6), 10 * LARGE)[0], "auto").arms
    rows = [row for row in fragile(arm, reading) if row.measure == "order_effect_by_zone"]
    return {row.of["zone"]: row.value for row in rows}


def looked(about: About) -> Cell:
    """A cell of runs that may stop early, of the part that its name ends with."""
    kind = about.part.removeprefix("looks: ")
    if kind == "two settings":
        planted = "" if about.kind == "nothing" else about.kind
        how: dict[str, Any] = {"units": about.units, "kind": planted, "size": about.size}
        return Cell(partial(stopping.two_settings, how=about.how.split(", ")[0], **how))
    if kind == "drift between runs":
        runs = partial(stopping.two_stopped_runs, how=about.how.split(", ")[0])
        return Cell(partial(runs, units=about.units, first=about.size))
    own = about._replace(part=kind)
    maker = MAKERS[kind](own)
    study = partial(stopping.stopped_study, maker=maker, units=about.units, false=about.false)
    return Cell(study, lambda: sizes(maker(np.random.default_rng(10**6), LARGE)))


def laddered(about: About) -> Cell:
    """A cell of the words of the ladder, of the part that its name ends with.

    "lean 4.5": the share of the first position is 4.5 percentage points larger than even.
    """
    own = about._replace(part=about.part.removeprefix("ladder: "))
    maker = MAKERS[own.part](own)
    if own.kind == "lean":
        gain = foreign.first_gain(own.judge, own.size / 100)
        maker = partial(foreign.option_answers, family=own.judge, kind="first", size=gain)
    return Cell(partial(word_study, maker=maker, about=own))


def word_study(
    rng: np.random.Generator, _: Any, *, maker: Callable[..., Answers], about: About
) -> Events:
    """Which word of the ladder is given, and whether it is wrong.

    That two single orders may differ by more than matters is left out: it only denies.
    """
    word = ladder_word(decide(maker(rng, about.units), SMALLEST))
    made: Events = {f"word {each}": float(word == each) for each in get_args(LadderWord)}
    if not about.size:
        made["false word Biased"] = word == "Biased"
    if about.kind == "lean" and about.size >= 100 * SMALLEST.share:
        small = "Bias too small to matter", "No bias that matters"
        made["equal word"] = word in small
    return made


def labelled_cell(about: About) -> Cell:
    """A cell of a judge that passes or fails answers, against people's labels."""
    plan = planned(about.judge, about.planted, about.how, about.units)
    return Cell(partial(labelled_study, about=plan))


OF_SEVERAL = ("two settings", "drift between runs")
"""Parts about several runs or settings that may stop early."""
PARTS: dict[str, Callable[[About], Cell]] = {
    **dict.fromkeys([f"ladder: {part}" for part in MAKERS], laddered),
    **dict.fromkeys([f"looks: {part}" for part in (*MAKERS, *OF_SEVERAL)], looked),
    **dict.fromkeys(MAKERS, asked),
    "forms of a prompt": forms_cell,
    "criteria together and alone": company_cell,
    "mixed arms": mixed_cell,
    "compare": lambda about: Cell(partial(compared, about=about)),
    "limits": limits_cell,
    "several settings": lambda about: Cell(partial(several_settings, about=about)),
    "decision judges": lambda about: Cell(partial(of_arms, about=about)),
    "drift between runs": lambda about: Cell(partial(two_runs, about=about)),
    "pass or fail, labelled": labelled_cell,
    "fragile scores": fragile_cell,
}


def all_cells() -> dict[str, Cell]:
    """By name, in the order of the file, those with a star last."""
    made: dict[bool, dict[str, Cell]] = {False: {}, True: {}}
    for line in Path(__file__).with_name("cells.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            *named, every = line.split(" | ")
            for units in every.split():
                about = About(*named, int(units.rstrip("*")))
                made["*" in units][" | ".join(map(str, about))] = PARTS.get(about.part, rows_cell)(
                    about
                )
    return made[False] | made[True]
