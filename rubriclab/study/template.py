"""Render the user's own prompts in a child process that has little time and memory."""

import atexit
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.limits import MB
from rubriclab.data.worker import Worker, program
from rubriclab.model.study import PromptFile
from rubriclab.model.text import LabError, shorten
from rubriclab.study.prompts import Messages
from rubriclab.study.sandbox import names_in

RENDER_SECONDS, RENDER_MEMORY = 2.0, 400 * MB
"""For all orders that one check renders: a real prompt takes a thousandth of it."""
WORKER = Worker(RENDER_SECONDS, command=program(RENDER_MEMORY, "render"))
atexit.register(WORKER.close)


def render(prompt: PromptFile, contexts: Sequence[Mapping[str, Any]]) -> list[Messages]:
    """Return the messages of a prompt in each of the contexts.

    Raises LabError naming the message and what is wrong there: its syntax, an unknown name, more
    time, memory or text than a prompt may take. Everything runs in a child process, so all that a
    hostile template can do is end it.
    """
    texts = [message.text for message in prompt.messages]
    request = {
        "task": "render",
        "name": prompt.name,
        "texts": texts,
        "contexts": contexts,
        "seconds": RENDER_SECONDS,
    }
    line, late = WORKER.exchange(json.dumps(request), RENDER_SECONDS)
    answer: dict[str, Any] = json.loads(line) if line else {}
    if "rendered" not in answer:
        much = f"more than {RENDER_SECONDS:g} seconds" if late else "more memory than a prompt may"
        words = (
            answer.get("error") or f"rendering takes {much}. Take the loops out that need so much."
        )
        raise LabError(f"Prompt “{shorten(prompt.name)}”: {words}")
    roles = [message.role for message in prompt.messages]
    return [
        tuple({"role": role, "content": text} for role, text in zip(roles, texts, strict=True))
        for texts in answer["rendered"]
    ]


def named(prompt: PromptFile) -> tuple[frozenset[str], frozenset[str]]:
    """Return (names that a prompt fills in, columns of the item among them). Parsed, never run.

    Raises LabError for a syntax error.
    """
    names: set[str] = set()
    columns: set[str] = set()
    for number, message in enumerate(prompt.messages, 1):
        try:
            own, asked = names_in(message.text)
        except LabError as fault:
            raise LabError(f"Prompt “{shorten(prompt.name)}”, message {number}: {fault}") from None
        names, columns = names | own, columns | asked
    return frozenset(names), frozenset(columns)
