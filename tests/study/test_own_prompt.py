"""Prompts of the user's own: texts and lists located in them, rendered in bounds, proved to change
in their order alone, answers read by rule.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import openai
import pytest

import rubriclab as rl
from rubriclab.judges.client import request_body
from rubriclab.judges.simulated import SimulatedJudge
from rubriclab.model.data import Comparison, Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply, Status
from rubriclab.model.study import AnswerPart, PromptFile, PromptPart, Study, read_prompt
from rubriclab.model.text import LabError
from rubriclab.runs.loading import plan_of_file
from rubriclab.study.from_text import Pasted, from_text, lists_in, locate, template_text
from rubriclab.study.own_answers import read_answer
from rubriclab.study.plan import Plan, plan
from rubriclab.study.template import render
from tests.apply.kit import Planted, item, serving, written
from tests.study.kit import API

LOOP = "{% for option in options %}{{ option.label }}: {{ option.description }}\n{% endfor %}"
FIVE = ("1", "2", "3", "4", "5")
CASES = json.loads((Path(__file__).parents[1] / "golden" / "replies.json").read_text("utf-8"))
SIMULATED = {"name": "sim", "kind": "simulated", "options": {"noise": 0.5}}


def prompt_file(*texts: str, **answer: Any) -> PromptFile:
    return PromptFile.model_validate(
        {"name": "mine", "messages": [{"text": text} for text in texts], "answer": answer}
    )


def own_plan(
    *files: PromptFile, reorder: str = "options", judges: Any = None, items: int = 3, **design: Any
) -> Plan:
    """Three answers of two candidates to each of three questions, rated under two criteria of three
    scores.
    """
    criteria = tuple(
        Criterion(name, tuple(Option(k, f"{name} {k}") for k in (1, 2, 3)), f"is it {name}")
        for name in "pq"
    )
    rubric = Rubric("r", criteria if reorder == "criteria" else criteria[:1])
    data = DataSet(
        "d",
        tuple(
            Item(
                f"{k}{who}",
                f"answer {k} of {who} {{{{ 7*7 }}}}",
                f"question {k}",
                prompt=f"q{k}",
                candidate=who,
                columns={"topic": f"t{k}"},
            )
            for k in range(items)
            for who in "xy"
        ),
    )
    vary = {"prompt": [file.name for file in files]} if len(files) > 1 else {}
    study = Study.model_validate(
        {
            "data": {"file": "d.csv"},
            "prompt": {"templates": [file.model_dump() for file in files]},
            "design": {"reorder": reorder, "vary": vary, **design},
            "judges": judges or [API.model_dump()],
        }
    )
    return plan(study, data, rubric)


# ---------------------------------------------------------------- what a template may do


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{% set ns=namespace(x=99999) %}{% for i in range(60) %}{% set ns.x=ns.x*ns.x %}{% "
            "endfor %}",
            "more than 1 seconds",
        ),
        (
            "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% "
            "endfor %}{{ ns.x|string }}",
            "takes more",
        ),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
            "takes more",
        ),
        ("{{ 'a'*10**9 }}", "memory"),
        ("{{ '%01000000000d'|format(1) }}", "memory"),
        ("{% for i in range(9999) %}{{ 'a'*1000 }}{% endfor %}", "longer than"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "without end"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "flatter"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ '{0.__class__}'.format(1) }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "loader"),
        ("{{ item.nope }}", "no attribute 'nope'"),
        ("a\n{% if %}", "line 2"),
    ],
)
def test_a_hostile_template_ends_and_the_next_is_rendered(
    text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.study.template.RENDER_SECONDS", 1.0)
    with pytest.raises(LabError, match=words):
        render(prompt_file(text), [{"item": {}}])
    assert (
        render(prompt_file("{{ x }}\n"), [{"x": "{{ 7*7 }}{% raw %}"}])[0][0]["content"]
        == "{{ 7*7 }}{% raw %}\n"
    )


# ---------------------------------------------------------------- the proof


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{% for o in options %}{{ loop.index }}: {{ o.description }} {% endfor %}",
            "label of each of the options",
        ),
        ("{{ response }}", "the order changes nothing"),
        (
            "{% for o in options|sort(attribute='score') %}{{ o.label }}: {{ o.description }} {% "
            "endfor %}",
            "order changes nothing|computes",
        ),
        (LOOP + "Best: {{ options[0].description }}", "must appear once"),
        (LOOP + LOOP, "2 times"),
        (
            "{% for o in options %}{{ o.label }}: {% if o.score > 1 %}{{ o.description }}{% endif "
            "%} {% endfor %}",
            "computes with",
        ),
        (
            "{% for o in options %}{{ o.label }}: {{ o.description }}{{ '!' if 'p 2' in "
            "o.description }} {% endfor %}",
            "more than the order",
        ),
        (
            "{% for o in options|reverse %}{{ o.label }}: {{ o.description }} {% endfor %}",
            "must appear once",
        ),
        (LOOP + "{{ answer }}", "“answer”, which is not known"),
        (LOOP + "{{ item.author }}", "no column author"),
    ],
)
def test_a_prompt_that_changes_more_or_less_than_its_order_is_refused_before_a_call(
    text: str, words: str
) -> None:
    with pytest.raises(LabError, match=words):
        own_plan(prompt_file(text))


def test_the_proof_names_what_moves_and_every_call_keeps_its_signs() -> None:
    text = (
        "{{ item.topic|upper }} {{ response }}\n"
        + LOOP
        + "One of {{ labels|join(', ') }}, worst to best"
    )
    made = own_plan(prompt_file(text))
    proof = made.proofs[0]
    assert (proof.moved, proof.orders, len(proof.notes)) == (((1, 2, 4),), 4, 1)
    assert proof.side_by_side()[2:] == [
        "T0 answer 0 of x {{ 7*7 }}                                   T0 answer 0 of x {{ 7*7 }}",
        "1: p 1                                                     | 3: p 3",
        "2: p 2                                                       2: p 2",
        "3: p 3                                                     | 1: p 1",
        f"{'One of 1, 2, 3, worst to best':<61}One of 1, 2, 3, worst to best",
    ]
    for call in made.calls():
        assert call.messages[0]["content"].split("\n")[1:4] == [
            f"{k}: p {k}" for k in call.ordering.shown
        ]
    odd = LOOP.replace("label }}", "label }}{{ options[0].score ~ option.label }}")
    one_item = prompt_file(
        "{% if item.topic == 't1' %}" + odd + "{% else %}" + LOOP + "{% endif %}"
    )
    with pytest.raises(
        LabError, match="more than the order"
    ):  # an item between those that are proved
        list(own_plan(one_item, items=5).calls())


PAIR = "{{ instruction }}{% for r in responses %}\n[{{ r.label }}] {{ r.text }}{% endfor %}"
CRITERIA = "{{ response }}{% for c in criteria %}\n- {{ c.name }}: {{ c.description }}{% endfor %}"


@pytest.mark.parametrize(
    ("reorder", "text", "answer"),
    [
        ("options", LOOP, {}),
        ("options", LOOP, {"read": "last_label"}),
        ("options", LOOP, {"read": "json", "path": "a.score"}),
        ("options", LOOP, {"read": "tag", "path": "score"}),
        ("options", LOOP, {"read": "pattern", "pattern": r"(?:rating|score):\s*\[\[(\d+)\]\]"}),
        ("bare", "{{ response }} {{ criterion.name }}", {"read": "json", "path": "score"}),
        ("criteria", CRITERIA, {}),
        ("criteria", CRITERIA, {"read": "json", "path": "scores"}),
        ("criteria", CRITERIA, {"read": "pattern", "pattern": r"{criterion} = (\d)"}),
        ("pairs", PAIR, {"read": "pattern", "pattern": r"\[\[(\w)\]\]"}),
        ("pairs", PAIR, {"read": "last_label", "labels": ["m", "M"]}),
        ("lists", PAIR, {}),
    ],
)
def test_replies_in_the_form_of_each_rule_are_read_on_all_axes(
    reorder: str, text: str, answer: dict[str, Any]
) -> None:
    made = own_plan(prompt_file(text, **answer), reorder=reorder, k=2, judges=[SIMULATED])
    judge = SimulatedJudge(made.study.judges[0], made.rubric)
    for call in made.calls():
        reply = judge.answer(call)
        outcomes = made.parse(call, reply)
        assert {outcome.status for outcome in outcomes} == {Status.OK}, reply.text
        if (
            reorder == "options"
        ):  # the label that the reply names, at the position where it was shown
            (outcome,) = outcomes
            assert call.ordering.labels[outcome.position - 1] in reply.text
            assert call.ordering.shown[outcome.position - 1] == outcome.score
    cut = made.parse(call, Reply(reply.text, "length"))
    assert {outcome.status for outcome in cut} == {Status.TRUNCATED}


def test_several_files_are_a_factor_and_another_prompt_is_another_run() -> None:
    first, second = (
        prompt_file(LOOP),
        prompt_file(LOOP + "Be strict.").model_copy(update={"name": "strict"}),
    )
    made = own_plan(first, second)
    assert [condition.variant for condition in made.conditions] == [
        {"prompt": "mine"},
        {"prompt": "strict"},
    ]
    sent = {
        made.conditions[call.condition].variant["prompt"]: call.messages[0]["content"]
        for call in made.calls()
    }
    assert [sent[name].endswith("Be strict.") for name in ("mine", "strict")] == [False, True]
    alone, other = own_plan(first), own_plan(prompt_file(LOOP, read="last_label"))
    assert (
        len(
            {
                made.identity,
                alone.identity,
                other.identity,
                own_plan(prompt_file(LOOP + " ")).identity,
            }
        )
        == 4
    )
    assert own_plan(first).identity == alone.identity
    with pytest.raises(LabError, match="cannot list responses"):
        own_plan(first, reorder="responses")


@pytest.mark.parametrize(("ask", "field"), [("schema", "response_format"), ("tool", "tools")])
def test_a_server_is_held_to_the_labels(ask: str, field: str) -> None:
    made = own_plan(prompt_file(LOOP, read="json", path="score", ask=ask))
    call = next(made.calls())
    body = request_body(JudgeSettings.model_validate(API.model_dump()), call)
    assert '{"enum": [1, 2, 3]}' in json.dumps(body[field]).replace("2, 1, 3", "1, 2, 3")


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("reply", "rule", "label"),
    [
        *CASES["by rule"],
        ('{"' * 49_500, {"read": "json", "path": "score"}, None),
        ('{"a":' * 20_000, {"read": "json", "path": "score"}, None),
        ("5" + " " * 99_000 + "x", {"read": "pattern", "pattern": r"(\d)\s*$"}, None),
    ],
)
def test_an_answer_is_read_by_its_rule_or_not_at_all(
    reply: str, rule: dict[str, Any], label: str | None
) -> None:
    index = read_answer(reply, AnswerPart.model_validate(rule), FIVE)
    assert (None if index is None else FIVE[index]) == label


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"Score: ([ab])", "no reply can give the label “1”"),
        (r"(a)(b)", "2 groups; expected one"),
        (r"\d", "0 groups"),
        (r"(", "missing \\)"),
        (r"(?=x)(\d)", "no look-around"),
    ],
)
def test_a_pattern_that_can_give_no_label_is_refused_with_the_cure(
    pattern: str, words: str
) -> None:
    with pytest.raises(LabError, match=words):
        own_plan(prompt_file(LOOP, read="pattern", pattern=pattern))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("messages = 3", "messages"),
        ('[[messages]]\ntext = "a"\nrole = "judge"', "role is 'judge'"),
        ('[[messages]]\ntext = "a"\n[answer]\nread = "json"', 'needs path = "score"'),
        ('[[messages]]\ntext = "a"\n[answer]\nask = "tool"', 'set read = "json"'),
        ("\0", "not valid TOML"),
    ],
)
def test_a_prompt_file_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        read_prompt(text, "judge.toml")


# ---------------------------------------------------------------- from a study file

ROWS = (
    'id,question,answer,channel\n1,How long to boil an egg?,"Six minutes, then cool it in '
    'water.",mail\n2,Is it going to rain?,"Yes, take a coat, and '
    'hurry.\nIt pours.",chat\n'
)
PASTED = (
    'Q: Is it going to rain?\nA: "Yes, take a coat, and hurry.\nIt pours."\n\nScore 2: '
    "good\nScore 1: bad\n\nAnswer with "
    "<score>N</score>.\n"
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pasted", "prompt", "words"),
    [
        (PASTED, "row = 2", ""),
        (PASTED, "", ""),
        (PASTED.replace("\n", "\r\n"), "row = 2", ""),
        (PASTED, "row = 1", "is not in this prompt"),
        (PASTED, "row = 3", "have 2 rows"),
        (PASTED.replace("coat", "hat"), "", "The texts of no row are in this prompt"),
        (PASTED.replace("coat,", "coat, "), "row = 2", "line 2 with other blanks"),
        (PASTED + "Sent by chat.", "row = 2", "perhaps by chance"),
        (PASTED + "Sent by chat.", 'row = 2\ncolumns = ["channel"]', ""),
        (PASTED + "Sent by chat.", "row = 2\ncolumns = []", ""),
        (PASTED.replace("Score ", "Step "), "row = 2", "No list of this prompt"),
        (PASTED.replace("Score ", "Step "), "row = 2\nlines = [5, 6]", ""),
        (
            PASTED + "\nLevel 1: rude\nLevel 2: kind\n",
            "row = 2",
            "Several lists may be the scores: lines 5 to 6, 10 to 11",
        ),
        (PASTED.replace("2: good", "A: good").replace("1: bad", "B: bad"), "row = 2", "best"),
    ],
)
def test_a_study_takes_a_pasted_prompt_apart_or_says_why_not(
    tmp_path: Path, pasted: str, prompt: str, words: str
) -> None:
    (tmp_path / "rows.csv").write_text(ROWS, "utf-8")
    (tmp_path / "prompt.txt").write_bytes(pasted.encode())
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "n"\n[[data]]\nfile = "rows.csv"\ncolumns = { response = "answer", instruction = '
        '"question" }\n'
        f'[prompt]\npasted = "prompt.txt"\n{prompt}\n[[judges]]\nname = "s"\nkind = "simulated"\n'
    )
    if words:
        with pytest.raises(LabError, match=words):
            plan_of_file(study)
        return
    made = plan_of_file(study)
    first = made.previews()[0]  # of the row that it was sent for, in its own order
    assert (first.ordering.shown, first.messages[0]["content"]) == ((2, 1), pasted)
    other = next(
        call for call in made.calls() if call.ordering.shown == (1, 2) and call.items == (0,)
    )
    assert "egg" in other.messages[0]["content"]
    assert re.search("1: bad.*2: good", other.messages[0]["content"], re.S)
    assert made.try_reply("so <score>1</score>") == {"status": "ok", "read": "1"}


def test_of_rows_with_one_answer_the_one_whose_texts_stand_in_a_pasted_prompt_is_taken(
    tmp_path: Path,
) -> None:
    answer = "The coat is warm and was sent on Monday."
    rows = "".join(
        f"{k},{question},{answer}\n"
        for k, question in enumerate(("Is it blue?", "Is it warm?", "Is it warm?"))
    )
    (tmp_path / "rows.csv").write_text(f"id,instruction,response\n{rows}", "utf-8")
    (tmp_path / "prompt.txt").write_text(
        f"Is it warm?\n{answer}\nScore 2: good\nScore 1: bad\n", "utf-8"
    )
    data, judge = '[[data]]\nfile = "rows.csv"', '[[judges]]\nname = "s"\nkind = "simulated"'
    (tmp_path / "study.toml").write_text(
        f'name = "n"\n{data}\n[prompt]\npasted = "prompt.txt"\n{judge}\n', "utf-8"
    )
    sent = {
        call.messages[0]["content"].partition("\n")[0]
        for call in plan_of_file(tmp_path / "study.toml").calls()
    }
    assert sent == {"Is it blue?", "Is it warm?"}


@pytest.mark.thorough
def test_a_run_by_an_own_prompt_goes_to_its_end_and_into_a_card_that_asks_the_same(
    tmp_path: Path,
) -> None:
    judge = Planted()
    judge.reply = lambda body, plain=judge.reply: f'{{"score": {plain(body)}}}'  # type: ignore[method-assign]
    text = (
        "{{ instruction }}\n{{ response }}\n{% for o in options %}Score {{ o.label }}: {{ "
        "o.description }}\n{% endfor "
        "%}"
    )
    answer = '[answer]\nread = "json"\npath = "score"\nask = "schema"\n'
    (tmp_path / "judge.toml").write_text(f"[[messages]]\ntext = '''{text}'''\n{answer}", "utf-8")
    with serving(judge) as address:
        study = written(tmp_path, address, items=10)
        study.write_text(study.read_text("utf-8") + '[prompt]\nfiles = ["judge.toml"]\n', "utf-8")
        run = rl.run(study, tmp_path / "lab.duckdb")
        assert (run.info().state, len(judge.bodies)) == ("finished", 200)
        assert all(
            body["response_format"]["json_schema"]["schema"]["required"] == ["score"]
            for body in judge.bodies
        )
        (tmp_path / "judge.toml").unlink()  # the run holds its prompt
        assert run.plan is not None
        sent = {json.dumps(body["messages"]) for body in judge.bodies}
        assert {json.dumps(call.messages) for call in run.plan.calls()} == sent
        card = run.export(tmp_path / "x.card.json", protocol="average of orders")
        scored = rl.Judge(card, client=openai.OpenAI(base_url=address, api_key="x")).score(item(3))
        assert {json.dumps(body["messages"]) for body in judge.bodies[200:]} <= sent
        assert (len(scored.calls), scored.unparsed) == (10, 0)
        run.close()


ALONE = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
"""Jinja2 by itself: what a template gives back must not rest on the lab's own rendering."""


@pytest.mark.parametrize(
    ("prompt", "text", "spans"),
    [
        ("Rate: An answer. Again: An answer.", "An answer.", ["An answer.", "An answer."]),
        (
            "Rate\n- One  line.\n- two\twords\n3) and more!",
            "One line. two words\nand more",
            ["One  line.\n- two\twords\n3) and more"],
        ),
        ('<answer>"Yes,\r\nit is"</answer>', "  Yes, it is\n", ["Yes,\r\nit is"]),
        ("14 of 4, 40", "4", ["4"]),
        ("One line, two", "One line. two", []),
        ("anything", " ", []),
    ],
)
def test_a_text_is_located_across_line_breaks_and_list_marks_or_not(
    prompt: str, text: str, spans: list[str]
) -> None:
    assert [prompt[start:end] for start, end in locate(prompt, text)] == spans


@pytest.mark.parametrize(
    "prompt",
    [
        "a{{ x }}{% if %}{# c #}{{{",
        "{\r\nANSWER\r\n",
        "ANSWER{",
        "{ANSWER}\n",
        "\rANSWER",
        '"{-%}ANSWER{%- \\n',
    ],
)
def test_a_template_gives_any_sign_back(prompt: str) -> None:
    slots = [(*span, "response") for span in locate(prompt, "ANSWER")]
    assert ALONE.from_string(template_text(prompt, slots)).render(response="ANSWER") == prompt


def test_texts_inside_each_other_are_refused() -> None:
    with pytest.raises(LabError, match="overlap at line 2"):
        template_text("a\nbcd", [(2, 5, "response"), (3, 4, "instruction")])


LISTS = json.loads((Path(__file__).parents[1] / "golden" / "replies.json").read_text("utf-8"))[
    "lists in prompts"
]
"""Prompts, the labels of the list of scores in each, and their texts."""


@pytest.mark.parametrize(("prompt", "labels", "texts"), LISTS)
def test_the_list_of_scores_comes_first_and_its_entries_move_whole(
    prompt: str, labels: list[str], texts: list[str]
) -> None:
    listed = lists_in(prompt)[0]
    assert [prompt[slice(*span)] for span in listed.labels] == labels
    assert [prompt[slice(*span)] for span in listed.texts] == texts
    slots = [(*span, f"labels[{k}]") for k, span in enumerate(listed.labels)]
    slots += [(*span, f"texts[{k}]") for k, span in enumerate(listed.texts) if span[0] < span[1]]
    template = ALONE.from_string(template_text(prompt, slots))
    assert template.render(labels=labels, texts=texts) == prompt
    swapped = template.render(labels=labels[::-1], texts=texts[::-1])
    again = lists_in(swapped)[0]
    assert [swapped[slice(*span)] for span in again.labels + again.texts] == labels[::-1] + texts[
        ::-1
    ]


# ---------------------------------------------------------------- twenty public prompts

PUBLIC = tomllib.loads(
    (Path(__file__).parent / "public_prompts" / "prompts.toml").read_text("utf-8")
)
TEXTS = {
    "instruction": 'My parcel says "delivered" {but} nothing is here.\nWhat now?',
    "response": "I am sorry to hear that!\n\n1. Ask your neighbours.\n2. Score 5: write to us.",
    "reference": "Ask the neighbours first; after a day, write to us.",
    "first": "Ask your neighbours, then write to us.",
    "second": "{{ I do not know }} & neither does <anybody>.",
}
ROW = Item(
    "2",
    TEXTS["response"],
    TEXTS["instruction"],
    TEXTS["reference"],
    columns={"stars": "4", "channel": "mail"},
)
COMPARED = Comparison(
    "p",
    "",
    TEXTS["instruction"],
    answers=(Item("b", TEXTS["second"], candidate="a"), Item("a", TEXTS["first"], candidate="b")),
)


def sent(name: str) -> tuple[str, list[str]]:
    """(a public prompt with the row's texts in it, as it is pasted; its messages)."""
    entry = PUBLIC[name]
    parts = [entry[role] for role in ("system", "user") if role in entry]
    contents = [re.sub("«(\\w+)»", lambda mark: TEXTS[mark[1]], part) for part in parts]
    messages = [
        {"role": role, "content": text}
        for role, text in zip(("system", "user"), contents, strict=False)
    ]
    return (json.dumps(messages) if len(contents) > 1 else contents[0]), contents


def taken(name: str) -> Pasted:
    entry = PUBLIC[name]
    part = PromptPart(pasted="p", lines=entry.get("lines"), best=entry.get("best", ""))
    return from_text(
        sent(name)[0], COMPARED if entry["axis"] == "pairs" else ROW, entry["axis"], None, part
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in PUBLIC if "refused" not in PUBLIC[name]])
def test_a_public_prompt_becomes_a_template_that_gives_it_back_and_reads_its_replies(
    name: str,
) -> None:
    entry, pasted = PUBLIC[name], taken(name)
    axis, answer = entry["axis"], pasted.prompt.answer
    names: dict[str, Any] = {key: TEXTS[key] for key in ("instruction", "response", "reference")}
    names["item"] = ROW.columns
    names["responses"] = [{"text": TEXTS["first"]}, {"text": TEXTS["second"]}]
    labels: tuple[str, ...] = answer.labels or ("A", "B", "C")
    if axis != "pairs":
        assert pasted.rubric is not None
        options = {option.score: option for option in pasted.rubric.criteria[0].options}
        labels = tuple(option.shown_label for option in options.values())
        names["options"] = [
            {"label": options[int(k)].shown_label, "description": options[int(k)].description}
            for k in pasted.prompt.order
        ]
        assert [option["label"] for option in names["options"]] == entry.get("labels", [])
        assert list(options) == entry.get("scores", sorted(map(int, pasted.prompt.order)))
    rendered = [ALONE.from_string(message.text).render(names) for message in pasted.prompt.messages]
    assert rendered == sent(name)[1]
    for reply, *expected in entry["replies"]:
        index = read_answer(reply, answer, labels, chooses=axis == "pairs", tie=True)
        score = (
            None if index is None else (index + 1) % 3 if axis == "pairs" else list(options)[index]
        )
        assert score == (expected[0] if expected else None), reply


@pytest.mark.parametrize("name", [name for name in PUBLIC if "refused" in PUBLIC[name]])
def test_two_of_the_twenty_are_refused_with_the_reason(name: str) -> None:
    assert len(PUBLIC) == 20
    with pytest.raises(LabError, match=PUBLIC[name]["refused"]):
        taken(name)
