"""Logs of tools and benchmarks, of replies and of typed questions: each record a judgment or a
count, orders as their prompts and fields have them.
"""

import gzip
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rubriclab as rl
from rubriclab.logs.exchanges import Exchanges
from rubriclab.logs.log import Log, read_log
from rubriclab.logs.source import Record
from rubriclab.model.text import LabError
from rubriclab.words.answerable import answerable, answerable_line
from tests.data.test_published import SHARED

SAMPLES = Path(__file__).parent / "samples"
DATA = SHARED
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the published logs are beside the project, not in it"
)
NO_LIST = "its prompt lists no scores and no two answers whose order could matter"


def log_of(path: Path, **more: Any) -> Log:
    log = read_log(path, **more)
    assert log is not None
    return log


def written(folder: Path, records: Any, name: str = "log.jsonl") -> Path:
    lines = (
        records if isinstance(records, str) else "\n".join(json.dumps(record) for record in records)
    )
    path = folder / name
    path.write_text(lines, "utf-8", errors="surrogatepass")
    return path


def row(path: Path, number: int = 0) -> dict[str, str]:
    return {
        str(key): text for key, text in log_of(path).frame.iloc[number].to_dict().items() if text
    }


# ---- tools: samples that the tools themselves wrote, cut


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "tool", "judge", "rows", "left"),
    [
        ("inspect.eval", "inspect-ai", "mockllm/model", 4, 0),
        ("promptfoo_rate.json", "promptfoo", "openai:chat:judge-small", 3, 0),
        ("promptfoo_compare.json", "promptfoo", "openai:chat:judge-small", 3, 0),
        ("lm_eval_rate.jsonl", "lm-eval", "", 3, 0),
        ("lm_eval_compare.jsonl", "lm-eval", "", 3, 0),
        ("deepeval.json", "DeepEval", "judge-small", 3, 0),
        ("batch_output.jsonl", "OpenAI batch", "judge-small", 3, 2),
    ],
)
def test_a_tools_log_is_read_by_content(
    tmp_path: Path, file: str, tool: str, judge: str, rows: int, left: int
) -> None:
    """The order is that of the row's own prompt, the answer the one that its reply ends with."""
    log = log_of(SAMPLES / file)
    assert (log.format, len(log.frame), log.left.total()) == (tool, rows, left)
    assert {*log.frame.get("judge", [""])} == {judge}
    for cells in log.frame.to_dict("records"):
        text, reply = json.loads(cells["messages"])[-1]["content"], cells["reply"]
        if log.kind == "scores":
            listed = re.findall(r"^(\d): The answer says", text, re.M)
            assert cells["ordering"] == " ".join(listed)
            given = re.findall(r'(?:GRADE: |"score": |^)(\d)', reply)
            assert cells["score"] == (given[-1] if given else "")
        else:
            answers = [re.search(rf"<answer_{k}>\n(.*?)\n</", text, re.S) for k in "ab"]
            assert (
                cells["choice"]
                == re.findall(r"\[\[([AB])\]\]|GRADE: ([AB])|^([AB])$", reply)[-1][0]
            )
            assert {cells["first"], cells["second"]} == {"text 1", "text 2"}
            assert len({answer[1] for answer in answers if answer}) == 2
    assert rl.read(SAMPLES / file).table.state == "finished"
    # Found by content: gzipped, under any name that JSON has.
    if not file.endswith(".eval"):
        packed = tmp_path / "x.json.gz"
        packed.write_bytes(gzip.compress((SAMPLES / file).read_bytes()))
        if tool != "OpenAI batch":
            assert log_of(packed).frame.equals(log.frame)


def test_a_batch_is_read_with_the_input_that_lies_beside_it(tmp_path: Path) -> None:
    log = log_of(SAMPLES / "batch_output.jsonl")
    assert log.left["the call failed"] == 1
    assert [message["role"] for message in json.loads(log.frame["messages"][0])] == [
        "system",
        "user",
    ]
    pairs = log_of(SAMPLES / "batch_output.jsonl", kind="pairs")
    assert (pairs.kind, len(pairs.frame)) == ("pairs", 1)
    with pytest.raises(LabError, match="5 × it is a request: import the batch's output"):
        read_log(SAMPLES / "batch_input.jsonl")
    alone = tmp_path / "batch_output.jsonl"
    alone.write_bytes((SAMPLES / "batch_output.jsonl").read_bytes())
    with pytest.raises(
        LabError, match="4 × the batch's input, which has its prompt, is not in the same folder"
    ):
        read_log(alone)


def test_the_same_two_answers_are_the_same_in_either_order(tmp_path: Path) -> None:
    """Headings, FastChat's lines, tags; a tie; a tag of HTML is no answer; a table finds its
    columns by their names.
    """
    heads = (
        "Which is better? Say A, B or tie.\n\n### Answer A\n{}\n\n### Answer B\n{}\n\n### Verdict"
    )
    answers = [
        f"[The Start of Assistant {k}'s Answer]\n{{}}\n[The End of Assistant {k}'s Answer]"
        for k in "AB"
    ]
    marked = "\n".join(["Say [[A]], [[B]] or [[C]].", *answers])
    asked = [(heads, "Verdict: B"), (marked, "so [[C]]"), (marked, "[[A]]")]
    records = [
        (form.format(*texts), reply)
        for form, reply in asked
        for texts in (("one", "two"), ("two", "one"))
    ]
    table = pd.DataFrame(
        [*records, ("<h1>a</h1><h2>b</h2> Rate it.", "5")], columns=["Prompt", "Reply"]
    )
    path = tmp_path / "calls.csv"
    table.to_csv(path, index=False)
    log = log_of(path)
    assert log.left == {NO_LIST: 1}
    assert [*log.frame["choice"]] == [*"BBCCAA"]
    assert [*log.frame["question_id"]] == ["prompt 1", "prompt 1", *["prompt 2"] * 4]
    assert len({*zip(log.frame["first"], log.frame["second"], strict=True)}) == 2
    assert log.frame["first"][0] == log.frame["second"][1]


def test_no_score_is_read_in_a_reply_that_was_cut() -> None:
    """“1” may have become 10, whatever the tool itself read in it."""
    prompt = "Rate the answer.\nScore 1: bad\nScore 2: fair\nScore 10: good\n\nAnswer: Paris\n"
    sent = ({"role": "user", "content": prompt},)
    records = [
        Record(prompt=sent, reply="1", verdict=verdict, finish=finish)
        for verdict, finish in (("", "stop"), ("", "length"), ("1", "length"))
    ]
    made = [record for record in Exchanges().judgments(records) if isinstance(record, Record)]
    assert [record.cells["score"] for record in made] == ["1", "", ""]
    assert [record.cells.get("status") for record in made] == [None, "truncated", "truncated"]


def test_only_the_list_that_prompts_share_is_the_template_s(tmp_path: Path) -> None:
    """A text that is judged may hold a list of its own that looks like scores: it is in one prompt
    alone.
    """
    options = ["1: bad", "2: fair", "3: good"]
    own = "Rate these films on a scale of 1 to 5:\n1. Alpha was fun.\n2. Beta was not.\n\n"
    prompts = [
        f"Rate the answer.\n{text}\nScores:\n" + "\n".join(lines) + "\n\nReply with the score."
        for text, lines in (("a", options), ("b", options[::-1]), (own, options))
    ]
    records = [
        {"prompt": prompt, "completion": "Score: 2"}
        for prompt in [*prompts, own.replace("fun", "dull")]
    ]
    log = log_of(written(tmp_path, records))
    assert [*log.frame["ordering"]] == ["1 2 3", "3 2 1", "1 2 3"]
    assert [*log.frame["score"]] == ["2"] * 3
    assert log.left == {NO_LIST: 1}


# ---- benchmarks

PAIR = {
    "question_id": 81,
    "model_1": "v",
    "model_2": "w",
    "judge": ["gpt-4", "pair-v2"],
    "turn": 2,
    "g1_judgment": "x",
}
RATED = {"user_prompt": "Rate.", "judgment": "[[7]]", "score": 7.0}
SINGLE = {"question_id": 81, "model": "v", "judge": ["gpt-4", "s"], "turn": 1, **RATED}
BIGGEN = {
    "id": "reason_0",
    "task": "first",
    "input": "Capital?",
    "response": "Lima.",
    "response_model_name": "m",
    "score": 4,
    "score_rubric": {
        "criteria": "Right?",
        **{f"score{k}_description": f"level {k}" for k in range(1, 6)},
    },
    "feedback": "Because.",
    "eval_model_name": "prometheus",
}
PROMPT = (
    "###Response to evaluate:\nScore 9: no\n\n###Score Rubrics:\n[Right?]\nScore 2: "
    "wrong\nScore 1: "
    "right\n\n###Feedback:"
)
GIVEN = {"gpt4_score": [2, 1, None], "gpt4_feedback": ["a", "b", "c"]}
LISTED = {"idx": 3, "response_source": "m", "instruction": PROMPT, **GIVEN}
ALPACA = {
    "instruction": "i",
    "output_1": "x",
    "output_2": "y",
    "generator_1": "base",
    "generator_2": "new",
    "annotator": "cot",
    "preference": 1.25,
    "referenced_models": {"m": "output_2", "M": "output_1"},
}
JUDGED = {
    "pair_id": "p",
    "response_A": "x",
    "response_B": "y",
    "label": "B>A",
    "judge_name": "vanilla",
    "judgments": [
        {"judgment": {"judge_model": "h", "prompt": "q", "response": "r"}, "decision": "A>B"}
    ]
    * 2,
}


@pytest.mark.parametrize(
    ("record", "number", "expected"),
    [
        (
            PAIR | {"g1_winner": "model_1", "g2_winner": "tie"},
            0,
            {"first": "v", "second": "w", "choice": "A"},
        ),
        (
            PAIR | {"g1_winner": "model_1", "g2_winner": "model_1"},
            1,
            {"first": "w", "choice": "B", "task": "turn 2, pair-v2"},
        ),
        (PAIR | {"g1_winner": "error", "g2_winner": "tie"}, 0, {"choice": "N", "judge": "gpt-4"}),
        (SINGLE, 0, {"score": "7", "ordering": "1 2 3 4 5 6 7 8 9 10", "candidate": "v"}),
        (
            BIGGEN,
            0,
            {
                "item_id": "reason_0: m",
                "ordering": "1 2 3 4 5",
                "score": "4",
                "judge": "prometheus",
            },
        ),
        (LISTED, 1, {"ordering": "2 1", "score": "1", "judge": "gpt4", "candidate": "m"}),
        # 0.25 for the model, which was shown first.
        (ALPACA, 0, {"first": "new", "second": "base", "choice": "B", "expected": "0.25"}),
        (ALPACA | {"preference": 1.5}, 0, {"choice": "C"}),
        # The second judgment saw B first, and says so in the order that it saw.
        (
            JUDGED,
            0,
            {
                "first": "incorrect",
                "second": "correct",
                "choice": "A",
                "gold": "correct",
                "judge": "h vanilla",
            },
        ),
        (JUDGED, 1, {"first": "correct", "second": "incorrect", "choice": "A"}),
    ],
)
def test_a_benchmarks_record(
    tmp_path: Path, record: Any, number: int, expected: dict[str, str]
) -> None:
    """As one line, as lines, as a list of one JSON; of BiGGen also as an object of records by their
    ids.
    """
    made = row(written(tmp_path, [record]), number)
    assert {key: made[key] for key in expected} == expected
    for text in ("\n".join([json.dumps(record)] * 2), json.dumps([record], indent=1)):
        assert row(written(tmp_path, text, "log.json"), number).items() >= expected.items()
    if record is BIGGEN:
        assert (
            row(written(tmp_path, json.dumps({"r": record}), "id.json"), number).items()
            >= expected.items()
        )


@needs_data
@pytest.mark.parametrize(
    ("name", "first", "second", "difference", "se", "left"),
    [
        ("Mistral-7B-Instruct-v0.2", (0.1892, 407), (0.1206, 398), 0.0686, 0.0254, 0),
        ("gemini-pro", (0.2070, 401), (0.1303, 399), 0.0767, 0.0263, 5),
        (
            "FuseChat-Llama-3.2-1B-Instruct.weighted",
            (0.2344, 406),
            (0.3652, 399),
            -0.1309,
            0.0275,
            0,
        ),
    ],
)
def test_soft_preferences_of_published_annotations(
    name: str,
    first: tuple[float, int],
    second: tuple[float, int],
    difference: float,
    se: float,
    left: int,
) -> None:
    """P(model wins | shown first, second), their difference and its two-sample standard error, from
    preference - 1.
    """
    path = DATA / "alpaca_eval" / f"{name}.annotations.json.gz"
    assert log_of(path).left.total() == left
    run = rl.read(path)
    rows = run.rows("pairs")
    ours = rows[
        (rows["measure"] == "win_rate_by_position")
        & (rows["candidate"] == name.removesuffix(".weighted"))
    ]
    assert [(round(value, 4), n) for value, n in zip(ours["value"], ours["n"], strict=True)] == [
        first,
        second,
    ]
    (advantage,) = run.findings.select("first_advantage")
    assert (round(advantage.value, 4), round(advantage.estimate.error, 4)) == (difference, se)
    assert "one order each: which side is favoured, yes; consistency, no: 80" in answerable_line(
        run.table
    )


@needs_data
def test_published_judgments_of_benchmarks() -> None:
    run = rl.read(DATA / "judgebench" / "arena_hard.claude-3-haiku-20240307.jsonl.gz")
    (pc,) = run.findings.select("pc")
    assert (pc.counts["n"], round(pc.value * 257), round(pc.value, 4)) == (257, 135, 0.5253)
    decided = run.table.rows.query("status == 0 and position > 0")["position"]
    assert (len(decided), round((decided == 1).mean(), 4)) == (335, 0.6328)
    records = rl.read(DATA / "prometheus" / "mt_bench_eval.original.json.gz").table
    assert (len(records.rows), len(records.items), records.conditions[0].scores) == (
        960,
        320,
        (1, 2, 3, 4, 5),
    )


def test_the_first_position_is_standardised_to_orders_shown_equally_often() -> None:
    """By hand: a wins 3 of 4 shown first, 1 of 2 shown second: 0.75 - 0.5, not the plain mean of
    wins, 4 of 6 - 2 of 6.
    """
    shown = [
        ("a", "b", 1.0),
        ("a", "b", 1.0),
        ("a", "b", 0.5),
        ("a", "b", 0.5),
        ("b", "a", 0.0),
        ("b", "a", 1.0),
    ]
    frame = pd.DataFrame(shown, columns=["first", "second", "expected"])
    frame = frame.assign(judge="j", question_id=[*"123456"], task="", strategy="random")
    frame["choice"] = np.where(frame["expected"] > 0.5, "A", "B")
    (advantage,) = rl.read(frame).findings.select("first_advantage")
    assert advantage.value == pytest.approx(0.75 - 0.5)
    (hard,) = rl.read(frame.drop(columns="expected")).findings.select("first_advantage")
    assert hard.value == pytest.approx(0.5 - 0.5)
    frame["expected"] = [*frame["expected"][:5], 1.5]
    with pytest.raises(LabError, match=r"“1\.5” is not a number from 0 to 1"):
        rl.read(frame)


# ---- hostile and broken


def test_what_is_broken_is_counted_and_what_is_hostile_refused(tmp_path: Path) -> None:
    lines = [
        json.dumps(ALPACA),
        '{"instruction": "cut o',
        json.dumps(ALPACA | {"preference": float("nan")}),
    ]
    lines += ["[1]", '{"preference": {}}', ""]
    log = log_of(
        written(tmp_path, "\n".join([*lines, json.dumps(ALPACA | {"instruction": "\ud83d"})]))
    )
    assert (len(log.frame), log.left["it is not a whole JSON object"]) == (2, 2)
    assert log.left["it does not have the form of AlpacaEval"] == 1
    assert log.left["the annotator gave no preference from 1 to 2"] == 1
    assert np.all(log.frame["first"] == "new")
    head = '{"config": {}, "results": {"results": '
    for text in (
        f"{head}{'[' * 100_000}",
        head + '[{"gradingResult": ' * 9_000,
        head + "[{}, null]}}",
        "{}",
        "[]",
    ):
        path = written(tmp_path, text, "deep.json")
        if text.endswith("}}"):
            with pytest.raises(
                LabError,
                match=r"none of its records is a judgment: 1 × its ass.*; 1 × it is not",
            ):
                read_log(path)
        else:
            assert read_log(path) is None
    bomb = tmp_path / "bomb.eval"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("_journal/start.json", "{}")
        book.writestr("samples/1.json", b" " * 70_000_000)
    with pytest.raises(LabError, match="unpacks to more than 64 MB a record"):
        read_log(bomb)
    half = tmp_path / "half.eval"
    half.write_bytes((SAMPLES / "inspect.eval").read_bytes()[:9_000])
    with pytest.raises(LabError, match=r"half\.eval” cannot be read: BadZipFile"):
        read_log(half)


@pytest.mark.parametrize(
    "text",
    ["judge,item_id,ordering,score,prompt,response\nj,1,1 2,1,p,r\n", '[{"a": 1}]', '{"a": [1]}'],
)
def test_what_is_no_log_goes_on_as_a_table(tmp_path: Path, text: str) -> None:
    assert read_log(written(tmp_path, text, "x.json" if text[0] in "[{" else "x.csv")) is None


# ---- what a file can answer


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            {
                "question_id": [1, 2, 3],
                "first": [*"aba"],
                "second": [*"bab"],
                "choice": [*"AAB"],
                "strategy": ["random"] * 3,
            },
            "3 pairs, one order each: which side is favoured, yes; consistency, no: 3 more calls "
            "would tell; "
            "the judge's own noise, no: 3 more calls, of the same orders again, would tell; "
            "agreement with people, no: it has no people's ratings",
        ),
        (
            {
                "question_id": [1, 1],
                "first": [*"ab"],
                "second": [*"ba"],
                "choice": [*"AA"],
                "gold": [*"aa"],
            },
            "1 pair, both orders each: which side is favoured, yes; consistency, yes; "
            "the judge's own noise, no: 1 more call, of the same orders again, would tell; "
            "accuracy against the known winner, yes",
        ),
        (
            {"item_id": [1, 1, 2], "ordering": ["1 2"] * 3, "score": [1, 2, 2], "human": [1, 1, 2]},
            "2 answers, one order each: which positions are favoured, no: 2 more calls would tell; "
            "whether single scores change with the order, no: 2 more calls would tell; the judge's "
            "own noise, yes; "
            "agreement with people, yes",
        ),
        ({"item_id": [1], "ordering": ["1 2"], "score": [""]}, "no judgment that could be read"),
    ],
)
def test_what_a_file_can_answer(columns: dict[str, Any], line: str) -> None:
    table = rl.read(pd.DataFrame({"judge": "j", **columns})).table
    assert answerable_line(table) == line
    assert all(
        (question.calls is None) or not question.answered for question in answerable(table)[1]
    )


def test_a_list_that_no_table_takes_is_counted_and_refuses_no_file(tmp_path: Path) -> None:
    def rated(n: int, k: int) -> dict[str, str]:
        scale = "\n".join(f"Score {score}: level {score} of {n}" for score in range(1, n + 1))
        prompt = (
            f"Rate the answer.\n\nAnswer: text {k}\n\nRubric:\n{scale}\n\nAnswer with the score."
        )
        return {"prompt": prompt, "reply": "3"}

    log = log_of(written(tmp_path, [rated(n, k) for n in (5, 12) for k in range(6)]))
    assert (len(log.frame), log.left["it lists more than 10 options"]) == (6, 6)
    assert len(rl.read(tmp_path / "log.jsonl").table.rows) == 6


CHOICE = {
    "type": "choice",
    "instructions": "How good?",
    "criteria": {"3": "good", "1": None, "2": None},
}
SHARES = {"3": 0.2, "1": 0.5, "2": 0.3}


def even(options: Iterable[Any]) -> tuple[Any, Any]:
    """A choice and its answer: every option is as likely."""
    names = [*map(str, options)]
    return CHOICE | {"criteria": dict.fromkeys(names)}, {
        "probabilities": dict.fromkeys(names, 1 / len(names))
    }


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
    """Written by inspect-ai 0.3.285: three samples, two scorers with opposite orders, each with
    three questions.
    """
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
        assert float(cells["expected"]) == pytest.approx(
            sum(int(score) * share for score, share in shares.items())
        )
    assert log.left["a yes/no question, which lists nothing whose order could matter"] == 6
    lists = read_log(path, kind="lists")
    assert lists is not None
    assert [*lists.frame["order"]] == ["land|sea|sky", "sky|sea|land"] * 3
    assert {*lists.frame["winner"]} <= {"land", "sea", "sky"}
    assert rl.read(path).table.state == "finished"


def test_answers_of_promptfoo_s_provider_are_read_with_the_questions_of_its_configuration(
    tmp_path: Path,
) -> None:
    """The form of promptfoo's ``openai:decisions`` provider: answers as its output, questions in
    its configuration.
    """
    questions = [
        {
            "type": "score",
            "name": "tone",
            "instructions": "?",
            "levels": [{"label": "rude"}, {"label": "kind"}],
        },
        {
            "type": "choice",
            "name": "grade",
            "instructions": "?",
            "choices": [{"value": "2"}, {"value": "1"}],
        },
        {
            "type": "choice",
            "name": "team",
            "instructions": "?",
            "choices": [{"value": "a|b"}, {"value": "c"}],
        },
    ]
    answers = [
        {
            "type": "score",
            "name": "tone",
            "probabilities": [
                {"value": 0, "label": "rude", "probability": 0.25},
                {"value": 1, "label": "kind", "probability": 0.75},
            ],
        },
        {
            "type": "choice",
            "name": "grade",
            "probabilities": [
                {"value": "1", "probability": 0.4},
                {"value": "2", "probability": 0.6},
            ],
        },
        {"type": "refusal", "name": "team"},
    ]
    provider = "openai:decisions:gpt-6-luna"
    result = {
        "provider": {"id": provider},
        "prompt": {"raw": "Dear all"},
        "response": {"output": json.dumps({"answers": answers})},
        "gradingResult": None,
    }
    path = tmp_path / "results.json"
    config = {"providers": [{"id": provider, "config": {"questions": questions}}]}
    path.write_text(json.dumps({"config": config, "results": {"results": [result, result]}}))
    log = read_log(path)
    assert log is not None
    assert (log.format, *log.frame["judge"].unique(), len(log.frame)) == (
        "promptfoo",
        "gpt-6-luna",
        4,
    )
    columns = log.frame[["item_id", "block", "ordering", "score", "expected"]]
    assert columns.to_numpy().tolist()[:2] == [
        ["tone: Dear all", "Dear all", "1 2", "2", "1.75"],
        ["grade: Dear all", "Dear all", "2 1", "2", "1.6"],
    ]
    lists = read_log(path, kind="lists")
    assert lists is not None
    assert lists.frame[["order", "winner"]].to_numpy().tolist() == [["a/b|c", ""]] * 2


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        (
            CHOICE,
            {"probabilities": SHARES | {"3": 0.5}},
            "its answer has no probability for each option",
        ),
        (CHOICE, {"probabilities": {"3": 1.0}}, "its answer has no probability for each option"),
        (
            CHOICE,
            {"probabilities": SHARES | {"1": float("nan")}},
            "its answer has no probability for each option",
        ),
        (CHOICE, None, "its answer has no probability for each option"),
        (
            CHOICE | {"criteria": {"1": None}},
            {"probabilities": {"1": 1}},
            "a question that lists no two options",
        ),
        ({"type": "noul", "instructions": "?"}, {"noul": 0.5}, "a yes/no question"),
        (
            {"type": "score", "criteria": ["low", "low"]},
            {"probabilities": {"0": 1}},
            "lists no two options",
        ),
        ("?", {}, "a question that lists no two options"),
        ({"type": "choice", "choices": [None, None]}, {}, "a question that lists no two options"),
        (*even(range(12)), "it lists more than 10 options"),
        (*even(f"team {k}" for k in range(40)), "it lists more than 26 options"),
        (
            {"type": "choice", "criteria": {"x" * 400 + end: None for end in "ab"}},
            {},
            "lists no two options",
        ),
    ],
)
def test_what_is_no_judgment_is_counted_with_its_reason(
    tmp_path: Path, question: Any, answer: Any, words: str
) -> None:
    with pytest.raises(LabError, match=words):
        read_log(lines(tmp_path, *[(question, answer)] * 2))
    log = read_log(lines(tmp_path, (CHOICE, {"probabilities": SHARES}), (question, answer)))
    assert log is not None
    assert (log.frame["score"].tolist(), log.frame["ordering"].tolist(), log.left.total()) == (
        ["1"],
        ["3 1 2"],
        1,
    )


def test_a_tie_is_drawn(tmp_path: Path) -> None:
    """The first of equals would be a lean of ours."""
    log = read_log(
        lines(tmp_path, *[(CHOICE, {"probabilities": dict.fromkeys("312", 1 / 3)})] * 60)
    )
    assert log is not None
    assert min(log.frame["score"].value_counts().reindex(list("123"), fill_value=0)) > 8
