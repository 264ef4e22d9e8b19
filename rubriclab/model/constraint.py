"""Constrain a judge's reply to the labels of its call, and get the label out of that reply.

There are four ways, called rungs. ``free`` sends nothing. ``choice`` is vLLM's
``structured_outputs``. ``grammar`` is GBNF, which llama.cpp knows. ``schema`` is OpenAI's strict
JSON schema. A server may drop fields that it does not know. So the lab trusts a rung only after the
server passed a test that an unconstrained reply fails (``judges/rungs.py``). The fields are part
of what a judge is asked: whoever changes them changes the calls of constrained judges.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

Constraint = Literal["free", "choice", "grammar", "schema"]
RUNGS: tuple[Constraint, ...] = get_args(Constraint)[1:]
"""The rungs that constrain a reply, from the mildest to the strongest. The last one makes the judge
write JSON around the label, which is no longer the reply that the prompt asks for."""
CONSTRAINING_FIELDS = (
    "structured_outputs",
    "response_format",
    "grammar",
    "json_schema",
    "guided_choice",
    "guided_json",
    "guided_regex",
    "guided_grammar",
)
"""Fields of a request that constrain its reply. A request may have only one of them: servers refuse
two, or ignore one of the two."""
SCHEMA_TOKENS = 32
"""The least max_tokens for a reply in JSON. We measured 18 tokens for one digit, since a server may
put blanks between the characters."""
ANSWER = "score"
"""The key of the label in a reply in JSON. Scores and letters have the same key, so that it tells
the judge nothing about the question."""


def constraint_fields(rung: Constraint, labels: Sequence[str], begun: str = "") -> dict[str, Any]:
    """Return the fields of a request that constrain its reply to one of ``labels``.

    ``labels``: in an order that never changes with the order shown, because some servers show the
    schema to the model. ``begun``: the words with which the request begins the reply, if any.
    """
    if rung == "choice":
        return {"structured_outputs": {"choice": list(labels)}}
    if rung == "grammar":
        # The judge goes on behind these words, so it may have to write a blank before the label.
        blank = '" "? ' if begun and not begun[-1].isspace() else ""
        alternatives = " | ".join(json.dumps(label, ensure_ascii=False) for label in labels)
        return {"grammar": f"root ::= {blank}({alternatives})"}
    if rung == "schema":
        values: list[int] | list[str] = list(labels)
        # Scores are numbers in JSON, if each is written as JSON writes it: 4, but not 04 or +4.
        if all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels):
            values = [int(label) for label in labels]
        schema = {
            "type": "object",
            "properties": {ANSWER: {"enum": values}},
            "required": [ANSWER],
            "additionalProperties": False,
        }
        named = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {}


def constrained_label(
    text: str, rung: Constraint, labels: Sequence[str], begun: str = ""
) -> str | None:
    """Return the label that a constrained reply gives, or None if it breaks the constraint.

    llama.cpp repeats ``begun``, the words with which the request began the reply. They are removed.
    """
    label = text.removeprefix(begun).strip()
    if rung == "schema":
        try:
            reply = json.loads(label)
        except (ValueError, RecursionError):
            return None
        if not isinstance(reply, dict) or list(reply) != [ANSWER]:
            return None
        value = reply[ANSWER]
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None  # true is an int in Python, but not a score in JSON
        label = str(value)
    return label if label in labels else None
