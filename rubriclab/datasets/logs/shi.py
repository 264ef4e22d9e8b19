"""The records of “Judging the Judges” (Shi et al. 2024): a pair a row, both orders, the reply in the judge's column.

Shape (Slimshilin/Position-Bias-Analyzer, ``judgment_data/*/record_JUDGE_N.tsv``): ``cmp_index``
(``question;first;second``), the question (one column a turn), the answers in the order shown, ``A`` and
``B`` (who wrote them), reference answers, ``task``, and last a column named after the judge with its reply.
MT-Bench's replies end in ``[[A]]``, ``[[B]]`` or ``[[C]]`` (a tie), DevBench's begin with ``Choice: A``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, question_of, text_of
from rubriclab.datasets.logs.rows import first_row, rows
from rubriclab.datasets.logs.source import Source
from rubriclab.model.language import msg

FIELDS = ("cmp_index", "A", "B", "task")
_PLACES = {"A": 1, "B": 2, "C": 0}
_VERDICT = re.compile(r"\[\[([ABC])\]\]")
_CHOICE = re.compile(r"^\W*Choice\W+([ABC])\b", re.M)
_NO_PAIR = msg("no pair: it lacks cmp_index, A or B, or they name one candidate")
_NO_REPLY = msg("the judge gave no reply (its column is empty)")


def _read(source: Source) -> Records:
    for line, row in rows(source):
        judge, names = (list(row) or [""])[-1], (text_of(row.get("A")), text_of(row.get("B")))
        reply = text_of(row.get(judge))
        if not row.get("cmp_index") or not all(names) or names[0] == names[1]:
            yield Unread(line, _NO_PAIR)
        elif not reply.strip():
            yield Unread(line, _NO_REPLY)
        else:
            yield Logged(
                axis="pairwise",
                judge=judge,
                line=line,
                question=question_of(text_of(row["cmp_index"]).split(";")[0]),
                shown=names,
                chosen=_chosen(reply),
                task=text_of(row.get("task")),
                reply=reply,
                instruction=_joined(row, [name for name in row if name.startswith("question")]),
                responses=_responses(row),
                order_from=msg("the file's own fields"),
            )


def _chosen(reply: str) -> int | None:
    """The place of the last verdict; None where there is none."""
    said = _VERDICT.findall(reply) or _CHOICE.findall(reply)
    return _PLACES[said[-1]] if said else None


def _responses(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The first candidate's answers come before the second's, one a turn; none where they do not go in two."""
    names = [name for name in row if name.startswith("answer")]
    half = len(names) // 2
    return (_joined(row, names[:half]), _joined(row, names[half:])) if half and len(names) == 2 * half else ()


def _joined(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return "\n\n".join(text for name in names if (text := text_of(row[name])).strip())


def _matches(source: Source) -> bool:
    first = first_row(source)
    if not all(field in first for field in FIELDS):
        return False
    index = text_of(first["cmp_index"])  # "" in a text table, of which the columns alone are looked at
    return not index or ";" in index


SHI = LogFormat(msg("Judging the Judges: record_JUDGE.tsv"), ", ".join(FIELDS), _matches, _read)
