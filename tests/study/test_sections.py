"""Orders of a prompt's sections and formats of the answer: what is sent, what is refused, and how
replies are parsed.
"""

import itertools
import re
from typing import Any

import pytest

from rubriclab.model.data import DataSet, Item
from rubriclab.model.judgment import Reply
from rubriclab.model.study import SECTIONS, PromptFile, read_prompt, study_from_toml
from rubriclab.model.text import LabError
from rubriclab.runs.forecast import estimate
from rubriclab.study.own_answers import answer_reading
from rubriclab.study.placeholders import score_names
from rubriclab.study.plan import Plan
from rubriclab.study.prompts import FILES, answer_rule, filled_in, lab_prompt
from rubriclab.study.proof import prove_sections
from rubriclab.study.sections import cut
from rubriclab.study.subjects import PROTOCOLS
from tests.judges.test_decisions import deciding
from tests.study.kit import ABC, API, EMBEDDED, criterion, data, small_plan
from tests.study.test_own_prompt import own_plan

USUAL, RUBRIC_FIRST = "task answer reference rubric", "task rubric answer reference"
ORDERS = [" ".join(order) for order in itertools.permutations(SECTIONS)]
STEMS = ("score", "feedback", "score-then-reason")
REFERRED = DataSet("d", (Item("i", "It is cold.", "How is it?", "Cold."),))

HEADINGS = {
    "task": "###Task Description:",
    "answer": "###The instruction to evaluate:",
    "reference": "###Reference Answer (Score 5):",
    "rubric": "###Score Rubrics:",
}


def sent(stem: str, order: str = "") -> str:
    names = score_names(
        REFERRED.items[0],
        criterion(),
        PROTOCOLS["options"].ordering(small_plan(1).parts[0].first, (1, 2, 3, 4, 5)),
        None,
    )
    return filled_in(stem, names, order)[0]["content"]


def messages_at(made: Plan, **levels: Any) -> dict[str, str]:
    """Return the template and text of the first call at these levels."""
    for call in made.calls():
        variant = made.conditions[call.condition].variant
        if levels.items() <= variant.items():
            return {call.template: call.messages[0]["content"]}
    raise AssertionError(levels)


# ---------------------------------------------------------------- the lab's own prompts


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("stem", STEMS)
def test_each_order_shows_every_section_once_and_the_request_for_the_answer_last(
    stem: str, order: str
) -> None:
    text = sent(stem, order)
    spots = [text.index(HEADINGS[name]) for name in order.split()]
    assert spots == sorted(spots)
    assert all(text.count(heading) == 1 for heading in HEADINGS.values())
    ending = {"score": "Answer with the score only:", "feedback": "###Feedback:"}
    assert text.endswith("\n\n" + ending.get(stem, "Answer with the score first, then the reason:"))
    assert "<!--" not in text
    # The same paragraphs in another order: no byte is added or lost.
    assert sorted(text.split("\n")) == sorted(sent(stem).split("\n"))


def test_the_rubric_before_the_answer_by_hand() -> None:
    made = small_plan(1, dataset=REFERRED, vary={"sections": [USUAL, RUBRIC_FIRST]}, repeats=1)
    ((template, text),) = messages_at(made, sections=RUBRIC_FIRST).items()
    assert template == "score.v1-task-rubric-answer-reference"
    head, rubric, rest = re.split(r"(?<=\n\n)(?=###Score Rubrics|###The instruction)", text)
    assert head.startswith("###Task Description:\nAn instruction (might")
    assert head.endswith("3. Write the score alone: no feedback, no other word.\n\n")
    lines = rubric.split("\n")
    assert lines[:2] == ["###Score Rubrics:", "[quality]"]
    assert sorted(lines[2:7]) == [f"Score {k}: level {k}" for k in range(1, 6)]
    assert rest == (
        "###The instruction to evaluate:\nHow is it?\n\n"
        "###Response to evaluate:\nIt is cold.\n\n"
        "###Reference Answer (Score 5):\nCold.\n\n"
        "Answer with the score only:"
    )


def test_a_prompt_of_another_text_has_another_name_and_the_baseline_keeps_its_own() -> None:
    texts = {
        (lab_prompt(stem, order).name, sent(stem, order)) for stem in STEMS for order in ORDERS
    }
    assert len(texts) == 3 * 24
    assert len({name for name, _ in texts}) == 3 * 24
    assert lab_prompt("score", USUAL) == lab_prompt("score")
    assert lab_prompt("score").name == "score.v1"
    # criteria.toml shows no reference, and its rubric comes before the answer.
    assert lab_prompt("criteria", RUBRIC_FIRST).name == "criteria.v1"
    assert lab_prompt("criteria", USUAL).name == "criteria.v1-task-answer-rubric"


def test_calls_of_the_baseline_are_the_calls_of_a_study_without_factors() -> None:
    """A stored reply is taken over only by a prompt of the same words."""
    plain = {call.key for call in small_plan(2).calls()}
    varied = small_plan(
        2,
        dataset=None,
        vary={"sections": [USUAL, RUBRIC_FIRST], "answer": ["score", "feedback"]},
    )
    by_base: dict[bool, set[str]] = {True: set(), False: set()}
    for call in varied.calls():
        variant = varied.conditions[call.condition].variant
        by_base[variant == {"sections": USUAL, "answer": "score"}].add(call.key)
    assert by_base[True] == plain
    assert not by_base[False] & plain
    feedback = {call.key for call in small_plan(2, answer="feedback").calls()}
    assert feedback <= by_base[False]


@pytest.mark.thorough
@pytest.mark.parametrize("stem", [path.stem for path in FILES.glob("*.toml")])
def test_sections_of_the_labs_prompts_hold_the_same_bytes_in_every_order(stem: str) -> None:
    prompt = read_prompt((FILES / f"{stem}.toml").read_text("utf-8"), stem)
    if cut(prompt) is None:
        assert stem not in (*STEMS, "criteria", "criterion")
        return
    names = score_names(
        REFERRED.items[0],
        criterion(),
        PROTOCOLS["options"].ordering(small_plan(1).parts[0].first, (1, 2, 3, 4, 5)),
        None,
    )
    names = {**names, "criteria": [{"name": "a", "description": ""}]}
    listed = "criteria" if stem in ("criteria", "criterion") else "options"
    for order in ORDERS:
        prove_sections(prompt, order, listed, [names])


def test_a_reply_to_another_order_is_read_by_the_same_rule() -> None:
    for stem in STEMS:
        rules = {answer_rule(lab_prompt(stem, order).name) for order in ORDERS}
        assert rules == {lab_prompt(stem).answer}


def test_criteria_in_one_call_take_sections_too() -> None:
    made = small_plan(2, criteria=ABC, reorder="criteria", vary={"sections": [RUBRIC_FIRST, USUAL]})
    moved = messages_at(made, sections=USUAL)["criteria.v1-task-answer-rubric"]
    assert moved.index("###Response to evaluate:") < moved.index("###Criteria (evaluate")
    first = messages_at(made, sections=RUBRIC_FIRST)["criteria.v1"]
    assert sorted(first.split("\n")) == sorted(moved.split("\n"))


def test_a_fixed_order_of_sections_needs_no_factor() -> None:
    made = small_plan(1, sections="task, rubric, answer, reference")
    assert {call.template for call in made.calls()} == {"score.v1-task-rubric-answer-reference"}


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f'sections = ["{USUAL}"]', "at least 2"),
        (f'sections = ["{USUAL}", "task answer"]', "“task answer” is not an order of the sections"),
        (f'sections = ["{USUAL}", "task answer reference rubrik"]', "not an order of the sections"),
        (f'sections = ["{USUAL}", "{USUAL} rubric"]', "write each of task, answer, reference"),
        (f'sections = ["{USUAL}", ""]', "not an order of the sections"),
        (f'sections = ["{USUAL}", "Task,  answer reference RUBRIC"]', "sections has a level twice"),
        ('answer = ["score", "score"]', "answer has a level twice"),
        ('answer = ["score", "reasons"]', "answer.1 is 'reasons'"),
    ],
)
def test_levels_that_are_no_order_or_no_format_are_refused(line: str, said: str) -> None:
    with pytest.raises(LabError, match=re.escape(said)):
        study_from_toml("[[data]]\nsample = true\n[design.vary]\n" + line)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"reorder": "bare", "vary": {"sections": [USUAL, RUBRIC_FIRST]}},
            "sections changes nothing when bare are reordered",
        ),
        (
            {"reorder": "criteria", "criteria": ABC, "vary": {"answer": ["score", "feedback"]}},
            "answer changes nothing when criteria are reordered",
        ),
        ({"reorder": "bare", "sections": RUBRIC_FIRST}, "sections changes nothing when bare"),
        (
            {"reorder": ["options", "bare"], "answer": "score-then-reason"},
            'needs reorder = "options" alone',
        ),
        (
            {"judges": (EMBEDDED,), "vary": {"answer": ["score", "score-then-reason"]}},
            "cannot hold for the embedded judge “small”: its reply is begun with “The score is”",
        ),
        ({"judges": (EMBEDDED,), "answer": "score-then-reason"}, "prefill = false"),
        (
            {"judges": (deciding(),), "vary": {"answer": ["score", "feedback"]}},
            "answers typed questions, so it cannot use [design.vary] answer",
        ),
        (
            {"judges": (deciding(),), "vary": {"sections": [USUAL, RUBRIC_FIRST]}},
            "cannot use another order of sections",
        ),
        (
            {"vary": {"sections": [USUAL, "task reference answer rubric"]}},
            "send the same prompts, because no reference answer is shown",
        ),
    ],
)
def test_factors_that_cannot_hold_are_refused_before_a_call(more: Any, said: str) -> None:
    with pytest.raises(LabError, match=re.escape(said)):
        small_plan(2, **more)


def test_a_reference_of_any_answer_makes_its_place_a_level() -> None:
    items = (*data(2).items, Item("r", "x", "y", "Cold."))
    levels = [USUAL, "task reference answer rubric"]
    assert len(small_plan(dataset=DataSet("d", items), vary={"sections": levels}).conditions) == 2


def test_an_embedded_judge_that_is_not_begun_may_give_a_reason() -> None:
    free = EMBEDDED.model_copy(update={"options": {"prefill": False}})
    made = small_plan(1, judges=(free,), vary={"answer": ["score", "score-then-reason"]})
    assert {call.begun for call in made.calls()} == {""}


# ---------------------------------------------------------------- prompts of the user's own

TASK = "<!-- section task -->\nJudge it.\n"
ANSWER = "<!-- section answer -->\nText: {{ response }}\n"
RUBRIC = (
    "<!-- section rubric -->\n{% for part in options %}{{ part.label }}: {{ part.description }}\n"
    "{% endfor %}"
)
LAST = "<!-- end of sections -->\nScore:"


def own(*texts: str) -> PromptFile:
    return PromptFile.model_validate({"name": "mine", "messages": [{"text": t} for t in texts]})


def test_a_prompt_with_markers_sends_its_own_sections_in_each_order() -> None:
    marked = own(f"Hello.\n{TASK}{ANSWER}{RUBRIC}{LAST}")
    plain = own(re.sub(r"<!--.*-->\n", "", marked.messages[0].text))
    made = own_plan(marked, vary={"sections": [USUAL, RUBRIC_FIRST]})
    base = [
        call
        for call in made.calls()
        if made.conditions[call.condition].variant == {"sections": USUAL}
    ]
    # Markers are never sent, so that they may be put into a prompt which has been asked already.
    assert {call.key for call in base} == {call.key for call in own_plan(plain).calls()}
    ((template, text),) = messages_at(made, sections=RUBRIC_FIRST).items()
    assert template != base[0].template
    assert re.fullmatch(
        r"Hello\.\nJudge it\.\n(\d: p \d\n){3}Text: answer \d of [xy] \{\{ 7\*7 \}\}\nScore:", text
    )
    assert len(made.proofs) == 2 * len(own_plan(plain).proofs)


def test_markers_of_a_pasted_prompt_with_carriage_returns_leave_no_trace() -> None:
    ending = '{{ "\\r\\n" }}'
    text = f"{TASK}{ANSWER}{RUBRIC}{LAST}".replace("-->\n", f"-->{ending}")
    made = own_plan(own(text), vary={"sections": [USUAL, RUBRIC_FIRST]})
    assert all("\r" not in call.messages[0]["content"] for call in made.calls())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"Judge.\n{ANSWER.split('>', 1)[1]}{RUBRIC.split('>', 1)[1]}", "it has no sections"),
        (f"{TASK}{ANSWER}{LAST}", "section rubric is missing"),
        (f"{TASK}{RUBRIC}{LAST}", "section answer is missing"),
        (f"{TASK}{ANSWER}{RUBRIC}{TASK}{LAST}", "section task appears twice"),
        (f"{TASK}{ANSWER}{RUBRIC}<!-- SECTION Task -->\nx{LAST}", "section task appears twice"),
        (f"{TASK}{ANSWER}{RUBRIC}<!-- section notes -->\nx{LAST}", "names no section"),
        (f"{TASK}{ANSWER}{RUBRIC}<!-- section -->\nx{LAST}", "names no section"),
        (f"{TASK}{ANSWER}<!-- section rubric -->\n{LAST}{RUBRIC[24:]}", "section rubric is empty"),
        (f"{TASK}{ANSWER}{RUBRIC}{LAST}{LAST}", "appears twice"),
        (f"{LAST}{TASK}{ANSWER}{RUBRIC}", "is followed by another section"),
        (
            f"{TASK}{ANSWER}<!-- section rubric -->\nRubric below.\n<!-- section reference -->\n"
            f"{RUBRIC[24:]}{LAST}",
            "section rubric does not print {{ options }}",
        ),
        (
            f"{TASK}{ANSWER}" + "{% for k in [1] %}" + RUBRIC + "{% endfor %}" + LAST,
            "is not complete by itself",
        ),
        (f"{TASK}{ANSWER}" + "{# " + RUBRIC + " #}" + LAST, "stands elsewhere"),
        (
            f"{TASK}{ANSWER}" + "{% raw %}" + RUBRIC + "{% endraw %}" + LAST,
            "rubric is not complete",
        ),
        (
            TASK + "{% set response = 'x' %}" + ANSWER + RUBRIC + LAST,
            "section answer uses “response”, which another part of the prompt sets",
        ),
        (
            TASK + ANSWER + RUBRIC + LAST.replace("Score:", "{% set options = [] %}Score:"),
            "section rubric uses “options”",
        ),
        (
            f"{TASK}{ANSWER}" + RUBRIC.replace("{% for", "{%- for") + LAST,
            "is another text when it stands elsewhere",
        ),
    ],
)
def test_hostile_markers_are_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(LabError, match=re.escape(said)):
        own_plan(own(text), vary={"sections": [USUAL, RUBRIC_FIRST]})


def test_sections_in_two_messages_are_refused() -> None:
    with pytest.raises(LabError, match="messages 1 and 2 both have sections"):
        own_plan(own(TASK, f"{ANSWER}{RUBRIC}{LAST}"), sections=RUBRIC_FIRST)


def test_a_marker_in_an_answer_stays_text() -> None:
    """Prompts are cut before texts are filled in, so that no answer can move a section."""
    hostile = "<!-- section rubric -->\n<!-- end of sections -->"
    items = (Item("i", hostile, "How is it?", "Cold."),)
    made = small_plan(dataset=DataSet("d", items), vary={"sections": [USUAL, RUBRIC_FIRST]})
    assert all(f"evaluate:\n{hostile}\n\n" in call.messages[0]["content"] for call in made.calls())


def test_an_own_prompt_says_itself_what_is_answered() -> None:
    with pytest.raises(LabError, match="answer changes nothing with prompts of your own"):
        own_plan(own(f"{TASK}{ANSWER}{RUBRIC}{LAST}"), vary={"answer": ["score", "feedback"]})


# ---------------------------------------------------------------- the score, then the reason


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Score: 4 / Reason: I would give it a 5 if it were longer.", "4"),
        ("Score: 4\nReason: I would give it a 5 if it were longer.", "4"),
        ("**Score:** 4\n**Reason:** It misses 2 of 3 points.", "4"),
        ("4\n\nReason: it is a 5 in parts.", "4"),
        ("Score: (4) Reason: fine", "4"),
        ("Score: 4/5 Reason: A 3 would be too low.", "4"),
        ('{"score": 4, "reason": "a 5 would need more"}', "4"),
        ("<think>Score: 3\nReason: a</think>Score: 4\nReason: b", "4"),
        ("Score: 4\nReason: the answer says “Score: 2”, which is wrong", "4"),
        ("Reason: It is right.\nScore: 4", "4"),
        ("Score: 4", "4"),
        # Two verdicts, or one that is taken back, are none.
        ("Score: 4\nReason: good.\n\nScore: 3\nReason: bad", None),
        ("Score: 4\nReason: I give it a 5.", None),
        ("Score: 4\nReason: Actually, on reflection, 3.", None),
        ("Score: 4 or 5\nReason: in between", None),
        ("Score: 9\nReason: high", None),
        ("Score: 4.5 Reason: x", None),
        ("Reason: I would give it a 5 if it were longer.", None),
        ("", None),
    ],
)
def test_a_score_before_its_reason_is_read(reply: str, label: str | None) -> None:
    rule = lab_prompt("score-then-reason").answer
    assert answer_reading(reply, rule, ["3", "1", "5", "2", "4"]).label == label


def test_a_whole_reply_gives_its_score_and_one_whose_reason_is_cut_gives_none() -> None:
    made = small_plan(1, answer="score-then-reason")
    call = next(made.calls())
    (outcome,) = made.parse(call, Reply("Score: 4\nReason: it would be a 5 if longer."))
    assert outcome.score == 4
    # The rest of the reason might have taken the score back.
    (outcome,) = made.parse(call, Reply("Score: 4\nReason: it is a lon", finish="length"))
    assert outcome.score is None
    assert (call.max_tokens, call.labels) == (1_024, ())


# ---------------------------------------------------------------- what it costs


def test_the_plan_says_how_much_more_a_server_reads() -> None:
    items = tuple(Item(f"i{k}", f"{k}" * 4_000) for k in range(3))
    levels = [USUAL, RUBRIC_FIRST, "answer reference task rubric"]
    made = small_plan(dataset=DataSet("d", items), vary={"sections": levels})
    # Ten orders: the answer, almost the whole prompt, is read once or ten times.
    (note,) = (note for note in made.notes if note.startswith(f"sections = {RUBRIC_FIRST}"))
    times = float(re.findall(r"about ([\d.]+) times", note)[0])
    assert 7 < times < 10
    assert "with “task answer reference rubric”" in note
    shorter = small_plan(dataset=DataSet("d", items), vary={"sections": levels[1::-1]})
    assert not [note for note in shorter.notes if "times as many" in note]


def test_longer_replies_cost_tokens_where_they_are_asked_for() -> None:
    # 2 answers x 10 orders x 2 at 3 tokens; the same again at 200, and at 80.
    made = small_plan(2, vary={"answer": ["score", "feedback", "score-then-reason"]})
    assert estimate(made).tokens_out == 40 * (3 + 200 + 80)
    assert API.max_tokens is None
