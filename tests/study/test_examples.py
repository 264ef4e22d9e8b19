"""Studies that reorder examples: what is shown, in which orders, and what is refused in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judgment import Reply, Status
from rubriclab.model.study import Study, study_from_toml
from rubriclab.model.text import LabError
from rubriclab.runs.loading import plan_of_file
from rubriclab.study.plan import Plan, plan
from tests.study.kit import API, criterion, data

SHOTS = [
    {"text": "It is blue.", "label": 2},
    {"text": "No idea.", "label": "1"},
    {"text": "Scattering.", "label": 4},
]


def examples_plan(
    shown: Any = SHOTS,
    *,
    column: str = "",
    dataset: DataSet | None = None,
    criteria: tuple[Criterion, ...] = (criterion(),),
    prompt: Any = None,
    **design: Any,
) -> Plan:
    """Three answers under one criterion of five scores, behind three examples."""
    source = {"column": column} if column else {"shown": shown}
    body = {
        "name": "small",
        "data": {"file": "d.csv"},
        "examples": source,
        "design": {"reorder": "examples", **design},
        "judges": [API.model_dump()],
    }
    if prompt is not None:
        body["prompt"] = {"templates": [prompt]}
    return plan(Study.model_validate(body), dataset or data(3), Rubric("r", criteria))


def passages(count: int, *lists: Any) -> DataSet:
    """``count`` answers, each with a list of passages in a column; the last list again and
    again.
    """
    return DataSet(
        "d",
        tuple(
            Item(
                f"i{k}",
                f"response {k}",
                f"instruction {k}",
                columns={"passages": json.dumps(lists[min(k, len(lists) - 1)])},
            )
            for k in range(count)
        ),
    )


GOLD = [{"text": "far", "gold": False}, {"text": "the answer", "gold": True}, {"text": "near"}]


# ------------------------------------------------------------------------------------ the plan
def test_every_order_of_three_examples_is_asked_twice() -> None:
    made = examples_plan()
    assert made.planned == (3 * 6 * 2,)
    (condition,) = made.conditions
    assert (condition.reorder, condition.positions) == ("examples", 3)
    assert (condition.labels, condition.passages) == ((2.0, 1.0, 4.0), False)
    assert condition.scores == (1, 2, 3, 4, 5)
    calls = list(made.calls())
    assert len({call.key for call in calls}) == len(calls)
    assert {call.ordering.shown for call in calls} == {
        (1, 2, 3),
        (1, 3, 2),
        (2, 1, 3),
        (2, 3, 1),
        (3, 1, 2),
        (3, 2, 1),
    }


def test_only_the_examples_change_places_in_the_prompt() -> None:
    made = examples_plan()
    by_order = {call.ordering.shown: call for call in made.calls() if call.items == (0,)}
    first, last = by_order[1, 2, 3], by_order[3, 2, 1]
    text = first.messages[0]["content"]
    assert (
        "###Examples:\n"
        "Example 1:\nIt is blue.\nScore: 2\n\n"
        "Example 2:\nNo idea.\nScore: 1\n\n"
        "Example 3:\nScattering.\nScore: 4\n\n"
        "###The instruction to evaluate:\ninstruction 0\n" in text
    )
    # the score options keep the order of the rubric
    assert text.index("Score 1: level 1") < text.index("Score 5: level 5")
    swapped = text.replace("It is blue.\nScore: 2", "@1").replace("Scattering.\nScore: 4", "@2")
    assert last.messages[0]["content"] == swapped.replace("@1", "Scattering.\nScore: 4").replace(
        "@2", "It is blue.\nScore: 2"
    )
    assert first.ordering.labels == ("2", "1", "4")


def test_four_examples_are_asked_in_twelve_orders() -> None:
    made = examples_plan([*SHOTS, {"text": "Rayleigh.", "label": 5}])
    assert made.planned == (3 * 12 * 2,)


def test_a_reply_is_read_as_a_score_of_the_rubric() -> None:
    """Not as one of the listed examples, whose numbers and labels are scores of their own."""
    made = examples_plan()
    call = next(call for call in made.calls() if call.ordering.shown == (3, 2, 1))
    (outcome,) = made.parse(call, Reply("5"))
    assert (outcome.status, outcome.score, outcome.position) == (Status.OK, 5.0, None)
    assert made.parse(call, Reply("It depends."))[0].status == Status.UNPARSED


def test_labels_of_the_rubric_are_shown_and_read() -> None:
    words = Criterion("q", (Option(0, "wrong", "Fail"), Option(1, "right", "Pass")))
    made = examples_plan(
        [{"text": "a", "label": 1}, {"text": "b", "label": "fail"}], criteria=(words,)
    )
    assert made.conditions[0].labels == (1.0, 0.0)
    call = next(made.calls())
    text = call.messages[0]["content"]
    assert "Score: Pass" in text
    assert "Score: Fail" in text
    assert (call.scale, call.labels) == (("Fail", "Pass"), ("Fail", "Pass"))
    assert made.parse(call, Reply("Pass"))[0].score == 1.0


def test_feedback_before_the_score_can_be_asked_for() -> None:
    made = examples_plan(answer="feedback")
    call = next(made.calls())
    assert call.template == "examples-feedback.v1"
    assert made.parse(call, Reply("Feedback: fine [RESULT] 4"))[0].score == 4.0


def test_other_examples_make_another_study() -> None:
    other = [*SHOTS[:2], {"text": "Scattering.", "label": 5}]
    assert examples_plan().identity != examples_plan(other).identity
    assert examples_plan().identity == examples_plan().identity


# ------------------------------------------------------------------------------------ labels
def test_examples_without_labels_have_no_question_about_them() -> None:
    made = examples_plan([{"text": "a"}, {"text": "b"}])
    assert made.conditions[0].labels == ()
    assert any("does not ask whether scores follow a label" in note for note in made.notes)
    assert "Score:" not in next(made.calls()).messages[0]["content"].split("###The instr")[0]


def test_labels_that_are_all_the_same_count_as_none() -> None:
    made = examples_plan([{"text": "a", "label": 3}, {"text": "b", "label": 3}])
    assert made.conditions[0].labels == ()


def test_an_answer_that_is_among_its_examples_is_noted() -> None:
    """Whoever takes examples from the data that are judged tells the judge their labels."""
    shown = [{"text": "Q: why?\nA: response 1", "label": 4}, {"text": "Another.", "label": 1}]
    made = examples_plan(shown)
    noted = [note for note in made.notes if "can be read in the examples" in note]
    assert len(noted) == 1
    assert noted[0].startswith("The answer “i1” can be read")
    both = [{"text": "response 0", "label": 4}, {"text": "response 2", "label": 1}]
    assert any("“i0”, and 1 more answer, can" in note for note in examples_plan(both).notes)
    assert not any("can be read" in note for note in examples_plan().notes)


def test_a_label_that_is_not_on_the_scale_is_shown_and_noted() -> None:
    made = examples_plan([{"text": "a", "label": 7}, {"text": "b", "label": 1}])
    assert made.conditions[0].labels == (7.0, 1.0)
    assert any(
        "“7” of an example is not on the scale of “quality” (1 to 5)" in n for n in made.notes
    )
    assert "Score: 7" in next(made.calls()).messages[0]["content"]


# ------------------------------------------------------------------------------------ passages
def test_the_passage_with_the_answer_comes_first_and_is_not_marked() -> None:
    made = examples_plan(column="passages", dataset=passages(3, GOLD))
    (condition,) = made.conditions
    assert (condition.labels, condition.passages) == ((1.0, 0.0, 0.0), True)
    text = next(c for c in made.calls() if c.ordering.shown == (1, 2, 3)).messages[0]["content"]
    assert "###Passages:\nPassage 1:\nthe answer\n\nPassage 2:\nfar\n\nPassage 3:\nnear\n" in text
    assert "gold" not in text
    assert "Score:" not in text


def test_answers_with_another_list_than_most_are_left_out() -> None:
    short = [{"text": "far", "gold": False}, {"text": "the answer", "gold": True}]
    made = examples_plan(column="passages", dataset=passages(4, short, GOLD))
    assert made.planned == (3 * 6 * 2,)
    assert any(
        note.startswith("1 answer left out: most lists in “passages” have 3 entries")
        for note in made.notes
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("far, near", "is not a list. Write a JSON list"),
        ('[{"text": "far"}, {"gold": true}]', "entry 2 has no text"),
        ('[{"text": "far", "gold": "maybe"}, "near"]', "gold is “maybe”; expected true or false"),
        ('["far"]', "has 1 example; an order needs 2 to 10"),
        ('["far", " far "]', "examples 1 and 2 have the same text (“far”)"),
        (json.dumps([str(k) for k in range(11)]), "has 11 examples; the limit is 10"),
    ],
)
def test_a_column_without_lists_is_refused_with_its_answer(given: str, said: str) -> None:
    dataset = DataSet("d", (Item("i0", "response", columns={"passages": given}),))
    with pytest.raises(LabError, match="Answer “i0”, column “passages”") as fault:
        examples_plan(column="passages", dataset=dataset)
    assert said in str(fault.value)


def test_a_missing_column_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LabError, match=r"no column “context”\. Columns without .* are passages"):
        examples_plan(column="context", dataset=passages(2, GOLD))


# ------------------------------------------------------------------------------------ refusals
STUDY = """
name = "n"
data = {{ file = "answers.csv" }}
rubric = {{ file = "rubric.yaml" }}
{examples}
[design]
reorder = "examples"
{design}
[[judges]]
name = "s"
kind = "simulated"
"""


@pytest.mark.parametrize(
    ("examples", "design", "said"),
    [
        ("", "", 'reorder = "examples" needs [examples]'),
        ("[examples]", "", 'give one of file = "shots.csv"'),
        (
            '[examples]\nfile = "s.csv"\ncolumn = "c"',
            "",
            'give one of file = "shots.csv"',
        ),
        (
            '[examples]\nfile = "s.csv"',
            'strategies = ["random"]',
            "“random” draws orders for each answer",
        ),
        ('[examples]\nfile = "s.csv"', 'stop = "known"', 'stop = "known" is not possible'),
        (
            '[examples]\nfile = "s.csv"',
            "vary = { temperature = [0.0, 1.0] }",
            "leave out [design.vary] temperature",
        ),
        ('[examples]\nfile = "s.csv"', "alone = true", "leave it out, or leave out examples"),
    ],
)
def test_what_examples_are_not_asked_with_is_refused(examples: str, design: str, said: str) -> None:
    with pytest.raises(LabError) as fault:
        study_from_toml(STUDY.format(examples=examples, design=design))
    assert said in str(fault.value)


def test_examples_are_a_study_of_their_own() -> None:
    text = STUDY.format(examples='[examples]\nfile = "s.csv"', design="")
    both = text.replace('"examples"\n', '["options", "examples"]\n')
    with pytest.raises(LabError, match="is a study of its own; leave out options"):
        study_from_toml(both)
    with pytest.raises(LabError, match=r"\[examples\] is used only with reorder"):
        study_from_toml(text.replace('reorder = "examples"', 'reorder = "options"'))


@pytest.mark.parametrize(
    ("shots", "said"),
    [
        ("shot,label\na,1\nb,2\n", "has no column text, so it holds no examples"),
        ("text,label\na,1\n", "has 1 example; an order needs 2 to 10"),
        ("text,label\n" + "".join(f"t{k},1\n" for k in range(11)), "has 11 examples; the limit"),
        ("text,label\na,1\nb,2\na,3\n", "examples 1 and 3 have the same text (“a”)"),
        ('text,label\n"a\nb",1\n"a  b",3\n', "examples 1 and 2 have the same text"),
        ("text,label\na,1\n ,2\n", "example 2 has no text"),
    ],
)
def test_a_file_that_holds_no_examples_is_refused(shots: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"“shots\.csv”") as fault:
        plan_of_file(study_folder(tmp_path, shots))
    assert said in str(fault.value)


def study_folder(folder: Path, shots: str, more: str = "") -> Path:
    """A study file with its data, rubric and examples beside it."""
    (folder / "answers.csv").write_text(
        "id,instruction,response\n"
        + "".join(
            f"a{k},Why is the sky blue ({k})?,A long answer {k} about the sky.\n" for k in range(3)
        ),
        "utf-8",
    )
    (folder / "rubric.yaml").write_text(
        "name: R\ncriteria:\n  - name: Q\n    options:\n"
        + "".join(f"      - {{score: {k}, description: level {k}}}\n" for k in range(1, 6)),
        "utf-8",
    )
    (folder / "shots.csv").write_text(shots, "utf-8")
    text = STUDY.format(examples='[examples]\nfile = "shots.csv"', design="") + more
    (folder / "study.toml").write_text(text, "utf-8")
    return folder / "study.toml"


def test_a_file_is_read_into_the_study(tmp_path: Path) -> None:
    made = plan_of_file(study_folder(tmp_path, "Label,Text\n5,good\n1,bad\n"))
    assert made.study.examples is not None
    assert [(e.text, e.label) for e in made.study.examples.shown] == [("good", "5"), ("bad", "1")]
    assert made.planned == (3 * 2 * 2,)


# ------------------------------------------------------------------------------------ own prompts
def own(text: str) -> dict[str, Any]:
    return {"name": "mine", "messages": [{"text": text}], "answer": {"read": "label"}}


LOOP = "{% for e in examples %}{{ loop.index }}) {{ e.text }} -> {{ e.label }}\n{% endfor %}"


def test_a_prompt_of_the_users_own_loops_over_the_examples() -> None:
    made = examples_plan(prompt=own(f"{LOOP}Rate {{{{ response }}}} from 1 to 5."))
    assert len(made.proofs) >= 1
    call = next(call for call in made.calls() if call.ordering.shown == (3, 1, 2))
    text = call.messages[0]["content"]
    assert text.startswith("1) Scattering. -> 4\n2) It is blue. -> 2\n3) No idea. -> 1\nRate ")
    assert made.parse(call, Reply("5"))[0].score == 5.0
    assert call.labels == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Rate {{ response }}.", "the order changes nothing"),
        (LOOP + "{{ response }} {{ responses }}", "names “responses”, which is not known"),
        (
            "{% for e in examples|sort(attribute='text') %}{{ e.text }}{% endfor %}{{ response }}",
            "the order changes nothing",
        ),
        (
            "{% for e in examples %}{{ e.text }}{% if e.label == '4' %}!{% endif %}{% endfor %}",
            "more than the order changes",
        ),
    ],
)
def test_a_prompt_that_does_not_show_the_order_is_refused(text: str, said: str) -> None:
    with pytest.raises(LabError) as fault:
        examples_plan(prompt=own(text))
    assert said in str(fault.value)


PASTED = """Judge the answer on a scale of 1 to 5.

Example A: bad
Grade: 1

Example B: good, really
Grade: 5

Answer: A long answer 1 about the sky.
Total grade:"""


def test_a_pasted_prompt_is_taken_apart_at_its_examples(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text(PASTED, "utf-8")
    study = study_folder(tmp_path, 'text,label\n"good, really",5\nbad,1\n')
    text = study.read_text("utf-8").replace("[design]", '[prompt]\npasted = "prompt.txt"\n[design]')
    study.write_text(text, "utf-8")
    made = plan_of_file(study)
    calls = {call.ordering.shown: call for call in made.calls() if call.items == (1,)}
    # the file has the good one first, the prompt the bad one
    assert calls[2, 1].messages[0]["content"] == PASTED
    assert (
        "Example A: good, really\nGrade: 5\n\nExample B: bad\nGrade: 1\n"
        in (calls[1, 2].messages[0]["content"])
    )
    assert made.previews()[0].ordering.shown == (2, 1)


@pytest.mark.parametrize(
    ("prompt", "key", "said"),
    [
        (PASTED.replace("Example B: good, really", "Example B: fine"), "", "is not in this prompt"),
        (PASTED.replace("Grade: 5", "Marks: 5"), "", "does not find the labels 1, 5"),
        (PASTED + "\nbad", "", "(“bad”) is 2 times in this prompt"),
        (PASTED, 'of = "options"', 'of is "options", but the study reorders examples'),
        (PASTED, "lines = [90, 91]", "Lines 90 to 91 are not in the prompt"),
    ],
)
def test_a_pasted_prompt_that_is_not_sure_is_refused(
    prompt: str, key: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "prompt.txt").write_text(prompt, "utf-8")
    study = study_folder(tmp_path, 'text,label\n"good, really",5\nbad,1\n')
    part = f'[prompt]\npasted = "prompt.txt"\n{key}\n[design]'
    study.write_text(study.read_text("utf-8").replace("[design]", part), "utf-8")
    with pytest.raises(LabError) as fault:
        plan_of_file(study)
    assert said in str(fault.value)


def test_lines_say_where_the_examples_are(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text(PASTED + "\n(bad)", "utf-8")
    study = study_folder(tmp_path, 'text,label\n"good, really",5\nbad,1\n')
    part = '[prompt]\npasted = "prompt.txt"\nlines = [3, 7]\nof = "examples"\n[design]'
    study.write_text(study.read_text("utf-8").replace("[design]", part), "utf-8")
    made = plan_of_file(study)
    assert made.previews()[0].messages[0]["content"] == PASTED + "\n(bad)"
