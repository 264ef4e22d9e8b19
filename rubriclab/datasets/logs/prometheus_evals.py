"""Evaluations in the Prometheus formats, BiGGen Bench among them: a rubric with every record.

Absolute grading, three shapes (prometheus-eval/prometheus-eval):
- ``instruction`` is the whole judge prompt and ``JUDGE_score`` (as gpt4_score) one score or a list of reads,
  with ``JUDGE_feedback`` or ``JUDGE_output`` (``eval/benchmark/data/*_eval.json`` and the outputs of
  ``eval/run_evaluate.py``). The options stand in the prompt, in the order shown.
- BiGGen Bench (``BiGGen-Bench/run_response_eval.py``): ``id, task, input, response, score_rubric`` object,
  ``score, feedback, eval_model_name``; an object of records by id, a list, or lines.
- the same with ``JUDGE_score`` for several judges, and ``human_score`` as a rating (published results).
The template writes score 1 to 5 in this order, so such files have one order.

Relative grading: ``orig_response_A, orig_response_B, score_rubric, prometheus_score`` (A or B, one or a list
of reads). ``chosen`` names the better one, so the candidates are “chosen” and “rejected”.

Tried on the real MT-Bench evaluation (320 records, three reads each); BiGGen Bench's shape is from its
published sample, relative grading from the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, question_of, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import (
    LETTERS,
    UNKNOWN,
    lacks,
    name_of,
    names_by_text,
    place,
    question_with,
    whole,
)
from rubriclab.datasets.prometheus import Record, is_prompt, is_score_rubric, parse_prompt, parse_score_rubric
from rubriclab.model import DataError
from rubriclab.model.language import msg

_SCORE, _REPLIES = "_score", ("_feedback", "_output")
_NOT_JUDGES = ("human", "reference", "orig")
RELATIVE = ("orig_response_A", "orig_response_B")
_NO_RECORD = msg("no evaluation in a Prometheus format: it has no judge prompt, score_rubric, or pair of responses")
_NO_SCORE = msg("no field of it holds a judge's score (score, or JUDGE_score)")
_NO_RUBRIC = msg("its rubric has no options that could be read")
_NOT_SHOWN = msg("the score is none of the options shown")
_NO_LETTER = msg("the verdict is neither A nor B")
_SOURCES = ("response_source", "response_model_name", "response_model", "model_name")


def _matches(source: Source) -> bool:
    records = [record for _, record in _first(source)]
    return bool(records) and all(_known(record) and next(_judges(record), None) for record in records)


def _first(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, record in enumerate(source.first, start=1):
        yield from _each(number, record)


def _each(line: int, record: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The record, or those of an object of records by id."""
    inner = list(record.values())
    if not _known(record) and inner and all(isinstance(one, Mapping) for one in inner):
        yield from enumerate(inner, start=1)
    else:
        yield line, record


def _known(record: Mapping[str, Any]) -> bool:
    return (
        is_prompt(record.get("instruction"))
        or (is_score_rubric(record.get("score_rubric")) and "response" in record)
        or all(isinstance(record.get(name), str) for name in RELATIVE)
    )


def _judges(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(judge, score or scores, reply or replies) of each judge of a record."""
    if "score" in record:
        yield name_of(record.get("eval_model_name")) or "judge", record["score"], record.get("feedback")
    for field, given in record.items():
        judge = field.removesuffix(_SCORE)
        if field.endswith(_SCORE) and judge and judge not in _NOT_JUDGES:
            yield judge, given, next((record[judge + end] for end in _REPLIES if judge + end in record), None)


def _read(source: Source) -> Records:
    for number, whole_record in source.records():
        for line, record in _each(number, whole_record):
            if not _known(record):
                yield Unread(line, _NO_RECORD)
            elif next(_judges(record), None) is None:
                yield Unread(line, _NO_SCORE)
            elif all(isinstance(record.get(name), str) for name in RELATIVE):
                yield from _relative(line, record)
            else:
                yield from _absolute(line, record)


def _reads(given: Any, replies: Any) -> Iterator[tuple[Any, str]]:
    """Each read of a judge with its reply."""
    reads = given if isinstance(given, list) else [given]
    said = replies if isinstance(replies, list) else [replies]
    for k, read in enumerate(reads):
        yield read, text_of(said[k]) if k < len(said) else ""


# ---------------------------------------------------------------- one answer, scored


def _absolute(line: int, record: Mapping[str, Any]) -> Iterator[Logged | Unread]:
    parts = _parts(record)
    if parts is None:
        yield Unread(line, _NO_RUBRIC)
        return
    shown = tuple(str(score) for score, _ in parts.options)
    candidate = next((name_of(record[name]) for name in _SOURCES if not lacks(record, name)), "")
    block = name_of(record.get("idx", record.get("id"))) or question_of(parts.instruction or "no instruction")
    human = whole(record.get("human_score"))
    prompt = text_of(record.get("instruction")) if is_prompt(record.get("instruction")) else ""
    task = name_of(record.get("task", record.get("category")))
    # What belongs to an item is in its name, so that two records can never disagree about one.
    question = question_with(parts.instruction, parts.response, parts.aspect, f"{candidate}/{block}/{task}/{human}")
    for judge, given, replies in _judges(record):
        for read, reply in _reads(given, replies):
            score = whole(read)
            if read is not None and (score is None or str(score) not in shown):
                yield Unread(line, _NOT_SHOWN)
                continue
            yield Logged(
                axis="options",
                judge=judge,
                line=line,
                question=question,
                shown=shown,
                chosen=None if score is None else shown.index(str(score)) + 1,
                task=task,
                block=block,
                candidate=candidate,
                human=() if human is None or str(human) not in shown else (float(human),),
                prompt=prompt,
                reply=reply,
                instruction=parts.instruction,
                responses=(parts.response,),
                order_from=msg("the logged prompt") if prompt else msg("the evaluator's template"),
            )


def _parts(record: Mapping[str, Any]) -> Record | None:
    try:
        if is_prompt(record.get("instruction")):
            return parse_prompt(str(record["instruction"]), where="the prompt")
        aspect, options = parse_score_rubric(record.get("score_rubric"), where="the rubric")
    except DataError:  # counted under its own reason by whoever asks
        return None
    instruction = text_of(record.get("input", record.get("instruction")))
    return Record(instruction, text_of(record.get("response")), None, None, aspect, options)


# ---------------------------------------------------------------- two answers, compared


def _relative(line: int, record: Mapping[str, Any]) -> Iterator[Logged | Unread]:
    answers = str(record[RELATIVE[0]]), str(record[RELATIVE[1]])
    better = record.get("chosen")
    names = {"A": ("chosen", "rejected"), "B": ("rejected", "chosen")}.get(better if isinstance(better, str) else "")
    instruction = text_of(record.get("orig_instruction"))
    for judge, given, replies in _judges(record):
        for read, reply in _reads(given, replies):
            chosen = place(read, LETTERS)
            if chosen == UNKNOWN:
                yield Unread(line, _NO_LETTER)
                continue
            yield Logged(
                axis="pairwise",
                judge=judge,
                line=line,
                question=question_with(instruction, *answers),
                shown=names or names_by_text(*answers),
                chosen=chosen,
                task=name_of(record.get("task", record.get("category"))),
                reply=reply,
                instruction=instruction,
                responses=answers,
                order_from=msg("fields orig_response_A and orig_response_B"),
            )


PROMETHEUS = LogFormat(
    msg("Prometheus and BiGGen Bench: evaluations with their rubrics"),
    msg("instruction (a Prometheus prompt) or score_rubric and response, with score or JUDGE_score"),
    _matches,
    _read,
)
