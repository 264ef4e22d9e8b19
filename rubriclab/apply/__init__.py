"""A judge card and an item in, a score out: the way of asking that a run chose, in a pipeline of yours.

Needs the standard library and a server that speaks the OpenAI chat protocol (or an ``openai``
client handed in)::

    from rubriclab import apply

    judge = apply.load("judge.card.json")
    judged = judge.score({"instruction": "…", "response": "…"})
    judged.score, judged.expected, judged.low, judged.high, judged.reads

``rubriclab card RUN --code FOLDER`` copies what is needed beside a pipeline that must not depend on
the lab; prompts are rendered and replies read by the very modules that the lab uses.
"""

from __future__ import annotations

from rubriclab.apply.card import Card, CardError, ItemError, dumped, sealed
from rubriclab.apply.combine import Judged, Read, Scored
from rubriclab.apply.judge import CardJudge, load

__all__ = ["Card", "CardError", "CardJudge", "ItemError", "Judged", "Read", "Scored", "dumped", "load", "sealed"]
