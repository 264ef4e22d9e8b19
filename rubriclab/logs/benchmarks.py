"""Published judgments of benchmarks in, rows of pairs and scores out; the order stands in their own fields."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from rubriclab.logs.source import Reader, Record, Source
from rubriclab.logs.tools import FAILED, Records, figure, inner_of, messages_in, name_of, text_in

ALPACA = ("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference")
JUDGE_BENCH = ("pair_id", "response_A", "response_B", "judgments")
MT_PAIR = ("question_id", "model_1", "model_2", "g1_winner", "g2_winner")
MT_SINGLE = ("question_id", "model", "user_prompt", "judgment", "score")
NOT_JUDGES = ("human", "reference", "orig", "norm")
TEN = " ".join(str(score) for score in range(1, 11))


def short_name(text: str) -> str:
    """A name for a text: its beginning, with a hash where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:60]}… {sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _alpaca(source: Source) -> Records:
    """AlpacaEval 2: ``preference`` from 1 (output_1) to 2, whatever the order shown; ``referenced_models`` says which one was
    shown first, else the evaluator's own seed does (alpaca_eval, ``PairwiseAnnotator``: ``is_switched_outputs``)."""
    for record in source.records():
        if isinstance(record, str) or not all(isinstance(record.get(name), str) for name in ALPACA[:5]):
            yield record if isinstance(record, str) else "it lacks a text for instruction, output or generator"
            continue
        preference, named = record.get("preference"), record.get("referenced_models")
        if figure(preference) == "" or not 1 <= float(preference) <= 2:
            yield "the annotator gave no preference from 1 to 2"
            continue
        if isinstance(named, str):
            named = json.loads(named.replace("'", '"')) if named.startswith("{") else None
        first = inner_of(named, "m")
        if "referenced_models" in record and first not in ("output_1", "output_2"):
            yield "its field referenced_models does not say which output was shown first"
            continue
        seed = random.Random("is_switched_outputs" + record["instruction"] + "0")
        switched = first == "output_2" if first else seed.choices([False, True])[0]
        model = float(preference) - 1.0
        won = model if switched else 1.0 - model
        shown = ("2", "1") if switched else ("1", "2")
        yield Record(
            "pairs",
            {
                "judge": name_of(record.get("annotator")) or "annotator", "question_id": short_name(record["instruction"]),
                "task": name_of(record.get("dataset")), "first": record[f"generator_{shown[0]}"],
                "second": record[f"generator_{shown[1]}"], "choice": "C" if won == 0.5 else "A" if won > 0.5 else "B",
                "expected": f"{won:.9g}",
            },
            reply=text_in(record.get("raw_completion")),
        )  # fmt: skip


def _judge_bench(source: Source) -> Records:
    """JudgeBench (Tan et al. 2025): the first judgment saw A first, the second B; decisions are in the order shown."""
    names = {"A>B": ("correct", "incorrect"), "B>A": ("incorrect", "correct")}
    for record in source.records():
        judgments = [record] if isinstance(record, str) else record.get("judgments")
        if not isinstance(judgments, list) or not judgments:
            yield "it has no list of judgments"
            continue
        for number, judgment in enumerate(judgments):
            if isinstance(judgment, str) or not isinstance(judgment, Mapping) or number > 1:
                yield judgment if isinstance(judgment, str) else FAILED if number < 2 else "a third judgment of a pair"
                continue
            shown = names.get(record.get("label"), ("A", "B"))[:: -1 if number else 1]
            call, decision = judgment.get("judgment"), judgment.get("decision")
            judge = [name_of(inner_of(call, "judge_model")), name_of(record.get("judge_name"))]
            yield Record(
                "pairs",
                {
                    "judge": " ".join(filter(None, judge)), "question_id": name_of(record.get("pair_id")),
                    "task": name_of(record.get("source")), "first": shown[0], "second": shown[1],
                    "choice": {"A>B": "A", "B>A": "B", "A=B": "C"}.get(str(decision), "N"),
                    "gold": "correct" if record.get("label") in names else "",
                },
                messages_in(inner_of(call, "prompt")), text_in(inner_of(call, "response")),
            )  # fmt: skip


def _mt_pairs(source: Source) -> Records:
    """MT-Bench (FastChat, ``play_a_match_pair``): game 1 shows model_1 first, game 2 model_2; winners are models' names."""
    for record in source.records():
        if isinstance(record, str) or "m1_score" in record:
            yield record if isinstance(record, str) else "its winner follows from two single scores: no pair was shown"
            continue
        judge, models = record.get("judge"), ("model_1", "model_2")
        judge = [name_of(part) for part in (judge if isinstance(judge, list) else [judge])]
        for game, shown in ((1, models), (2, models[::-1])):
            winner, reply = record.get(f"g{game}_winner"), text_in(record.get(f"g{game}_judgment"))
            if reply == "$ERROR$" or winner is None:
                yield FAILED
                continue
            task = ", ".join(filter(None, [f"turn {record.get('turn', 1)}", *judge[1:2]]))
            yield Record(
                "pairs",
                {
                    "judge": judge[0], "question_id": name_of(record["question_id"]), "task": task,
                    "first": name_of(record[shown[0]]), "second": name_of(record[shown[1]]),
                    "choice": {shown[0]: "A", shown[1]: "B", "tie": "C"}.get(str(winner), "N"),
                },
                messages_in(record.get(f"g{game}_user_prompt")), reply,
            )  # fmt: skip


def _mt_singles(source: Source) -> Records:
    """MT-Bench's single ratings, 1 to 10 in a prompt that lists no options: one order, whose scores can be counted."""
    for record in source.records():
        score = "" if isinstance(record, str) else figure(record.get("score"))
        if isinstance(record, str) or not score or record.get("judgment") == "$ERROR$":
            yield record if isinstance(record, str) else FAILED
        elif score not in ("-1", *TEN.split()):
            yield "its score is none of 1 to 10"
        else:
            judge = record.get("judge")
            names = [name_of(record["question_id"]), f"turn {record.get('turn', 1)}", name_of(record["model"])]
            cells = {
                "judge": name_of(judge[0] if isinstance(judge, list) and judge else judge), "item_id": ": ".join(names),
                "ordering": TEN, "score": score.replace("-1", ""), "block": names[0], "candidate": names[2], "task": names[1],
            }  # fmt: skip
            yield Record("scores", cells, messages_in(record.get("user_prompt")), text_in(record.get("judgment")))


def _judges(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(judge, score or scores, reply or replies) of each judge of a record in a Prometheus format."""
    if "score" in record:
        yield name_of(record.get("eval_model_name")), record["score"], record.get("feedback")
    for name, given in record.items():
        judge = name.removesuffix("_score")
        if judge != name and judge not in NOT_JUDGES:
            yield judge, given, record.get(f"{judge}_feedback", record.get(f"{judge}_output"))


def _is_prometheus(source: Source) -> bool:
    first = source.first
    if source.form == "object" and not source.has("score_rubric"):
        first = next((part for part in source.records() if isinstance(part, dict)), {})
    prompted = "Score Rubric" in str(first.get("instruction", ""))
    return (prompted or "score_rubric" in first) and any(_judges(first))


def _prometheus(source: Source) -> Records:
    """Kim et al. 2024 and BiGGen Bench: a rubric a record. Where ``instruction`` is the whole prompt its list is the order;
    else the evaluator's template writes score 1 to 5. ``orig_response_A`` and ``_B``: a pair as shown."""
    for record in source.records():
        if isinstance(record, str):
            yield record
            continue
        name = next((name_of(record[key]) for key in ("idx", "id", "uid") if key in record), "")
        answers = [record.get(key) for key in ("orig_response_A", "orig_response_B")]
        maker = next((name_of(record[key]) for key in ("response_source", "response_model_name") if key in record), "")
        rubric = record.get("score_rubric")
        scores = (
            sorted(re.findall(r"score(\d{1,2})_desc", " ".join(rubric)), key=int) if isinstance(rubric, Mapping) else []
        )
        scores = scores or (re.findall(r"^Score (\d{1,2}):", rubric, re.M) if isinstance(rubric, str) else [])
        for judge, given, replies in _judges(record):
            for k, score in enumerate(given if isinstance(given, list) else [given]):
                reply = text_in(replies[k] if isinstance(replies, list) and k < len(replies) else replies)
                cells = {"judge": judge, "task": name_of(record.get("task", record.get("category")))}
                if None not in answers:
                    shown = ("chosen", "rejected") if record.get("chosen") != "B" else ("rejected", "chosen")
                    asked = short_name(f"{record.get('orig_instruction')} {sorted(map(str, answers))}")
                    choice = {"A": "A", "B": "B", "tie": "C"}.get(str(score), "N")
                    pair = {"question_id": asked, "first": shown[0], "second": shown[1], "choice": choice}
                    yield Record("pairs", cells | pair, (), reply)
                elif "Score Rubric" in str(record.get("instruction", "")):
                    yield Record("", cells, messages_in(record["instruction"]), reply, figure(score))
                elif not scores or (figure(score) not in scores and score is not None):
                    yield (
                        "its score is none of its rubric's"
                        if scores
                        else "its rubric has no options that could be read"
                    )
                else:
                    own = short_name(f"{name}: {maker}" if name else f"{record.get('input')} {record.get('response')}")
                    item = {"item_id": own, "candidate": maker, "ordering": " ".join(scores), "score": figure(score)}
                    human = figure(record.get("human_score"))
                    yield Record("scores", cells | item | {"human": human} | {"block": name}, (), reply)


BENCHMARKS = (
    Reader("AlpacaEval", lambda source: source.has(*ALPACA), _alpaca),
    Reader("JudgeBench", lambda source: source.has(*JUDGE_BENCH), _judge_bench),
    Reader("MT-Bench pairs", lambda source: source.has(*MT_PAIR), _mt_pairs),
    Reader("MT-Bench single ratings", lambda source: source.has(*MT_SINGLE), _mt_singles),
    Reader("Prometheus or BiGGen Bench", _is_prometheus, _prometheus),
)
