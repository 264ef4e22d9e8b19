"""Check that a card asks what was measured, and refuses what it cannot promise."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

import rubriclab as rl
from rubriclab.api import Run
from rubriclab.exports.table import document
from rubriclab.measures.advice import advice_of
from rubriclab.model.judgment import RULES
from rubriclab.model.text import digest
from tests.apply.kit import CRITERIA, Planted, item, serving, written
from tests.judges.kinds_kit import http_kind
from tests.servers import DecisionServer, running

__all__ = ["http_kind"]

ITEMS = 40
Served = tuple[Run, Planted, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A finished run of 40 answers in ten orders, each twice, its judge and the address where that
    still answers.
    """
    judge, folder = Planted(), tmp_path_factory.mktemp("served")
    with serving(judge) as address:
        run = rl.run(written(folder, address), folder / "lab.duckdb")
        yield run, judge, address
        run.close()


def means_of(run: Any) -> np.ndarray:
    """(items,): the mean over all orders."""
    rows = run.table.rows
    return rows.groupby(["item", "ordering"])["score"].mean().groupby("item").mean().to_numpy()


HOWS = [
    ({"protocol": "one order"}, 1),
    ({"protocol": "average of orders"}, 10),
    ({"margin": 0.6}, None),
    ({}, None),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("how", "calls"), HOWS)
def test_every_score_lies_as_far_as_the_card_says(
    served: Served, tmp_path: Path, how: dict[str, Any], calls: int | None
) -> None:
    run, asked, address = served
    path = run.export(tmp_path / "x.card.json", **how)
    card = json.loads(path.read_text("utf-8"))
    promise = card["promise"]
    assert calls in (None, card["protocol"]["calls"])
    if "margin" in how:
        assert promise["high"] <= how["margin"] < promise["one_order"], "one order would not do"
    for secret in (address, "base_url", "key_env"):
        assert secret not in path.read_text("utf-8")
    judge = rl.Judge(path, client=openai.OpenAI(base_url=address, api_key="x"))
    before, truth = len(asked.bodies), means_of(run)
    scored = judge.scores(item(k) for k in range(ITEMS))
    assert len(asked.bodies) - before == ITEMS * card["protocol"]["calls"]
    away = np.array([one.value for one in scored]) - truth
    # This judge answers a prompt always alike: what was measured is what comes.
    assert float(np.sqrt(np.mean(away**2))) == pytest.approx(promise["distance"], abs=1e-9)
    assert np.abs(away).max() <= promise["margin"] + 1e-9
    assert all(
        one.low - 1e-9 <= own <= one.high + 1e-9 for one, own in zip(scored, truth, strict=True)
    )
    assert {one.unparsed for one in scored} == {0}
    # Each request was one of the run's own, sign for sign, with all its settings.
    measured = {json.dumps(body) for body in asked.bodies[:before]}
    assert {json.dumps(body) for body in asked.bodies[before:]} <= measured


@pytest.mark.integration
def test_the_noise_of_calls_is_promised_too(tmp_path: Path) -> None:
    """A fifth of the calls are drawn anew, 3 on average: fresh calls lie as far from the judge's
    mean as the run said.
    """
    judge, steady = Planted(noise=0.2), Planted()
    with serving(judge) as address:
        run = rl.run(written(tmp_path, address), tmp_path / "lab.duckdb")
        assert run.plan is not None
        scores: dict[int, list[float]] = {k: [] for k in range(ITEMS)}
        for call in run.plan.calls():
            scores[call.items[0]].append(
                0.8 * float(steady.reply({"messages": call.messages})) + 0.2 * 3
            )
        truth, cards = (
            [np.mean(part) for part in scores.values()],
            [run.card("one order"), run.card("average of orders")],
        )
        wide = run.read_as(smallest=0.6)
        needed = wide.findings.select("calls_needed", protocol=None)[0].value
        within, recommended = (
            card["protocol"]["calls"] for card in (wide.card(margin=0.6), wide.card())
        )
        advised = advice_of(wide.findings, 0).orders
        run.close()
    assert recommended == advised
    # The margin alone takes fewer calls than What helps says: the card asks as many as the page
    # recommends.
    assert within < recommended == min(needed, 10)
    for card in cards:
        scored = [
            rl.Judge(card, judge.completion).scores(item(k) for k in range(ITEMS)) for _ in range(5)
        ]
        away = np.array([[one.value for one in part] for part in scored]) - truth
        promise = card["promise"]
        assert float(np.sqrt(np.mean(away**2))) == pytest.approx(promise["distance"], rel=0.1)
        assert promise["low"] < promise["distance"] < promise["high"]
    assert cards[1]["promise"]["distance"] < cards[0]["promise"]["distance"] / 2


def test_clients_of_all_kinds_get_the_same_score(served: Served) -> None:
    run, asked, address = served
    card = run.card("average of orders")
    wanted = rl.Judge(card, openai.OpenAI(base_url=address, api_key="x")).score(item(3))

    async def awaited() -> Any:
        async with openai.AsyncOpenAI(base_url=address, api_key="x") as client:
            judge = rl.Judge(card, client)
            with pytest.raises(rl.LabError, match="is asynchronous"):
                judge.score(item(3))
            return await judge.ascore(item(3))

    assert sorted(call.order for call in asyncio.run(awaited()).calls) == sorted(
        call.order for call in wanted.calls
    )
    for client in (asked.completion, asked.reply):
        made = rl.Judge(card, client).score(item(3))
        assert (made.value, made.calls) == (wanted.value, wanted.calls)
    asked.mute = True
    try:
        muted = rl.Judge(card, asked.completion).score(item(3))
    finally:
        asked.mute = False
    lost = [call for call in muted.calls if call.status == "unparsed"]
    assert 0 < muted.unparsed == len(lost) < 10
    assert {call.reply for call in lost} == {"I would rather not say."}


@pytest.mark.thorough
def test_criteria_have_a_score_each(tmp_path: Path) -> None:
    judge = Planted()
    with serving(judge) as address:
        design = 'reorder = "criteria"'
        run = rl.run(
            written(tmp_path, address, design=design, rubric=CRITERIA, items=12),
            tmp_path / "lab.duckdb",
        )
        scored = rl.Judge(run.card("average of orders"), judge.completion).score(item(2))
        run.close()
    # Quality 3; listed first in a third of the orders, and one more there.
    assert scored.values == {name: pytest.approx(3 + 1 / 3) for name in ("Clarity", "Depth", "Wit")}
    assert scored.value == pytest.approx(3 + 1 / 3)


@pytest.mark.thorough
def test_a_mean_of_all_criteria_needs_each_of_them(tmp_path: Path) -> None:
    """The judge scores Clarity 4 and Depth 2, and never Wit."""
    with serving(Planted()) as address:
        design = 'reorder = "criteria"'
        study = written(tmp_path, address, design=design, rubric=CRITERIA, items=12)
        run = rl.run(study, tmp_path / "lab.duckdb")
        card = run.card("average of orders")
        run.close()
    scored = rl.Judge(card, lambda _: "Scores:\n[Clarity] 4\n[Depth] 2").score(item(2))
    assert scored.values == {"Clarity": 4, "Depth": 2, "Wit": None}
    assert (scored.value, scored.low, scored.high) == (None, None, None)
    assert scored.unparsed == card["protocol"]["calls"]


@pytest.mark.thorough
def test_a_judge_of_this_machine_needs_no_client(tmp_path: Path) -> None:
    study = written(tmp_path, "http://127.0.0.1:1/v1", items=12).read_text("utf-8")
    own = (
        study.split("[[judges]]")[0]
        + '[[judges]]\nname = "made up"\nkind = "simulated"\nmodel = "simulated"\n'
    )
    (tmp_path / "own.toml").write_text(own, "utf-8")
    run = rl.run(tmp_path / "own.toml", tmp_path / "lab.duckdb")
    card = run.card()
    run.close()
    assert card["simulated"] is True
    assert 1 <= (rl.Judge(card).score(item(1)).value or 0) <= 5


def test_a_margin_holds_for_the_upper_end_of_the_error(served: Served) -> None:
    run, _, _ = served
    promise = run.card("one order")["promise"]
    assert promise["distance"] < promise["high"]
    between = (promise["distance"] + promise["high"]) / 2
    with pytest.raises(rl.LabError, match="which is not within"):
        run.card("one order", margin=between)
    assert run.card("one order", margin=promise["high"])["promise"] == promise


def test_the_card_says_the_same_word_as_results(served: Served) -> None:
    run, _, _ = served
    (entry,) = document(run.findings)["ladder"]
    assert run.card("one order")["ladder"] == entry["word"] == "Biased"


@pytest.mark.thorough
def test_what_cannot_be_promised_is_refused(served: Served, tmp_path: Path) -> None:
    run, judge, address = served
    for how, said in (
        ({"protocol": "worst order"}, "Use one order or average"),
        ({"protocol": "best order"}, "chosen on these very answers"),
        ({"protocol": "one order", "margin": 1e-6}, "not within 1e-06"),
        ({"margin": -1.0}, "above 0"),
        ({"judge": "another"}, "Name the one"),
    ):
        with pytest.raises(rl.LabError, match=said):
            run.card(**how)
    elsewhere = run.table.rows.assign(ordering="1 2 3 4 5", item_id=run.table.rows["item"])
    with pytest.raises(rl.LabError, match="judged elsewhere"):
        rl.read(elsewhere[["item_id", "ordering", "score"]]).card()
    once = rl.run(
        written(tmp_path, address, design="repeats = 1", items=12), tmp_path / "lab.duckdb"
    )
    with pytest.raises(rl.LabError, match="No order was asked twice"):
        once.card()
    once.close()
    with pytest.raises(rl.LabError, match="Give client="):
        rl.Judge(run.card())
    with pytest.raises(rl.LabError, match="no response"):
        rl.Judge(run.card(), judge.completion).score({"instruction": "x"})


def test_a_server_that_refuses_a_field_is_asked_without_it_a_refused_key_is_said(
    served: Served,
) -> None:
    run, asked, address = served
    card, key = run.card("one order"), "sk-" + "a1" * 20
    judge = rl.Judge(card, openai.OpenAI(base_url=address, api_key=key))
    wanted = judge.score(item(3))
    asked.refuses = {
        "max_tokens": (
            400,
            "Unsupported parameter: max_tokens. Use max_completion_tokens instead.",
        ),
        "logprobs": (400, "You are not allowed to request logprobs"),
    }
    try:
        assert judge.score(item(3)) == wanted
        asked.refuses = {"messages": (401, f"Incorrect API key provided: {key}")}
        with pytest.raises(rl.LabError, match=r"No call was answered\. HTTP 401") as refused:
            judge.score(item(3))
    finally:
        asked.refuses = {}
    assert key not in str(refused.value)


BOMB = (
    "{% set ns = namespace(x=99999) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}{% "
    "endfor %}"
    "{% for option in options %}{{ option.label }}{% endfor %}{{ response }}"
)
HOSTILE: dict[str, tuple[Any, str]] = {
    "newer": ({"format": 2}, "Update rubriclab"),
    "older rules": ({"rules": RULES - 1}, "made under rules 1.* Export it again"),
    "newer rules": ({"rules": RULES + 1}, "Update rubriclab"),
    "rules of no kind": ({"rules": "all"}, "as its rules; expected"),
    "changed": ({"promise": {"margin": 9.0}}, "was changed"),
    "no study": ({"study": None}, "not a judge card"),
    "words for a number": ({"promise": {"margin": "wide"}}, "not a judge card: .promise. margin"),
    "a file": (
        {"study": {"rubric": {"file": "/etc/passwd", "criteria": [], "name": ""}}},
        "names a file",
    ),
    "data": ({"study": {"data": [{"file": "/etc/passwd", "sample": False}]}}, "names a file"),
    "an address": ({"study": {"judges": [{"base_urls": ["http://evil.example"]}]}}, "an address"),
    "a key": ({"study": {"judges": [{"key_env": "OPENAI_API_KEY"}]}}, "an address, a key"),
    "a secret": (
        {"study": {"judges": [{"key_env": "AWS_SECRET_ACCESS_KEY"}]}},
        "another service's secret",
    ),
    "code": ({"study": {"judges": [{"kind": "python", "options": {"path": "x.py"}}]}}, "or code"),
    "a field of ours": ({"study": {"judges": [{"extra": {"messages": []}}]}}, "fills in itself"),
    "too many orders": (
        {"study": {"design": {"strategies": [{"orders": [[1, 2, 3, 4, 5]] * 10_000}]}}},
        "not a judge card",
    ),
    "no order of the rubric": (
        {"study": {"design": {"strategies": [{"orders": [[1, 2, 9]]}]}}},
        "order",
    ),
    "a template without end": (
        {"study": {"prompt": {"templates": [{"messages": [{"role": "user", "text": BOMB}]}]}}},
        "too long|takes|seconds",
    ),
    "deep": ("[" * 100_000, "64 levels"),
    "twice": ('{"format": 1, "format": 1}', "appears twice"),
    "no number": ('{"format": NaN}', "NaN"),
    "large": (" " * 2_000_001, "at most 2,000,000 bytes"),
    "half": ("[1", "not JSON"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_a_card_that_was_changed_or_reaches_outside_is_refused(
    served: Served, tmp_path: Path, name: str
) -> None:
    run, judge, _ = served
    change, said = HOSTILE[name]
    path = tmp_path / "x.card.json"
    if isinstance(change, str):
        path.write_text(change, "utf-8")
    else:
        body = merged(run.card("one order"), change)
        if name != "changed":  # by somebody who knows how the digest is made
            body["sha256"] = digest({key: value for key, value in body.items() if key != "sha256"})
        path.write_text(json.dumps(body), "utf-8")
    asked = len(judge.bodies)
    with pytest.raises(rl.LabError, match=said):
        rl.Judge(path, judge.completion).score(item(1))
    assert len(judge.bodies) == asked


def merged(value: Any, change: Any) -> Any:
    if isinstance(value, dict) and isinstance(change, dict):
        return value | {key: merged(value.get(key), part) for key, part in change.items()}
    if (
        isinstance(value, list)
        and isinstance(change, list)
        and value
        and change
        and isinstance(value[0], dict)
    ):
        return [merged(value[0], change[0])]
    return change


@pytest.mark.thorough
def test_a_judge_that_decides_gets_its_questions_in_one_request(tmp_path: Path) -> None:
    with running(DecisionServer(noise=0.0, lean=1.0)) as server:
        study = written(tmp_path, f"{server.url}/v1", items=12)
        kind = 'kind = "decisions"\noptions = { form = "openai" }'
        study.write_text(study.read_text("utf-8").replace('kind = "openai"', kind), "utf-8")
        run = rl.run(study, tmp_path / "lab.duckdb")
        path = run.export(tmp_path / "x.card.json", protocol="average of orders")
        truth, before = means_of(run), len(server.bodies)

        async def awaited() -> float:
            async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
                return (await rl.Judge(path, client).ascore(item(3))).value

        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
            assert rl.Judge(path, client).score(item(3)).value == pytest.approx(truth[3])
        assert asyncio.run(awaited()) == pytest.approx(truth[3])
        asked = server.bodies[before:]
        assert [len(body["questions"]) for body in asked] == [10, 10]
        assert asked[0] in server.bodies[:before]
        run.close()


def test_a_card_without_a_version_of_rules_is_one_of_older_rules(served: Served) -> None:
    body = served[0].card("one order")
    assert body["rules"] == RULES
    older = {key: value for key, value in body.items() if key not in ("rules", "sha256")}
    with pytest.raises(rl.LabError, match=r"made under rules 1; .*Export it again"):
        rl.Judge(older | {"sha256": digest(older)})


def test_a_card_names_its_judge_and_older_ones_without_mean_the_first_default(
    served: Served,
) -> None:
    card = served[0].card()
    assert [judge["name"] for judge in card["study"]["judges"]] == ["served"]
    del card["study"]["judges"]
    older = {key: value for key, value in card.items() if key != "sha256"}
    (judge,) = rl.Judge(older | {"sha256": digest(older)}).study.judges
    assert (judge.name, judge.model) == ("smollm2-135m", "smollm2-135m")


@pytest.mark.usefixtures("http_kind")
def test_client_is_refused_for_a_judge_that_only_its_package_can_ask(served: Served) -> None:
    run, judge, address = served
    card = run.card("one order")
    card["study"]["judges"] = [{"name": "http", "kind": "http"}]
    body = {key: value for key, value in card.items() if key != "sha256"}
    asked = len(judge.bodies)
    for client in (None, openai.OpenAI(base_url=address, api_key="x")):
        with pytest.raises(rl.LabError, match=r"“http”, which the package http-judge 1\.0 asks"):
            rl.Judge(body | {"sha256": digest(body)}, client)
    assert len(judge.bodies) == asked
