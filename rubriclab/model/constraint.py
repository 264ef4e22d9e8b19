"""Constrain a reply to the labels of its call: fields of the request, and the label in the reply.

There are four ways, called rungs: ``free`` sends nothing; ``choice`` is vLLM's
``structured_outputs``; ``grammar`` is GBNF, which llama.cpp reads; ``schema`` is OpenAI's strict
JSON schema. Servers drop fields that they do not know, so a rung counts only after a question that
a free answer must break (``judges/rungs.py``).
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

Constraint = Literal["free", "choice", "grammar", "schema"]
RUNGS: tuple[Constraint, ...] = get_args(Constraint)[1:]
"""The rungs that constrain. The first changes the reply least, the last most: JSON around the label
is another prompt."""
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
"""Fields of a request that constrain its reply. Servers refuse two at once, or ignore one of
them."""
SCHEMA_TOKENS = 32
"""Tokens that an answer in JSON needs at least: 18 were measured for one digit, since a server may
put blanks between the signs."""
ANSWER = "score"
"""The name of the label in JSON. Scores and letters share it, so no name depends on the
question."""


def constraint_fields(rung: Constraint, labels: Sequence[str], begun: str = "") -> dict[str, Any]:
    """Return the fields of a request that constrain its reply to one of ``labels``.

    The order of ``labels`` never changes with the order shown, because some servers show the schema
    to the model. ``begun``: the words that begin the answer, if any; where they do not end with a
    blank, the label may need one before it.
    """
    if rung == "choice":
        return {"structured_outputs": {"choice": list(labels)}}
    if rung == "grammar":
        blank = '" "? ' if begun and not begun[-1].isspace() else ""
        alternatives = " | ".join(json.dumps(label, ensure_ascii=False) for label in labels)
        return {"grammar": f"root ::= {blank}({alternatives})"}
    if rung == "schema":
        whole = all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels)
        values = [int(label) for label in labels] if whole else list(labels)
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
    """Return the label that a constrained reply is, or None for a reply that breaks the constraint.

    llama.cpp repeats the words that an answer was begun with, so they are taken off.
    """
    said = text.removeprefix(begun).strip() if begun else text.strip()
    if rung == "schema":
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            return None
        if not isinstance(answer, dict) or list(answer) != [ANSWER]:
            return None
        value = answer[ANSWER]
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        said = str(value)
    return said if said in labels else None
