"""Put several judges beside each other in words: who is biased by order, and who leans most.

Every statement is made of the judges' own verdicts. Each verdict holds for its judge on its own,
at 95%, and is not corrected for how many judges there are: the sentences say so.
"""

import math
from collections.abc import Mapping, Sequence

from rubriclab.core.topic import Findings, Row
from rubriclab.model.text import abridge, count
from rubriclab.words.phrases import NBSP, number
from rubriclab.words.subject import (
    CHOICES,
    EFFECT,
    EQUIVALENT,
    Subject,
    subjects_of_orders,
)
from rubriclab.words.yardstick import model_of_rater as model_of_rater
from rubriclab.words.yardstick import whom as whom

MOST_NAME = 40
"""Characters of a judge's name in a sentence."""
EACH = "Each verdict is for its judge alone, and not corrected for the number of judges."
MATTERS = {
    "options": "The order of the options matters",
    "examples": "The order of the examples matters",
    "criteria": "The order of the criteria matters",
    "responses": "The order of the answers matters",
    "pairs": "The order of the two answers matters",
    "lists": "The order of the answers matters",
}


def one_a_judge(findings: Findings, reorder: str, dataset: str | None = None) -> list[Subject]:
    """Return a subject for each judge and data set whose calls reorder ``reorder``: the first
    setting, which is the default form.
    """
    first: dict[tuple[str, str], Subject] = {}
    for subject in subjects_of_orders(findings):
        asked = findings.conditions[subject.condition]
        if subject.reorder == reorder and dataset in (None, asked.dataset):
            first.setdefault((asked.judge, asked.dataset), subject)
    return list(first.values())


def reorders_of(findings: Findings) -> list[str]:
    """Return what the calls of a run reorder, in the order of its conditions."""
    return list(dict.fromkeys(asked.reorder for asked in findings.conditions))


def headline(subjects: Sequence[Subject], dataset: str = "") -> str:
    """Say for how many judges the order matters.

    The order matters for a judge whose verdict on positions, on the mean, or on single scores is an
    effect. ``dataset``: the data set of the subjects, named where the run has several.
    """
    where = f" on {short(dataset)}" if dataset else ""
    what = MATTERS.get(subjects[0].reorder, "The order matters")
    known = [subject for subject in subjects if subject.questions]
    if not known:
        return "No verdicts before the end of the run"
    biased = [subject for subject in known if is_biased(subject)]
    if len(biased) == len(known) and len(known) > 1:
        return f"{what} for all {len(known)} judges{where}"
    if not biased:
        return f"No clear effect of the order for any of {count(len(known), 'judge')}{where}"
    return f"{what} for {len(biased)} of {count(len(known), 'judge')}{where}"


def dataset_if_several(findings: Findings, dataset: str) -> str:
    """Return the data set as a heading names it: empty where the findings have only one."""
    return dataset if len({about.dataset for about in findings.conditions}) > 1 else ""


def over_one_of_many(findings: Findings, subject: Subject) -> str:
    """Say for how many judges the order matters, above the answer of one of them.

    Empty where the run has one judge in the subject's kind of list, and where nothing was asked in
    two orders.
    """
    dataset = findings.conditions[subject.condition].dataset
    every = one_a_judge(findings, subject.reorder, dataset)
    one_order = all(one.finished and (not one.questions or one.orders < 2) for one in every)
    if len(every) < 2 or one_order:
        return ""
    return headline(every, dataset_if_several(findings, dataset))


def is_biased(subject: Subject) -> bool:
    """Return whether a verdict about the subject is an effect."""
    return any(verdict.word == EFFECT for verdict in subject.questions.values())


def line(subjects: Sequence[Subject]) -> str:
    """Name who leans most and who is steady, and say that each verdict stands for itself."""
    parts = []
    steady = [named(subject) for subject in subjects if subject.is_(EQUIVALENT, "positions")]
    if steady:
        verb = "favours" if len(steady) == 1 else "favour"
        parts.append(f"{listed(steady)} {verb} no position.")
    leaning = [subject for subject in subjects if subject.is_(EFFECT, "positions")]
    if leaning:
        most = max(leaning, key=_size)
        parts.append(f"{named(most)} leans most: it {positions_text(most)}.")
    parts.append(EACH)
    return " ".join(parts)


def _size(subject: Subject) -> float:
    return subject.positions.value if subject.positions is not None else -math.inf


def named(subject: Subject) -> str:
    return short(subject.judge)


def short(name: str, most: int = MOST_NAME) -> str:
    """Return a name from outside as a picture or sentence of several judges shows it.

    A long one keeps its end too: judges of two runs differ there.
    """
    return abridge(name, most)


def distinct_names(names: Sequence[str], most: int = MOST_NAME) -> dict[str, str]:
    """Return names as ``short`` shows them, by name; equal ones get a number."""
    shown: dict[str, str] = {}
    for name in dict.fromkeys(names):
        first = own = short(name, most)
        number_of = 1
        while own in shown.values():
            number_of += 1
            own = f"{first} {number_of}"
        shown[name] = own
    return shown


def simulated_note(findings: Findings) -> str:
    """Return a sentence, after a space, that names the simulated judges; empty where none is."""
    names = dict.fromkeys(about.judge for about in findings.conditions if about.simulated)
    return f" Simulated: {listed([short(name) for name in names])}." if names else ""


def left_out(names: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence, after a space, that names what a picture leaves out; empty for nothing.

    ``names``: by the reason why they are not drawn.
    """
    parts = [
        f"{listed([short(name) for name in left])} ({why})" for why, left in names.items() if left
    ]
    return f" Not drawn: {'; '.join(parts)}." if parts else ""


def whole_row(findings: Findings, measure: str, condition: int) -> Row | None:
    """Return the row of a measure that is about its whole condition, or None."""
    for row in findings.select(measure, condition=condition):
        if not row.of:
            return row
    return None


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as a part of a sentence; those beyond ``most`` are counted."""
    shown = list(names[:most])
    left = len(names) - len(shown)
    if left:
        shown.append(f"{left} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def badge(subject: Subject, question: str) -> str:
    """Return the word of a question as a badge shows it; empty where there is no verdict."""
    return subject.words.get(question, "")


def positions_text(subject: Subject) -> str:
    """Say which position a judge favours or avoids: “favours position 5: 35% of choices, even is
    20%”.
    """
    verdict = subject.positions
    if verdict is None or not verdict.word:
        return "has no verdict"
    if subject.in_points:
        size = f"{number(verdict.value)}{NBSP}points"
        if verdict.word == EFFECT:
            if subject.reorder == "examples":
                return f"follows the label at a position, by {size}"
            return f"moves criteria by {size} on average"
        if verdict.word == EQUIVALENT:
            return f"favours no position, {size}"
        return f"{size} on average"
    position = subject.spoken or 0
    even = subject.expected[position] if subject.expected else math.nan
    size = number(100 * abs(subject.leans[position]), ".0f")
    points = f"{size}{NBSP}{'point' if size == '1' else 'points'} from even"
    if verdict.word == EQUIVALENT:
        return f"favours no position, {points}"
    if verdict.word != EFFECT:
        return points
    verb = "favours" if subject.leans[position] > 0 else "avoids"
    form = f".{subject.share_decimals}%"
    share = number(subject.shares[position], form)
    beside = f", even is {number(even, form)}" if math.isfinite(even) else ""
    what = "wins" if subject.reorder in CHOICES else "choices"
    return f"{verb} position {position + 1}: {share} of {what}{beside}"


def mean_text(subject: Subject) -> str:
    """Return the signed change of the mean that the verdict is about; empty where there is none."""
    if subject.mean is None or not math.isfinite(subject.mean.value):
        return ""
    named_one = subject.mean.named
    signed = subject.mean.value
    if named_one and named_one in subject.mean.contrasts:
        signed = subject.mean.contrasts[named_one].value
    return number(signed, "+.2f")


def single_text(subject: Subject) -> str:
    """Return the share of single scores that another order changes; empty where there is none."""
    if subject.single is None or not math.isfinite(subject.single.value):
        return ""
    return number(subject.single.value, ".0%")
