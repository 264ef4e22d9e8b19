"""Read the published judgments of benchmarks, whose own fields hold the order.

Each reader follows the code of its benchmark. Benchmarks differ in which answer a field names, and
in which answer was shown first.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rubriclab.logs.source import Json, Reader, Record, Source, name_of, short_name, under
from rubriclab.logs.tools import Messages, Records, messages_in, text_in

# Fields by which we recognise the records of each benchmark.
ALPACA = ("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference")
JUDGE_BENCH = ("pair_id", "response_A", "response_B", "judgments")
MT_PAIR = ("question_id", "model_1", "model_2", "g1_winner", "g2_winner")
MT_SINGLE = ("question_id", "model", "user_prompt", "judgment", "score")
LLMBAR = ("input", "output_1", "output_2", "label", "results")
NOT_JUDGES = ("human", "reference", "orig")
"""Prefixes of columns “…_score” in Prometheus formats that do not name a judge."""
TEN = "1 2 3 4 5 6 7 8 9 10"
"""The scores of MT-Bench, as an order."""
FAILED = "the call failed"
"""Why a judgment is left out whose call failed."""


def _alpaca(record: Json, _: Source) -> Records:
    """Yield the judgment of an AlpacaEval 2 record.

    ``preference`` runs from 1 (output_1) to 2 (output_2) and does not depend on the order shown.
    """
    preference = record["preference"]
    if not all(isinstance(record[name], str) for name in ALPACA[:5]):
        yield "it lacks a text for instruction, output or generator"
        return
    if not isinstance(preference, int | float) or not 1 <= preference <= 2:
        yield "the annotator gave no preference from 1 to 2"
        return
    switched = _alpaca_switched(record)
    if switched is None:
        yield "its field referenced_models does not say which output was shown first"
        return
    first, second = record["generator_1"], record["generator_2"]
    won = 2.0 - preference  # share of the win for the output shown first
    if switched:
        first, second = second, first
        won = preference - 1.0
    choice = "A" if won > 0.5 else "B"
    if won == 0.5:
        choice = "C"
    cells = {
        "judge": name_of(record.get("annotator")),
        "question_id": short_name(record["instruction"]),
        "task": name_of(record.get("dataset")),
        "first": first,
        "second": second,
        "choice": choice,
        "expected": f"{won:.12f}".rstrip("0").rstrip("."),
    }
    yield Record("pairs", cells, reply=text_in(record.get("raw_completion")))


def _alpaca_switched(record: Json) -> bool | None:
    """Return whether output_2 was shown first; None where the record contradicts itself.

    Without ``referenced_models`` we draw the order with the evaluator's own seed (alpaca_eval,
    ``PairwiseAnnotator``: ``is_switched_outputs``).
    """
    first = under(record.get("referenced_models"), "m")
    if "referenced_models" in record and first not in ("output_1", "output_2"):
        return None
    if first:
        return bool(first == "output_2")
    seed = f"is_switched_outputs{record['instruction']}0"
    return random.Random(seed).choices([False, True])[0]


def _judge_bench(record: Json, _: Source) -> Records:
    """Yield the judgments of a JudgeBench record (Tan et al. 2025).

    The first judgment shows A first, and the second shows B first. A decision names the answers by
    the order shown.
    """
    judgments = record["judgments"]
    gold = {"A>B": ("correct", "incorrect"), "B>A": ("incorrect", "correct")}
    names = gold.get(str(record.get("label")), ("A", "B"))
    for number, judgment in enumerate(judgments if isinstance(judgments, list) else [None]):
        if number > 1:
            yield "a third judgment of a pair, whose order is not known"
            continue
        call = under(judgment, "judgment")
        if call is None:
            yield FAILED
            continue
        judge = f"{name_of(under(call, 'judge_model'))} {name_of(record.get('judge_name'))}"
        first, second = names if number == 0 else names[::-1]
        cells = {
            "judge": judge.strip(),
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
    """Yield the two judgments of an LLMBar record (Zeng et al. 2024), one in each order.

    The record is in an evaluator's ``result.json``. ``winner`` names an output of the record and
    does not depend on the order shown: “1” is output_1 in both orders.
    """
    texts = "\n".join(str(record[name]) for name in LLMBAR[:3])
    judge = re.sub(r"\.?result\.json(\.gz)?$", "", log.name) or "LLMBar evaluator"
    cells = {"judge": judge, "question_id": short_name(texts), "gold": f"output_{record['label']}"}
    orders = {"swap = False": ("output_1", "output_2"), "swap = True": ("output_2", "output_1")}
    for swap, (first, second) in orders.items():
        game = under(record, "results", 0, swap)
        winner = f"output_{under(game, 'winner')}"
        shown = {"first": first, "second": second}
        shown["choice"] = {first: "A", second: "B"}.get(winner, "N")
        yield Record("pairs", cells | shown, reply=text_in(under(game, "completion", 0)))


def _judge(record: Json) -> tuple[str, str]:
    """Return (model, template) of an MT-Bench judge."""
    judge = record.get("judge")
    return name_of(under(judge, 0) or judge), name_of(under(judge, 1))


def _mt_pairs(record: Json, _: Source) -> Records:
    """Yield the two judgments of an MT-Bench pair (FastChat, ``play_a_match_pair``).

    Game 1 shows model_1 first and game 2 shows model_2 first. A winner is “model_1” or “model_2”.
    """
    if "m1_score" in record:
        yield "its winner follows from two single scores: no pair was shown"
        return
    judge, template = _judge(record)
    turn = f"turn {record.get('turn', 1)}"
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
            "task": f"{turn}, {template}" if template else turn,
            "choice": {first: "A", second: "B", "tie": "C"}.get(str(winner), "N"),
        }
        yield Record("pairs", cells, messages_in(record.get(f"g{game}_user_prompt")), reply)


def _mt_singles(record: Json, _: Source) -> Records:
    """Yield the judgment of an MT-Bench single rating, from 1 to 10.

    Its prompt lists no options, so all ratings have the same order. FastChat writes -1 for a reply
    without a rating.
    """
    score, question, maker = (name_of(record[key]) for key in ("score", "question_id", "model"))
    if score not in ("-1", *TEN.split()):
        yield "its score is not a whole number from 1 to 10"
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


@dataclass(frozen=True)
class _Given:
    """What one judge gave a record in a Prometheus format.

    scores, replies: one value, or a list with one value per repeat.
    """

    judge: str
    scores: Any
    replies: Any


def _judges(record: Json) -> Iterator[_Given]:
    """Yield the scores and replies of each judge of a record in a Prometheus format."""
    if "score" in record:
        judge = name_of(record.get("eval_model_name"))
        yield _Given(judge, record["score"], record.get("feedback"))
    for name, given in record.items():
        judge = name.removesuffix("_score")
        if judge == name or judge in NOT_JUDGES:
            continue
        replies = record.get(f"{judge}_feedback", record.get(f"{judge}_output"))
        yield _Given(judge, given, replies)


def _is_prometheus(log: Source) -> bool:
    """Return whether the first record has a rubric and a judge's score."""
    first = next(log.records(), {}) if log.form == "json" else log.first
    has_rubric = "Score Rubric" in str(first.get("instruction")) or "score_rubric" in first
    return has_rubric and any(True for _ in _judges(first))


def _prometheus(record: Json, _: Source) -> Records:
    """Yield the judgments of a record of Prometheus (Kim et al. 2024) or of BiGGen Bench.

    Each record has its own rubric. Where ``instruction`` is the whole prompt, the list at its end
    gives the order shown. Otherwise the evaluator's template lists the scores of ``score_rubric``
    in their own order.
    """
    rubric, whole = record.get("score_rubric"), str(record.get("instruction"))
    prompt: Messages = ()
    text = "\n".join(rubric) if isinstance(rubric, dict) else str(rubric)
    if "Score Rubric" in whole:
        prompt = messages_in(whole)
    if prompt:
        text = whole.rpartition("Score Rubric")[2]
    scores = re.findall(r"^\W*score ?(\d{1,2})(?::|_desc)", text, re.I | re.M)
    item = _prometheus_item(record, whole) | {"ordering": " ".join(scores)}
    for given in _judges(record):
        repeats = given.scores if isinstance(given.scores, list) else [given.scores]
        for k, value in enumerate(repeats):
            score = name_of(value)
            if not scores:
                yield "its rubric has no scores that could be read"
            elif score not in ("", *scores):
                yield "its score is not in its rubric"
            else:
                replies = given.replies
                reply = text_in(under(replies, k) if isinstance(replies, list) else replies)
                yield Record("scores", item | {"judge": given.judge, "score": score}, prompt, reply)


def _prometheus_item(record: Json, whole: str) -> dict[str, str]:
    """Return the cells that do not depend on the judge. ``whole``: the field ``instruction``."""
    maker = _first_field(record, ("response_source", "response_model_name"))
    name = _first_field(record, ("idx", "id"))
    about = f"{whole} {record.get('input')} {record.get('response')}"
    return {
        "item_id": short_name(f"{name}: {maker}" if name else about),
        "task": name_of(record.get("task", record.get("category"))),
        "block": name,
        "candidate": maker,
        "human": name_of(record.get("human_score")),
    }


def _first_field(record: Json, keys: tuple[str, ...]) -> str:
    """Return the first of these fields that the record has; empty if it has none."""
    for key in keys:
        if key in record:
            return name_of(record[key])
    return ""


BENCHMARKS = (
    Reader("AlpacaEval", lambda log: log.has(*ALPACA), _alpaca),
    Reader("LLMBar", lambda log: log.has(*LLMBAR), _llmbar),
    Reader("JudgeBench", lambda log: log.has(*JUDGE_BENCH), _judge_bench),
    Reader("MT-Bench pairs", lambda log: log.has(*MT_PAIR), _mt_pairs),
    Reader("MT-Bench single ratings", lambda log: log.has(*MT_SINGLE), _mt_singles),
    Reader("Prometheus or BiGGen Bench", _is_prometheus, _prometheus),
)
"""The readers of this module, each with its test of whether a log is from its benchmark."""
