"""AlpacaEval's annotations: one pair a record, each shown in one order, drawn at random.

``output_1`` is the baseline's answer, ``output_2`` the model's; ``preference`` runs from 1 (baseline) to 2
(model), 1.5 a tie, and is turned back to this naming whatever the order shown (alpaca_eval 0.6,
``PairwiseAnnotator``). ``referenced_models`` says which output stood first (``m``). Files of annotators that
rank by tokens lack it: their order follows from the seed by which the evaluator swaps outputs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, question_of, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.model.language import msg

FIELDS = ("instruction", "output_1", "output_2", "generator_1", "generator_2", "preference")
_NO_REPLY = msg("the annotator gave no reply (raw_completion is null)")
_NO_PAIR = msg(
    "no pair of AlpacaEval: it lacks a text for one of instruction, output_1, output_2, generator_1, generator_2"
)
_NO_PREFERENCE = msg("preference is no number from 1 to 2")


def _read(source: Source) -> Records:
    for line, record in source.records():
        if not all(isinstance(record.get(name), str) for name in FIELDS[:5]):
            yield Unread(line, _NO_PAIR)
        elif "raw_completion" in record and record["raw_completion"] is None:
            yield Unread(line, _NO_REPLY)
        else:
            yield _pair(line, record)


def _pair(line: int, record: Mapping[str, Any]) -> Logged | Unread:
    preference = record.get("preference")
    if isinstance(preference, bool) or not isinstance(preference, int | float) or not 1 <= preference <= 2:
        return Unread(line, _NO_PREFERENCE)
    named = _first_named(record.get("referenced_models"))
    model_first = named == "output_2" if named else _swapped_by_seed(str(record["instruction"]))
    model = float(preference) - 1.0
    first = model if model_first else 1.0 - model
    order = (2, 1) if model_first else (1, 2)
    return Logged(
        axis="pairwise",
        judge=text_of(record.get("annotator")) or "annotator",
        line=line,
        question=question_of(str(record["instruction"])),
        shown=tuple(str(record[f"generator_{k}"]) for k in order),
        chosen=0 if first == 0.5 else 1 if first > 0.5 else 2,
        probabilities=None if model in (0.0, 0.5, 1.0) else (first, 1.0 - first),
        task=text_of(record.get("dataset")),
        reply=text_of(record.get("raw_completion")),
        instruction=str(record["instruction"]),
        responses=tuple(str(record[f"output_{k}"]) for k in order),
        order_from=msg("field referenced_models") if named else msg("the evaluator's seed"),
    )


def _first_named(referenced: object) -> str:
    """The output that the annotator was shown as ``m``, which stands first; "" where that is not told."""
    if isinstance(referenced, str):
        try:
            referenced = json.loads(referenced.replace("'", '"'))
        except json.JSONDecodeError:
            return ""
    first = referenced.get("m") if isinstance(referenced, Mapping) else None
    return first if first in ("output_1", "output_2") else ""


def _swapped_by_seed(instruction: str) -> bool:
    """Were the outputs swapped, by alpaca_eval's ``random_seeded_choice`` with its default seed 0?

    Confirmed by ``referenced_models`` in 1,603 of 1,605 records of two of its files.
    """
    return random.Random("is_switched_outputs" + instruction + "0").choices([False, True])[0]


ALPACA_EVAL = LogFormat(
    msg("AlpacaEval: annotations.json of an annotator"), ", ".join(FIELDS), lambda source: source.has(*FIELDS), _read
)
