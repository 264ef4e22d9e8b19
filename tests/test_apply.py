"""A judge card in a pipeline: the lab's own prompts and reads, deterministic, and nothing dropped."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import openai
import pytest

from rubriclab import apply
from rubriclab.apply.judge import CardJudge
from rubriclab.judges.request import request_body
from rubriclab.model import (
    Call,
    Comparison,
    Criterion,
    Dataset,
    Design,
    Item,
    Outcome,
    Reply,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
)
from rubriclab.model.prompt import AnswerRule, PromptMessage, PromptTemplate
from rubriclab.runs.card_code import copied, zipped
from rubriclab.study.plan import Plan, plan
from tests.cards import API, Opinionated, asked, card_of_study, example, item_value, lab_scores
from tests.labkit import criterion, study
from tests.servers import FaultServer, SteadyServer, completion, running, token_entry

BALANCED = (Strategy("balanced"),)
OWN = (
    PromptMessage("system", "You are strict."),
    PromptMessage(
        "user",
        "{{ item.topic }}: {{ instruction }}\n{{ response }}\n{% for o in options %}{{ o.label }}) {{ o.description }}\n"
        "{% endfor %}One of {{ labels | join(', ') }}{% if reference %} like {{ reference }}{% endif %}",
    ),
)
PAIRED = (
    PromptMessage(
        "user",
        "{{ instruction }}\n{% for r in responses %}[{{ r.label }}] {{ r.text }}\n{% endfor %}{{ labels | join('/') }}",
    ),
)
LISTED = (
    PromptMessage(
        "user", "{{ response }}\n{% for c in criteria %}- {{ c.name }}: {{ c.description }}\n{% endfor %}{{ labels }}"
    ),
)
RULES = {
    "label": AnswerRule("label"),
    "last label": AnswerRule("last_label"),
    "regex": AnswerRule("regex", pattern=r"Score:\s*(\S+)"),
    "json": AnswerRule("json", path="verdict.score", ask="schema"),
    "tag": AnswerRule("tag", tag="score"),
}


def words(n: int) -> Criterion:
    """Labels of half points and words."""
    labels = ("poor", "1.5", "good", "very good", "best")
    return Criterion("tone", tuple(ScoreOption(s, f"is {s}", labels[s - 1]) for s in range(1, n + 1)), "how it sounds")


def options_study(*, rubric: Criterion | None = None, rule: AnswerRule | None = None, **design: Any) -> Study:
    items = tuple(
        Item(f"i{k}", f"task {k}", f"text {k}", references={5: f"ideal {k}"}, columns={"topic": f"topic {k}"})
        for k in range(3)
    )
    prompts = () if rule is None else (PromptTemplate("mine", OWN, rule),)
    return Study(
        "options",
        Dataset("d", items),
        (API,),
        Design(strategies=BALANCED, **design),
        Rubric("r", (rubric or criterion(5),)),
        prompts,
    )


def pairs(
    *, tie: bool = True, template: str | None = None, answer: Any = "feedback", rule: AnswerRule | None = None
) -> Study:
    items = tuple(
        Comparison(
            f"q{k}", (f"first {k}", f"then {k}"), ("x", "y"), ((f"x{k}", f"xx{k}"), (f"y{k}", f"yy{k}")), task="chat"
        )
        for k in range(3)
    )
    prompts = () if rule is None else (PromptTemplate("mine", PAIRED, rule),)
    design = Design(axis="pairwise", strategies=BALANCED, tie=tie, template=template, answer=answer)
    return Study("pairs", Dataset("p", items), (API,), design, prompts=prompts)


def texts(rule: AnswerRule | None = None) -> Study:
    items = tuple(
        Item(f"i{k}-{name}", "task", f"text {k}", criterion=name, block=f"b{k}")
        for k in range(3)
        for name in ("a", "b", "c")
    )
    prompts = () if rule is None else (PromptTemplate("mine", LISTED, rule),)
    rubric = Rubric("r", tuple(criterion(5, name) for name in ("a", "b", "c")))
    return Study("criteria", Dataset("d", items), (API,), Design(axis="criteria", strategies=BALANCED), rubric, prompts)


FORMS: Mapping[str, Study] = {
    "score": options_study(),
    "feedback": options_study(answer="feedback"),
    "no reference": options_study(show_reference=False),
    "a reference of a factor": options_study(factors={"reference": (5,)}),
    "letters": options_study(factors={"ids": ("letters",)}),
    "labels of words": options_study(rubric=words(5)),
    "another scale": options_study(factors={"scale": (3,)}),
    **{f"own prompt, {name}": options_study(rule=rule) for name, rule in RULES.items()},
    "pairs, mtbench": pairs(),
    "pairs, devbench, no tie": pairs(template="devbench", tie=False),
    "pairs, brief": pairs(answer="score"),
    "pairs, own prompt": pairs(rule=AnswerRule("json", path="winner")),
    "criteria": texts(),
    "criteria, own prompt": texts(AnswerRule("json", path="scores.{criterion}", ask="tool")),
}
REPLIES = (
    "3",
    "B",
    "ii",
    "good",
    "Feedback: fine. [RESULT] 4",
    "Score: 2 of 5, no: Score: 3",
    '<think>5</think>{"verdict": {"score": 4}}',
    "<score>1.5</score>",
    '{"winner": "A"}',
    '{"winner": "tie"}',
    '{"scores": {"a": 1, "b": 5, "c": 9}}',
    "[a] 3\n[b] 4/5\n[c] 2",
    "My final verdict: [[B]]",
    "[[C]]",
    "Choice: A\nReason: 1. …",
    "I'm sorry, but I cannot rate this.",
    "3 or 4",
    "",
)


def answer(call: Call) -> str:
    """Something that the form of any study reads."""
    shown = call.ordering.shown
    if call.scores:
        body = {str(name): 1 + (len(str(name)) + k) % 5 for k, name in enumerate(shown)}
        return f'{{"scores": {body}}}'.replace("'", '"') + "".join(f"\n[{n}] {s}" for n, s in body.items())
    label = asked(call)
    rule = call.reading.rule.read if call.reading else ""
    said = {"json": f'{{"verdict": {{"score": "{label}"}}, "winner": "{label}"}}', "tag": f"<score>{label}</score>"}
    fits = {"regex": f"Score: {label}"} | said
    if "mtbench" in call.template:
        return f"[[{label}]]"
    return fits.get(rule, f"Feedback: so so. [RESULT] {label}" if "prometheus" in call.template else label)


QUICK = ("score", "own prompt, json", "pairs, mtbench", "criteria")
"""One of each axis, and one own prompt; the others take their time."""


@pytest.mark.parametrize("form", [f if f in QUICK else pytest.param(f, marks=pytest.mark.slow) for f in FORMS])
def test_prompts_and_reads_are_the_labs_own_in_every_form(form: str) -> None:
    about = FORMS[form]
    judge = apply.load(card_of_study(about, answer), client=lambda _: completion("3"))
    prepared = plan(about)
    for unit in prepared.units:
        item = prepared.study.dataset.items[unit.items[0]]
        for call in prepared.calls_about(unit.items[0], arm=0):
            names = item.candidates if isinstance(item, Comparison) else ()
            order = tuple(names.index(str(n)) + 1 for n in call.ordering.shown) if names else call.ordering.shown
            mine = own_call(judge, item, order)
            assert request(judge, mine) == request_body(prepared.study.judges[0], call) | {
                "messages": list(call.messages)
            }
            for text in REPLIES:
                reply = Reply(text=text, top_tokens=(("3", -0.5), ("A", -1.2), ("B", -2.0), ("1", -2.5)))
                assert read(judge, mine, reply) == lab_read(prepared, call, reply, names)


def own_call(judge: CardJudge, item: Item | Comparison, order: tuple[int | str, ...]) -> Call:
    """The call that the judge makes for one order."""
    alone = replace(judge.cure, orders=(order,), draw=None, disagree=None, correction=None)
    steps = CardJudge(judge.card, alone, judge._send, 1)._steps(item_value(item))
    (call,) = next(steps)
    return call


def request(judge: CardJudge, call: Call) -> dict[str, Any]:
    return judge._body(call)


def read(judge: CardJudge, call: Call, reply: Reply) -> Any:
    mine = judge._read(call, reply)
    if judge.card.axis == "criteria":
        return mine.status, dict(mine.criteria), mine.kind
    return mine.status, mine.score, mine.expected, mine.kind


def lab_read(prepared: Plan, call: Call, reply: Reply, names: tuple[str, ...]) -> Any:
    outcomes: tuple[Outcome, ...] = prepared.read(call, reply).outcomes
    if call.scores:
        bad = next((one for one in outcomes if one.status != "ok"), outcomes[0])
        scores = {
            str(name): None if one.score is None else float(one.score)
            for name, one in zip(call.ordering.shown, outcomes, strict=True)
        }
        return bad.status, scores, bad.kind
    (one,) = outcomes
    score: float | None = None if one.score is None else float(one.score)
    if names and one.position is not None:
        score = float(names.index(str(call.ordering.shown[one.position - 1])) + 1) if one.position else 0.0
    return one.status, score, one.expected, one.kind


# ---------------------------------------------------------------- end to end


@pytest.mark.slow
@pytest.mark.parametrize("cure", ["all-10", "orders-3", "usual"])
def test_ten_items_of_the_recorded_example_get_the_labs_scores(cure: str) -> None:
    card, about = example()
    ten = list(range(10))
    items = [item_value(about.dataset.items[k]) for k in ten]
    with running(Opinionated()) as server:
        judge = apply.load(card, base_url=server.base_url, cure=cure)
        expected = asyncio.run(lab_scores(about, server.base_url, ten, {tuple(o) for o in judge.cure.orders}))
        judged = judge.scores(items, concurrency=4)
        later = asyncio.run(judge.ascores(items, concurrency=3))
        most = server.most_in_flight
    assert [(one.score, one.expected) for one in judged] == [
        (pytest.approx(score), pytest.approx(mean)) for score, mean in expected
    ]
    assert later == judged
    assert most <= 4
    assert all(len(one.reads) == len(judge.cure.orders) and one.unread == 0 for one in judged)


@pytest.mark.slow
def test_an_openai_client_asks_the_same() -> None:
    card, about = example()
    item = item_value(about.dataset.items[0])
    with running(Opinionated()) as server:
        plain = apply.load(card, base_url=server.base_url).score(item)
        with openai.OpenAI(api_key="none", base_url=server.base_url) as client:
            assert apply.load(card, client=client).score(item) == plain

        async def asynchronous() -> apply.Judged:
            async with openai.AsyncOpenAI(api_key="none", base_url=server.base_url) as client:
                judge = apply.load(card, client=client)
                with pytest.raises(apply.CardError, match="ascore"):
                    judge.score(item)
                return await judge.ascore(item)

        assert asyncio.run(asynchronous()) == plain


@pytest.mark.slow
def test_the_copy_needs_the_standard_library_alone_and_scores_the_same(tmp_path: Path) -> None:
    card, about = example()
    item = item_value(about.dataset.items[0])
    (tmp_path / "judge.card.json").write_text(apply.dumped(card), encoding="utf-8")
    (tmp_path / "taken.zip").write_bytes(zipped("taken"))
    with running(Opinionated()) as server:
        here = apply.load(card, base_url=server.base_url).score(item)
        program = (
            "import sys, json; sys.path.insert(0, 'taken.zip')\n"
            "from taken import apply\n"
            f"judged = apply.load('judge.card.json', base_url={server.base_url!r}).score(json.load(sys.stdin))\n"
            "lab = [m for m in sys.modules if m.split('.')[0] in ('rubriclab', 'numpy', 'aiohttp', 'jinja2')]\n"
            "print(json.dumps([judged.score, judged.expected, judged.low, lab]))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program.replace("'taken.zip'", repr(str(tmp_path / "taken.zip")))],
            input=json.dumps(item),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.stderr == ""
    assert done.stdout.strip() == json.dumps([here.score, here.expected, here.low, []])


def test_the_copy_holds_the_labs_modules_word_for_word() -> None:
    files = copied("mine")
    package = Path(apply.__file__).parents[1]
    for inside in ("study/prompts/parse.py", "study/prompts/outcomes.py", "model/answers.py", "apply/judge.py"):
        original = (package / inside).read_text(encoding="utf-8")
        assert files[inside].replace("from mine.", "from rubriclab.") == original
    assert not any("from rubriclab." in text or "from rubriclab import" in text for text in files.values())
    with pytest.raises(apply.CardError.__mro__[1], match="no name"):
        copied("not a name")


# ---------------------------------------------------------------- what a judge does


@cache
def simple() -> dict[str, Any]:
    return card_of_study(study(3, judges=(API,), strategies=BALANCED), asked)


def test_unread_replies_are_reported_and_never_dropped() -> None:
    replies = iter(["4", "no idea", "", "2", *["3"] * 6])
    judged = apply.load(simple(), client=lambda _: completion(next(replies))).score({"response": "x"})
    assert [read.status for read in judged.reads] == ["ok", "unparsed", "unparsed", *["ok"] * 7]
    assert judged.reads[1].text == "no idea"
    assert (judged.unread, judged.n, judged.score) == (2, 8, 3.0)
    assert judged.note == "2 of 10 replies gave no answer"
    assert judged.low is not None
    assert judged.high is not None
    assert judged.low < 3.0 < judged.high


def test_nothing_read_is_no_score() -> None:
    judged = apply.load(simple(), client=lambda _: completion("well")).score({"response": "x"})
    assert (judged.score, judged.low, judged.unread) == (None, None, 10)


def test_faults_are_asked_again_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rubriclab.apply.judge.pause", waits.append)
    with running(FaultServer(rule=lambda _, nth: "unavailable" if nth in (0, 2, 3) else None)) as server:
        judged = apply.load(simple(), base_url=server.base_url, cure="orders-2").score({"response": "x"})
    assert [read.attempts for read in judged.reads] == [2, 3]
    with running(SteadyServer()) as server:
        url = server.base_url
    judged = apply.load(simple(), base_url=url, cure="usual").score({"response": "x"})
    (read,) = judged.reads
    assert (read.status, read.kind, read.attempts) == ("error", "connect", 3)
    assert waits[-2:] == [0.5, 1.0]


def test_what_a_client_raises_is_the_fault_of_that_call() -> None:
    def broken(_: dict[str, Any]) -> Any:
        raise RuntimeError("sk-abcdefghijkl is wrong")

    judged = apply.load(simple(), client=broken, cure="usual").score({"response": "x"})
    assert judged.reads[0].kind == "code_error"
    assert "abcdefghijkl" not in str(judged)


def test_drawn_orders_are_the_same_for_the_same_text() -> None:
    about = study(6, judges=(API,), strategies=(Strategy("random", reads=4),))
    judge = apply.load(card_of_study(about, asked), client=lambda _: completion("3"), cure="drawn-2")
    first, again = judge.orders({"response": "x"}), judge.orders({"response": "x", "topic": "new"})
    assert first == again
    assert len({judge.orders({"response": str(k)}) for k in range(20)}) > 10
    assert len(judge.score({"response": "x"}).reads) == 2


@pytest.mark.slow
def test_a_corrected_call_divides_the_prior_out() -> None:
    card, _ = example()
    correction = next(cure for cure in card["cures"] if cure["key"] == "corrected")["correction"]
    chances = [0.1, 0.2, 0.3, 0.15, 0.25]
    reply = completion("3", logprobs=[token_entry("3", {str(k + 1): log(p) for k, p in enumerate(chances)})])
    judged = apply.load(card, client=lambda _: reply, cure="corrected").score({"response": "x"})
    fair = [p / q for p, q in zip(chances, correction["prior"], strict=True)]
    mean = sum(s * p for s, p in zip(range(1, 6), fair, strict=True)) / sum(fair)
    line = correction["line"]
    assert judged.expected == pytest.approx(line["from"] + line["slope"] * (mean - line["at"]))
    assert judged.score == 1 + max(range(5), key=lambda k: fair[k])


@cache
def repeated_pairs() -> dict[str, Any]:
    return card_of_study(replace(pairs(), design=replace(pairs().design, repeats=3)), answer)


@pytest.mark.parametrize(
    ("cure", "replies", "winner", "calls"),
    [
        ("swapped-tie", ["[[A]]", "[[B]]"], 1, 2),
        ("swapped-tie", ["[[A]]", "[[A]]"], 0, 2),
        ("swapped-tie", ["[[C]]", "[[A]]"], 2, 2),
        ("swapped-third", ["[[A]]", "[[B]]"], 1, 2),
        ("swapped-third", ["[[A]]", "[[A]]", "[[A]]"], None, 3),
    ],
)
def test_two_swapped_calls_that_differ(cure: str, replies: list[str], winner: int | None, calls: int) -> None:
    said = iter(replies)
    item = {"instruction": "q", "responses": ["one", "two"]}
    judged = apply.load(repeated_pairs(), client=lambda _: completion(next(said)), cure=cure).score(item)
    assert len(judged.reads) == calls
    if winner is None:  # the third call says who stood first there
        winner = int(judged.reads[2].order[0])
    assert judged.winner == winner


def test_a_prompt_of_ones_own_needs_jinja_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made = card_of_study(options_study(rule=AnswerRule("label")), answer)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(apply.CardError, match="pip install jinja2"):
        apply.load(made, client=lambda _: completion("3"))
    assert apply.load(simple(), client=lambda _: completion("3")).score({"response": "x"}).score == 3.0


def test_items_that_cannot_be_judged_are_refused_in_words() -> None:
    judge = apply.load(simple(), client=lambda _: completion("3"))
    for item, why in (
        ({}, "no “response”"),
        ({"response": ["x"]}, "expected text"),
        ({"response": "x", "criterion": "other"}, "no criterion “other”"),
        ({"response": float("nan")}, "no “response”"),
        ({"response": 10**5000}, "too many digits"),
        ({"response": "x", "columns": [1]}, "texts by name"),
        ("x", "is a mapping"),
    ):
        with pytest.raises(apply.ItemError, match=why):
            judge.score(item)  # type: ignore[arg-type]
