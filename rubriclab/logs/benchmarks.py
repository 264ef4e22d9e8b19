"""Read the published judgments of benchmarks, whose own fields hold the order."""

import random
import re
from collections.abc import Iterator
from typing import Any

from rubriclab.logs.source import Json, Reader, Record, Source, name_of, short_name, under
from rubriclab.logs.tools import Records, messages_in, text_in

ALPACA = ("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference")
JUDGE_BENCH = ("pair_id", "response_A", "response_B", "judgments")
MT_PAIR = ("question_id", "model_1", "model_2", "g1_winner", "g2_winner")
MT_SINGLE = ("question_id", "model", "user_prompt", "judgment", "score")
LLMBAR = ("input", "output_1", "output_2", "label", "results")
NOT_JUDGES = ("human", "reference", "orig")
TEN = " ".join(map(str, range(1, 11)))
FAILED = "the call failed"


def _alpaca(record: Json, _: Source) -> Records:
    """AlpacaEval 2: ``preference`` from 1 (output_1) to 2, whatever the order shown;
    ``referenced_models`` says which one was shown first, else the evaluator's own seed does
    (alpaca_eval, ``PairwiseAnnotator``: ``is_switched_outputs``).
    """
    preference, first = record["preference"], under(record.get("referenced_models"), "m")
    if not all(isinstance(record[name], str) for name in ALPACA[:5]):
        yield "it lacks a text for instruction, output or generator"
    elif not isinstance(preference, int | float) or not 1 <= preference <= 2:
        yield "the annotator gave no preference from 1 to 2"
    elif "referenced_models" in record and first not in ("output_1", "output_2"):
        yield "its field referenced_models does not say which output was shown first"
    else:
        seed = f"is_switched_outputs{record['instruction']}0"
        switched = first == "output_2" if first else random.Random(seed).choices([False, True])[0]
        won = preference - 1.0 if switched else 2.0 - preference  # by what was shown first
        makers = [record["generator_1"], record["generator_2"]][:: -1 if switched else 1]
        cells = {
            "judge": name_of(record.get("annotator")),
            "question_id": short_name(record["instruction"]),
            "task": name_of(record.get("dataset")),
            "first": makers[0],
            "second": makers[1],
            "choice": "C" if won == 0.5 else "A" if won > 0.5 else "B",
            "expected": f"{won:.12f}".rstrip("0").rstrip("."),
        }
        yield Record("pairs", cells, reply=text_in(record.get("raw_completion")))


def _judge_bench(record: Json, _: Source) -> Records:
    """JudgeBench (Tan et al. 2025): the first judgment saw A first, the second B; decisions are in
    the order shown.
    """
    judgments, label = record["judgments"], record.get("label")
    names = {"A>B": ["correct", "incorrect"], "B>A": ["incorrect", "correct"]}.get(
        str(label), ["A", "B"]
    )
    for number, judgment in enumerate(judgments if isinstance(judgments, list) else [None]):
        call = under(judgment, "judgment")
        if call is None or number > 1:
            yield FAILED if number < 2 else "a third judgment of a pair, whose order is not known"
            continue
        judge = [name_of(under(call, "judge_model")), name_of(record.get("judge_name"))]
        first, second = names[:: -1 if number else 1]
        cells = {
            "judge": " ".join(filter(None, judge)),
            "question_id": name_of(record["pair_id"]),
            "first": first,
            "second": second,
            "task": name_of(record.get("source")),
            "gold": "correct" if "correct" in names else "",
            "choice": {"A>B": "A", "B>A": "B", "A=B": "C"}.get(str(judgment.get("decision")), "N"),
        }
        yield Record(
            "pairs", cells, messages_in(under(call, "prompt")), text_in(under(call, "response"))
        )


def _llmbar(record: Json, log: Source) -> Records:
    """LLMBar (Zeng et al. 2024), an evaluator's ``result.json``: one round in both orders.
    ``winner`` is as of the record, whatever the order shown: “1” is output_1 in both.
    """
    texts = "\n".join(str(record[name]) for name in LLMBAR[:3])
    judge = re.sub(r"\.?result\.json(\.gz)?$", "", log.name) or "LLMBar evaluator"
    cells = {"judge": judge, "question_id": short_name(texts), "gold": f"output_{record['label']}"}
    for swap, names in (("swap = False", LLMBAR[1:3]), ("swap = True", LLMBAR[2:0:-1])):
        game = under(record, "results", 0, swap)
        choice = dict(zip(names, "AB", strict=True)).get(f"output_{under(game, 'winner')}", "N")
        shown = {"first": names[0], "second": names[1], "choice": choice}
        yield Record("pairs", cells | shown, reply=text_in(under(game, "completion", 0)))


def _judge(record: Json) -> tuple[str, str]:
    """(model, template) of an MT-Bench judge."""
    judge = record.get("judge")
    return name_of(under(judge, 0) or judge), name_of(under(judge, 1))


def _mt_pairs(record: Json, _: Source) -> Records:
    """MT-Bench (FastChat, ``play_a_match_pair``): game 1 shows model_1 first, game 2 model_2;
    winners are models' names.
    """
    if "m1_score" in record:
        yield "its winner follows from two single scores: no pair was shown"
        return
    judge, template = _judge(record)
    for game, (first, second) in ((1, ("model_1", "model_2")), (2, ("model_2", "model_1"))):
        winner, reply = record[f"g{game}_winner"], text_in(record.get(f"g{game}_judgment"))
        if reply == "$ERROR$" or winner is None:
            yield FAILED
            continue
        cells = {
            "judge": judge,
            "question_id": name_of(record["question_id"]),
            "first": name_of(record[first]),
            "second": name_of(record[second]),
            "task": ", ".join(filter(None, [f"turn {record.get('turn', 1)}", template])),
            "choice": {first: "A", second: "B", "tie": "C"}.get(str(winner), "N"),
        }
        yield Record("pairs", cells, messages_in(record.get(f"g{game}_user_prompt")), reply)


def _mt_singles(record: Json, _: Source) -> Records:
    """MT-Bench's single ratings, 1 to 10 in a prompt that lists no options: one order, whose scores
    can be counted.
    """
    score, question, maker = (name_of(record[key]) for key in ("score", "question_id", "model"))
    if score not in ("-1", *TEN.split()):
        yield "its score is none of 1 to 10"
        return
    task = f"turn {record.get('turn', 1)}"
    cells = {
        "judge": _judge(record)[0],
        "item_id": f"{question}: {task}: {maker}",
        "ordering": TEN,
        "task": task,
        "score": score.replace("-1", ""),
        "block": question,
        "candidate": maker,
    }
    yield Record("scores", cells, messages_in(record["user_prompt"]), text_in(record["judgment"]))


def _judges(record: Json) -> Iterator[tuple[str, Any, Any]]:
    """(judge, score or scores, reply or replies) of each judge of a record in a Prometheus
    format.
    """
    if "score" in record:
        yield name_of(record.get("eval_model_name")), record["score"], record.get("feedback")
    for name, given in record.items():
        judge = name.removesuffix("_score")
        if judge not in (name, *NOT_JUDGES):
            yield judge, given, record.get(f"{judge}_feedback", record.get(f"{judge}_output"))


def _is_prometheus(log: Source) -> bool:
    first = next(log.records(), {}) if log.form == "json" else log.first
    return ("Score Rubric" in str(first.get("instruction")) or "score_rubric" in first) and any(
        _judges(first)
    )


def _prometheus(record: Json, _: Source) -> Records:
    """Kim et al. 2024 and BiGGen Bench: a rubric a record. Where ``instruction`` is the whole
    prompt, the list at its end is the order shown; else the evaluator's template writes the scores
    of ``score_rubric`` as they come.
    """
    rubric, whole = record.get("score_rubric"), str(record.get("instruction"))
    prompt = messages_in(whole) if "Score Rubric" in whole else ()
    listed = "\n".join(rubric) if isinstance(rubric, dict) else str(rubric)
    text = whole.rpartition("Score Rubric")[2] if prompt else listed
    scores = re.findall(r"^\W*score ?(\d{1,2})(?::|_desc)", text, re.I | re.M)
    maker = next(
        (
            name_of(record[key])
            for key in ("response_source", "response_model_name")
            if key in record
        ),
        "",
    )
    name = next((name_of(record[key]) for key in ("idx", "id") if key in record), "")
    item = {
        "item_id": short_name(
            f"{name}: {maker}"
            if name
            else f"{whole} {record.get('input')} {record.get('response')}"
        ),
        "task": name_of(record.get("task", record.get("category"))),
        "block": name,
        "candidate": maker,
        "ordering": " ".join(scores),
        "human": name_of(record.get("human_score")),
    }
    for judge, given, replies in _judges(record):
        for k, score in enumerate(given if isinstance(given, list) else [given]):
            if not scores or name_of(score) not in ("", *scores):
                yield (
                    "its score is none of its rubric's"
                    if scores
                    else "its rubric has no scores that could be read"
                )
                continue
            reply = text_in(under(replies, k) if isinstance(replies, list) else replies)
            yield Record("scores", item | {"judge": judge, "score": name_of(score)}, prompt, reply)


BENCHMARKS = (
    Reader("AlpacaEval", lambda log: log.has(*ALPACA), _alpaca),
    Reader("LLMBar", lambda log: log.has(*LLMBAR), _llmbar),
    Reader("JudgeBench", lambda log: log.has(*JUDGE_BENCH), _judge_bench),
    Reader("MT-Bench pairs", lambda log: log.has(*MT_PAIR), _mt_pairs),
    Reader("MT-Bench single ratings", lambda log: log.has(*MT_SINGLE), _mt_singles),
    Reader("Prometheus or BiGGen Bench", _is_prometheus, _prometheus),
)
