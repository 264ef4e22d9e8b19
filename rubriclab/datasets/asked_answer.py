"""How a prompt asks for its answer: as JSON, in a tag, as a label alone, or somewhere in the reply."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rubriclab.datasets.list_meaning import Kind
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule


def asked_answer(texts: Sequence[str], kind: Kind) -> tuple[AnswerRule, str]:
    """How the prompt asks for its answer, and a sentence on it; the last label where it does not say.

    A label alone takes a few tokens and a reply with a label somewhere hundreds, so what the prompt
    shows of it decides what a study costs.

    ``texts``: the messages without the item's own words and without the list.
    """
    text = "\n".join(texts)
    if kind != "criteria" and (keys := list(dict.fromkeys(match[1] for match in _KEY.finditer(text)))):
        return AnswerRule("json", path=keys[-1]), tr(
            "The answer is read as JSON, at “{key}”, since the prompt names that key. Change [answer] where your "
            "parser reads another.",
            key=keys[-1],
        )
    if kind != "criteria" and (tags := [m[1] for m in _ASKED_TAG.finditer(text)]):
        return AnswerRule("tag", tag=tags[-1]), tr(
            "The answer is read between <{tag}> and </{tag}>, since the prompt names them. Change [answer] where "
            "your parser reads otherwise.",
            tag=tags[-1],
        )
    if kind != "criteria" and "[RESULT]" in text:
        return AnswerRule("regex", pattern=_RESULT), tr(
            "The answer is read behind [RESULT], since the prompt names it. Change [answer] where your "
            "parser reads otherwise."
        )
    if kind != "criteria" and _LABEL_NEXT.search(text):
        return AnswerRule("label"), tr(
            "The reply is read as the label alone, since the prompt asks for nothing else or ends where the "
            "label is to stand. Change [answer] where your judge writes more."
        )
    return AnswerRule("last_label"), tr(
        "The answer is read as the last label in the reply, since the prompt names no form of it that is "
        "known; write into [answer] how your parser reads it."
    )


_ASKED = r"(?:final[_ ])?(?:scores?|ratings?|grades?|verdict|level|label|points|winner|choice|note|bewertung|punkte)"
_KEY = re.compile(rf"[\"“]({_ASKED})[\"”]\s?:", re.IGNORECASE)
_RESULT = r"\[RESULT\][\s:(]{0,4}([^\s()\[\].,;]{1,40})"
_LABEL_NEXT = re.compile(
    r"[:：]\s*\Z|\b(?:only|alone|nothing else|just the|a single|nur|ausschließlich|sonst nichts)\b", re.IGNORECASE
)
_ASKED_TAG = re.compile(rf"<({_ASKED})>(?=[^<]{{0,80}}</)", re.IGNORECASE)
