"""Logs that hold typed questions and their answers: order, pick and expected score of each, or why it is no judgment."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.logs.log import read_log
from rubriclab.model.text import LabError

CHOICE = {"type": "choice", "instructions": "How good?", "criteria": {"3": "good", "1": None, "2": None}}
SHARES = {"3": 0.2, "1": 0.5, "2": 0.3}


def even(options: Iterable[Any]) -> tuple[Any, Any]:
    """A choice and its answer: every option is as likely."""
    names = [*map(str, options)]
    return CHOICE | {"criteria": dict.fromkeys(names)}, {"probabilities": dict.fromkeys(names, 1 / len(names))}


def lines(folder: Path, *pairs: tuple[Any, Any]) -> Path:
    """Requests and responses as they went over the wire, a line each."""
    path = folder / "wire.jsonl"
    sent = []
    for k, (question, answer) in enumerate(pairs):
        request = {"model": "asked", "state": {"text": f"a{k}"}, "questions": {"q1": question}}
        sent.append({"request": request, "response": {"answers": {"q1": answer}}})
    path.write_text("\n".join(map(json.dumps, sent)))
    return path


def test_a_scorer_of_inspect_ai_that_keeps_questions_and_answers_is_read() -> None:
    """Written by inspect-ai 0.3.285: three samples, two scorers with opposite orders, each with three questions."""
    path = Path(__file__).with_name("decisions.eval")
    log = read_log(path)
    assert log is not None
    assert (log.format, log.kind, *log.frame["judge"].unique(), len(log.frame)) == (
        "inspect-ai",
        "scores",
        "decider",
        6,
    )
    assert [*log.frame["ordering"]] == ["1 2 3", "3 2 1"] * 3
    for cells, text in zip(log.frame.to_dict("records"), log.frame["reply"], strict=True):
        shares = json.loads(text)["probabilities"]
        assert cells["score"] == max(shares, key=shares.__getitem__)
        assert float(cells["expected"]) == pytest.approx(sum(int(score) * share for score, share in shares.items()))
    assert log.left["a yes/no question, which lists nothing whose order could matter"] == 6
    lists = read_log(path, kind="lists")
    assert lists is not None
    assert [*lists.frame["order"]] == ["land|sea|sky", "sky|sea|land"] * 3
    assert {*lists.frame["winner"]} <= {"land", "sea", "sky"}
    assert rl.read(path).table.state == "finished"


def test_answers_of_promptfoo_s_provider_are_read_with_the_questions_of_its_configuration(tmp_path: Path) -> None:
    """The form of promptfoo's ``openai:decisions`` provider: answers as its output, questions in its configuration."""
    questions = [
        {"type": "score", "name": "tone", "instructions": "?", "levels": [{"label": "rude"}, {"label": "kind"}]},
        {"type": "choice", "name": "grade", "instructions": "?", "choices": [{"value": "2"}, {"value": "1"}]},
        {"type": "choice", "name": "team", "instructions": "?", "choices": [{"value": "a|b"}, {"value": "c"}]},
    ]
    answers = [
        {"type": "score", "name": "tone", "probabilities": [
            {"value": 0, "label": "rude", "probability": 0.25}, {"value": 1, "label": "kind", "probability": 0.75}]},
        {"type": "choice", "name": "grade", "probabilities": [
            {"value": "1", "probability": 0.4}, {"value": "2", "probability": 0.6}]},
        {"type": "refusal", "name": "team"},
    ]  # fmt: skip
    provider = "openai:decisions:gpt-6-luna"
    result = {
        "provider": {"id": provider}, "prompt": {"raw": "Dear all"},
        "response": {"output": json.dumps({"answers": answers})}, "gradingResult": None,
    }  # fmt: skip
    path = tmp_path / "results.json"
    config = {"providers": [{"id": provider, "config": {"questions": questions}}]}
    path.write_text(json.dumps({"config": config, "results": {"results": [result, result]}}))
    log = read_log(path)
    assert log is not None
    assert (log.format, *log.frame["judge"].unique(), len(log.frame)) == ("promptfoo", "gpt-6-luna", 4)
    columns = log.frame[["item_id", "block", "ordering", "score", "expected"]]
    assert columns.to_numpy().tolist()[:2] == [
        ["tone: Dear all", "Dear all", "1 2", "2", "1.75"],
        ["grade: Dear all", "Dear all", "2 1", "2", "1.6"],
    ]
    lists = read_log(path, kind="lists")
    assert lists is not None
    assert lists.frame[["order", "winner"]].to_numpy().tolist() == [["a/b|c", ""]] * 2


@pytest.mark.parametrize(("question", "answer", "words"), [
    (CHOICE, {"probabilities": SHARES | {"3": 0.5}}, "its answer has no probability for each option"),
    (CHOICE, {"probabilities": {"3": 1.0}}, "its answer has no probability for each option"),
    (CHOICE, {"probabilities": SHARES | {"1": float("nan")}}, "its answer has no probability for each option"),
    (CHOICE, None, "its answer has no probability for each option"),
    (CHOICE | {"criteria": {"1": None}}, {"probabilities": {"1": 1}}, "a question that lists no two options"),
    ({"type": "noul", "instructions": "?"}, {"noul": 0.5}, "a yes/no question"),
    ({"type": "score", "criteria": ["low", "low"]}, {"probabilities": {"0": 1}}, "lists no two options"),
    ("?", {}, "a question that lists no two options"),
    ({"type": "choice", "choices": [None, None]}, {}, "a question that lists no two options"),
    (*even(range(12)), "it lists more than 10 options"),
    (*even(f"team {k}" for k in range(40)), "it lists more than 26 options"),
    ({"type": "choice", "criteria": {"x" * 400 + end: None for end in "ab"}}, {}, "lists no two options"),
])  # fmt: skip
def test_what_is_no_judgment_is_counted_with_its_reason(tmp_path: Path, question: Any, answer: Any, words: str) -> None:
    with pytest.raises(LabError, match=words):
        read_log(lines(tmp_path, *[(question, answer)] * 2))
    log = read_log(lines(tmp_path, (CHOICE, {"probabilities": SHARES}), (question, answer)))
    assert log is not None
    assert (log.frame["score"].tolist(), log.frame["ordering"].tolist(), log.left.total()) == (["1"], ["3 1 2"], 1)


def test_a_tie_is_drawn(tmp_path: Path) -> None:
    """The first of equals would be a lean of ours."""
    log = read_log(lines(tmp_path, *[(CHOICE, {"probabilities": dict.fromkeys("312", 1 / 3)})] * 60))
    assert log is not None
    assert min(log.frame["score"].value_counts().reindex(list("123"), fill_value=0)) > 8
