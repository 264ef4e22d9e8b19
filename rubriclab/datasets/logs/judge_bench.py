"""JudgeBench's outputs: a pair a record, judged in both orders.

Shape (ScalerLab/JudgeBench, ``run_judge.py`` and ``outputs/*.jsonl``; Tan et al. 2025): ``pair_id, source,
question, response_A, response_B, label, judge_name, judgments``. ``judgments[0]`` saw A first,
``judgments[1]`` B first; each is null (the call failed) or ``{judgment: {judge_model, prompt, response},
decision}`` with decision A>B, B>A, A=B or null, written in the order shown: in the second one “A” is
response B. One judgment only where the judge was run with ``--single_game``. ``label`` says which response
is right, so the candidates are called “correct” and “incorrect”. ``source`` is the task.

Tried on the real outputs of claude-3-haiku with Arena-Hard's prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import PREFERENCE, UNKNOWN, lacks, name_of, names_by_text, place
from rubriclab.model.language import msg

FIELDS = ("pair_id", "response_A", "response_B", "judgments")
_NAMES = {"A>B": ("correct", "incorrect"), "B>A": ("incorrect", "correct")}
_NO_PAIR = msg("no pair of JudgeBench: it lacks a pair_id, a text for a response, or a list of judgments")
_NO_CALL = msg("the call failed (judgment is null)")
_NO_WORD = msg("decision is none of A>B, B>A, A=B")
_MORE = msg("a third judgment of a pair, whose order is not known")


def _read(source: Source) -> Records:
    for line, record in source.records():
        judgments = record.get("judgments")
        if lacks(record, *FIELDS[:3]) or not isinstance(judgments, list) or not judgments:
            yield Unread(line, _NO_PAIR)
        else:
            yield from _pair(line, record, judgments)


def _pair(line: int, record: Mapping[str, Any], judgments: list[Any]) -> Iterator[Logged | Unread]:
    texts = str(record["response_A"]), str(record["response_B"])
    label = record.get("label")
    names = (_NAMES.get(label) if isinstance(label, str) else None) or names_by_text(*texts)
    for number, judgment in enumerate(judgments):
        said = judgment.get("judgment") if isinstance(judgment, Mapping) else None
        chosen = place(judgment.get("decision"), PREFERENCE) if isinstance(judgment, Mapping) else None
        if number > 1:
            yield Unread(line, _MORE)
        elif not isinstance(judgment, Mapping):
            yield Unread(line, _NO_CALL)
        elif chosen == UNKNOWN:
            yield Unread(line, _NO_WORD)
        else:
            call: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
            step = -1 if number else 1
            yield Logged(
                axis="pairwise",
                judge=_judge(record, call),
                line=line,
                question=name_of(record["pair_id"]),
                shown=names[::step],
                chosen=chosen,
                task=name_of(record.get("source")),
                prompt=text_of(call.get("prompt")),
                reply=text_of(call.get("response")),
                instruction=text_of(record.get("question")),
                responses=texts[::step],
                order_from=msg("the place among the judgments"),
            )


def _judge(record: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    model, prompt = name_of(call.get("judge_model")), name_of(record.get("judge_name"))
    return f"{model} ({prompt})" if model and prompt else model or prompt or "judge"


JUDGE_BENCH = LogFormat(
    msg("JudgeBench: outputs of a judge"), ", ".join(FIELDS), lambda source: source.has(*FIELDS), _read
)
