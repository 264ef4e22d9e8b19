"""Logs in which a judge card's adapter kept its record: what is read of them is what was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubriclab.datasets.logs import Logged, Source, Unread
from rubriclab.datasets.logs.card_record import NO_ORDER, card_record, recorded
from rubriclab.runs.importing import import_file
from rubriclab.store import Store

READS = [
    {"order": [1, 2, 3], "status": "ok", "text": "3", "score": 3.0, "by_score": [0.1, 0.2, 0.7]},
    {"order": [3, 1, 2], "status": "ok", "text": "1", "score": 1.0, "by_score": [0.6, 0.3, 0.1]},
    {"order": [2, 3, 1], "status": "unparsed", "text": "no", "messages": [{"role": "user", "content": "rate"}]},
]


def record(reads: list[dict[str, Any]], axis: str = "options", item: str = "i") -> dict[str, Any]:
    return {"axis": axis, "judge": "j", "item": item, "criterion": "", "reads": reads}


def logged(reads: list[dict[str, Any]], axis: str = "options") -> list[Logged]:
    made = list(recorded(1, record(reads, axis)))
    return [one for one in made if isinstance(one, Logged)]


def test_a_read_has_the_place_of_its_score_and_the_chance_of_each_place() -> None:
    first, second, unread = logged(READS)
    assert [one.shown for one in (first, second, unread)] == [("1", "2", "3"), ("3", "1", "2"), ("2", "3", "1")]
    assert [one.chosen for one in (first, second, unread)] == [3, 2, None]
    assert first.probabilities == (0.1, 0.2, 0.7)
    assert second.probabilities == (0.1, 0.6, 0.3)
    assert (unread.reply, unread.prompt, unread.probabilities) == ("no", "rate", None)


def test_a_pair_has_its_place_or_a_tie_and_criteria_their_scores() -> None:
    pair = [{"order": [2, 1], "score": 1.0, "text": "B"}, {"order": [1, 2], "score": 0.0, "text": "C"}]
    assert [(one.shown, one.chosen) for one in logged(pair, "pairwise")] == [(("2", "1"), 2), (("1", "2"), 0)]
    criteria = [{"order": ["b", "a"], "criteria": {"a": 2.0, "b": None}, "text": "…"}]
    (one,) = logged(criteria, "criteria")
    assert (one.shown, one.scores, one.chosen) == (("b", "a"), (None, 2.0), None)


@pytest.mark.parametrize("read", [{}, {"order": "1 2"}, {"order": [1]}, {"order": [1, 1]}, "read", None, [1, 2]])
def test_a_read_without_its_order_is_counted_and_not_guessed(read: Any) -> None:
    assert list(recorded(7, record([read]))) == [Unread(7, NO_ORDER)]
    assert list(recorded(7, record([{"order": [1, 2]}], axis="other"))) == [Unread(7, NO_ORDER)]


@pytest.mark.parametrize(
    "read", [{"score": "3"}, {"score": True}, {"by_score": [0.5]}, {"by_score": "x"}, {"score": 9}]
)
def test_what_is_no_number_or_no_score_of_the_order_is_unread(read: dict[str, Any]) -> None:
    (one,) = logged([{"order": [1, 2, 3]} | read])
    assert (one.chosen, one.probabilities) == (None, None)


def test_other_fields_are_no_record() -> None:
    assert [card_record(value) for value in (None, {}, {"judge_card": []}, {"judge_card": {"reads": 3}})] == [None] * 4


@pytest.mark.slow
@pytest.mark.parametrize("form", ["inspect", "deepeval", "promptfoo", "lm_eval"])
def test_the_same_record_gives_the_same_run_in_the_log_of_every_tool(form: str, tmp_path: Path) -> None:
    records = [record(READS[:2] * 2, item=f"i{k}") for k in range(3)]
    path = tmp_path / f"log.{'jsonl' if form == 'lm_eval' else 'json'}"
    path.write_text(FORMS[form](records), encoding="utf-8")
    with Store(":memory:") as store:
        done = import_file(lambda: store, Source(path))
        judgments = store.frame(done.runs[0]).judgments
    assert done.log is not None
    assert (done.log.judgments, done.log.unread) == (12, {})
    assert done.log.order_from == {"the record of the judge card": 12}
    assert sorted(judgments["score"]) == [1.0] * 6 + [3.0] * 6
    assert sorted(judgments["position"]) == [2] * 6 + [3] * 6


def _inspect(records: list[dict[str, Any]]) -> str:
    samples = [
        {"id": k, "scores": {"judge": {"value": 2.0, "metadata": {"judge_card": r}}}} for k, r in enumerate(records)
    ]
    return json.dumps({"version": 2, "status": "success", "eval": {"task": "judged"}, "samples": samples})


def _deepeval(records: list[dict[str, Any]]) -> str:
    logs = [f"Judge card: 2.0\njudge_card: {json.dumps(one)}" for one in records]
    cases = [
        {"name": "case", "metricsData": [{"name": "Judge card", "score": 0.5, "verboseLogs": log}]} for log in logs
    ]
    return json.dumps({"testCases": cases})


def _promptfoo(records: list[dict[str, Any]]) -> str:
    results = [
        {
            "gradingResult": {
                "pass": True,
                "score": 0.5,
                "componentResults": [{"pass": True, "metadata": {"judge_card": one}}],
            }
        }
        for one in records
    ]
    return json.dumps({"evalId": "eval-1", "results": {"version": 3, "results": results}})


def _lm_eval(records: list[dict[str, Any]]) -> str:
    line = {
        "doc_id": 0,
        "doc": {},
        "arguments": {"gen_args_0": {"arg_0": "q"}},
        "resps": [["a"]],
        "filtered_resps": ["a"],
    }
    return "".join(json.dumps(line | {"judge": 2.0, "judge_card": one}) + "\n" for one in records)


FORMS = {"inspect": _inspect, "deepeval": _deepeval, "promptfoo": _promptfoo, "lm_eval": _lm_eval}
