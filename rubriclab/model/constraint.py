"""Constrain a reply to the labels of its call: fields of the request, and the label in the reply.

There are four constraints, called rungs: ``free`` sends nothing, ``choice`` is vLLM's
``structured_outputs``, ``grammar`` is GBNF, which llama.cpp reads, and ``schema`` is OpenAI's
strict JSON schema. Servers ignore fields that they do not know. So a rung is trusted only after a
question whose natural answer would break it (``judges/rungs.py``).
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
"""Fields of a request that constrain its reply. Of two at once, servers refuse both or ignore
one."""
SCHEMA_TOKENS = 32
"""The least room for a reply in JSON. One digit was measured to take 18 tokens, because a server
may put white space into the JSON."""
ANSWER = "score"
"""The name of the label in JSON. Scores and letters share it, so no name depends on the
question."""


def constraint_fields(rung: Constraint, labels: Sequence[str], begun: str = "") -> dict[str, Any]:
    """Return the fields of a request that constrain its reply to one of ``labels``.

    Some servers show the schema to the model, so the order of ``labels`` is always the same,
    whatever order the prompt shows. ``begun`` holds the words that begin the reply, if any. If they
    do not end with a space, the label may need one before it.
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
    """Return the label that a constrained reply gives; None if it breaks the constraint.

    llama.cpp repeats the words that began the reply, so they are removed.
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
