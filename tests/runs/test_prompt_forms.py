"""A planted effect of the order of a prompt's sections is found, and none where nothing is planted.

The judge's replies come from hashes of the item and the count of its calls, so that the test is the
same on every machine.
"""

import hashlib

import pytest

import rubriclab.measures  # noqa: F401  every measure
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.figures.pictures import variant_slopes
from rubriclab.model.data import Criterion, Option
from rubriclab.model.judgment import Call, Reply
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.words.answer import answers
from rubriclab.words.subject import subjects_of_variants
from tests.runs.kit import Scripted, ended
from tests.study.kit import small_plan

USUAL, RUBRIC_FIRST = "task answer reference rubric", "task rubric answer reference"
ANSWERED = Criterion("Answered", (Option(0, "no", "Fail"), Option(1, "yes", "Pass")))
FIRST_PICKED = 0.15
"""Share of the calls in which the judge picks the option that is listed first."""


def chance(*parts: object) -> float:
    """Return a number from 0 to 1 that these values decide."""
    text = "|".join(map(str, parts))
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def reply(call: Call, nth: int, up: float) -> Reply:
    """Pass an answer as often as it is good, and ``up`` more often if the rubric comes first.

    A tenth less often where reasons come before the score.
    """
    text = call.messages[0]["content"]
    feedback = text.endswith("###Feedback:")
    early = text.index("###Score Rubrics:") < text.index("###Response to evaluate:")
    if chance("first", call.key, nth) < FIRST_PICKED:
        label = call.ordering.labels[0]
    else:
        passes = chance("quality", *call.items) + up * early - up / 2 * feedback
        drawn = chance("verdict", call.key, nth)
        label = "Pass" if drawn < min(max(passes, 0.02), 0.98) else "Fail"
    return Reply(f"Feedback: fine. [RESULT] {label}" if feedback else label)


def judged(store: Store, scripted: Scripted, up: float) -> Findings:
    """Return what 150 answers give, each in two orders, twice: in four forms of the prompt."""
    scripted(lambda call, nth: reply(call, nth, up))
    plan = small_plan(
        150,
        criteria=(ANSWERED,),
        vary={
            "answer": ["score", "feedback"],
            "sections": [USUAL, RUBRIC_FIRST, "answer reference rubric task"],
        },
    )
    end = ended(Run(store, plan))
    assert end.state == "finished"
    return Findings(Judgments(store.table(end.run)))


def said(findings: Findings) -> dict[str, str]:
    """Return the headline about each form, by its name."""
    lines = [answer.headline.removeprefix("api: ") for answer in answers(findings)]
    return {name: line for line in lines for name in ("feedback", RUBRIC_FIRST) if name in line}


@pytest.mark.thorough
@pytest.mark.parametrize(("up", "found"), [(0.2, True), (0.0, False)])
def test_a_form_that_passes_more_is_found_and_one_that_changes_nothing_is_not(
    store: Store, scripted: Scripted, up: float, found: bool
) -> None:
    findings = judged(store, scripted, up)
    (row,) = findings.select("variant_shift", variant=f"sections = {RUBRIC_FIRST}")
    # 85 in 100 calls follow the chance, so .2 becomes .17, less what is cut at .98.
    assert (0.08 < row.value < 0.24) == found
    raised = f"sections = {RUBRIC_FIRST} raises the pass rate"
    assert (said(findings).get(RUBRIC_FIRST) == raised) == found
    drawn = {}
    for subject in subjects_of_variants(findings, 0):
        picture = variant_slopes(findings, subject)
        assert picture is not None
        drawn[subject.variant] = picture.levels
    # Two long levels would be printed over each other below the picture, so their factor goes.
    assert drawn[f"sections = {RUBRIC_FIRST}"] == (USUAL, RUBRIC_FIRST)
    assert drawn["answer = feedback"] == ("answer = score", "answer = feedback")
    words = [
        (dict(each.of)["variant"], each.verdict)
        for each in findings.select(topic="verdict")
        if "variant" in each.of and each.verdict == "effect"
    ]
    assert bool(words) == found
