"""Adapt requests to what a server's refusals say.

The words of a refusal count, whatever its status: some servers refuse a field with a status that
means a wrong key. If a server refuses a field that it does not know, or a number that it does not
allow, requests change from then on, and the run says how. A setting that changes the measured
answer (temperature, seed, reasoning effort, a constraint) is never dropped. There the judge pauses,
and the refusal names the setting.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.judges.faults import REFUSES, REFUSING, Fault
from rubriclab.model.judgment import FOLDED, LOWERED, UNBEGUN

FEW_LOGPROBS = 5
"""Alternatives to ask for if a server refuses more: the limit of several servers."""
FEWEST_TOKENS = 16
"""The least room for a reply: a label and a few words around it. With less room than that, the
prompt is too long for the model."""
SYSTEM = ("system", "developer")
SYSTEM_REFUSED = re.compile(
    r"system[ _-]?(?:roles?|messages?|prompts?|instructions?)\b|developer instruction"
    r"|roles? (?:must|should) alternate"
    r"|only (?:the )?\W?user\W{1,3}(?:and )?\W?(?:assistant|model)"
    r"|\brole\b\W{1,10}system\b|\bsystem\b\W{1,6}role\b"
    r"|\broles?\b.{0,60}\W(?:user\W{1,6}(?:or|and)\W{1,3}(?:assistant|model))",
    re.I | re.S,
)
BEGUN_REFUSED = re.compile(
    r"prefill|continue_final_message|add_generation_prompt|must end with a user"
    r"|(?:last|final) message.{0,60}(?:assistant|user)",
    re.I | re.S,
)
FEWER_LOGPROBS = re.compile(
    r"top_logprobs.{0,80}(?:less|at most|maximum|between|<=|must be)|logprobs.{0,80}max allowed",
    re.I | re.S,
)
LENGTH = re.compile(r"max(?:imum)?[_ ](?:completion_|new_|output_)?tokens", re.I)
MOST = (
    re.compile(r"cannot be greater than max_model_len ?= ?(?P<most>[\d,]+)", re.I),
    re.compile(r"supports at most (?P<most>[\d,]+) (?:completion|output) tokens", re.I),
    re.compile(r": ?[\d,]+ ?> ?(?P<most>[\d,]+), which is the maximum allowed", re.I),
    re.compile(r"valid range of \W?max_tokens\W? is \[1, ?(?P<most>[\d,]+)\]", re.I),
    re.compile(
        r"max_\w*tokens.{0,60}(?:<=|less than or equal to|at most) \W?(?P<most>\d[\d,]*)", re.I
    ),
)
"""How servers name the longest answer that they take: vLLM, OpenAI, Anthropic, DeepSeek, Groq and
others."""
CONTEXT = (
    re.compile(
        r"maximum context length is (?P<context>[\d,]+) tokens.{0,120}?"
        r"\(?(?P<prompt>[\d,]+) (?:tokens )?"
        r"(?:in the messages|of text input|from the input messages|input tokens|in the prompt)",
        re.I | re.S,
    ),
    re.compile(
        r"must be <= (?P<context>[\d,]+)\. Given: (?P<prompt>[\d,]+) \W?inputs", re.I | re.S
    ),
)
"""How servers name a context that prompt and answer share: OpenAI, vLLM and OpenRouter, then
text-generation-inference."""


@dataclass(frozen=True)
class Manner:
    """How one judge's requests are sent.

    limit_field: the field that limits a reply's tokens.
    most_tokens: the largest limit that the server accepts; None if it has named none.
    top_logprobs: alternatives to ask for; 0 asks for none.
    folded: whether the system message is sent inside the user's message.
    unbegun: whether the lab leaves out the words that would begin the reply.
    """

    limit_field: str = "max_tokens"
    most_tokens: int | None = None
    top_logprobs: int = 0
    folded: bool = False
    unbegun: bool = False

    def tokens(self, wanted: int) -> int:
        """Return the tokens that a reply may have."""
        if self.most_tokens is None:
            return wanted
        return min(wanted, self.most_tokens)

    def messages(self, given: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
        """Return the messages as this server takes them."""
        sent = list(given)
        if self.unbegun and sent and sent[-1].get("role") == "assistant":
            sent = sent[:-1]
        if not self.folded or not any(message.get("role") in SYSTEM for message in sent):
            return sent
        words = [message["content"] for message in sent if message.get("role") in SYSTEM]
        sent = [message for message in sent if message.get("role") not in SYSTEM]
        for first, message in enumerate(sent):
            if message.get("role") == "user":
                whole = "\n\n".join([*words, message["content"]])
                return [*sent[:first], {**message, "content": whole}, *sent[first + 1 :]]
        return [{"role": "user", "content": "\n\n".join(words)}, *sent]

    def notes(self, given: Sequence[Mapping[str, str]], wanted: int) -> list[str]:
        """Return what has to be noted about a call with these messages and this limit."""
        notes = []
        if self.folded and any(message.get("role") in SYSTEM for message in given):
            notes.append(FOLDED)
        if self.unbegun and given and given[-1].get("role") == "assistant":
            notes.append(UNBEGUN)
        if self.tokens(wanted) < wanted:
            notes.append(f"{LOWERED} to {self.tokens(wanted):,}")
        return notes


def adapted(refusal: Fault, sent: Mapping[str, Any], manner: Manner) -> tuple[Manner, str] | None:
    """Return how to ask the server from now on, with a sentence about it that may be empty.

    None if no other form of the request would help. ``sent`` is the body that was refused. Each
    change can be made only a few times, so asking again comes to an end.
    """
    words = refusal.message
    if refusal.status not in REFUSING:
        return None
    lowered = _lowered(words, sent, manner)
    if lowered is not None:
        return lowered
    if "max_tokens" in words and "max_completion_tokens" in words and "max_tokens" in sent:
        if manner.limit_field == "max_tokens":
            return replace(manner, limit_field="max_completion_tokens"), ""
        return None
    if not REFUSES.search(words):
        return None
    if re.search(r"log[_ ]?prob", words, re.I) and "logprobs" in sent and manner.top_logprobs:
        return _fewer_logprobs(words, manner)
    messages: Sequence[Mapping[str, str]] = sent.get("messages") or ()
    system = any(message.get("role") in SYSTEM for message in messages)
    if system and not manner.folded and SYSTEM_REFUSED.search(words):
        said = "the system message is sent inside the user's message: the server refuses it"
        return replace(manner, folded=True), said
    begun = bool(messages) and messages[-1].get("role") == "assistant"
    if begun and not manner.unbegun and BEGUN_REFUSED.search(words):
        said = "answers are not begun: the server refuses a begun answer"
        return replace(manner, unbegun=True), said
    return None


def _fewer_logprobs(words: str, manner: Manner) -> tuple[Manner, str]:
    """Ask for a few alternatives if the refusal is about their number, else for none."""
    if manner.top_logprobs > FEW_LOGPROBS and FEWER_LOGPROBS.search(words):
        few = (
            f"only {FEW_LOGPROBS} token probabilities a call are asked for: the server refuses more"
        )
        return replace(manner, top_logprobs=FEW_LOGPROBS), few
    none = "token probabilities are not asked for: the server refuses them"
    return replace(manner, top_logprobs=0), none


def _lowered(words: str, sent: Mapping[str, Any], manner: Manner) -> tuple[Manner, str] | None:
    """Lower the limit of a reply's tokens to what the refusal allows; None if it names no limit."""
    asked = sent.get(manner.limit_field)
    most = most_tokens(words)
    if most is None or not isinstance(asked, int) or not FEWEST_TOKENS <= most < asked:
        return None
    lowered = f"{manner.limit_field} was brought down from {asked:,} to {most:,}"
    said = f"{lowered}: the server takes no more"
    return replace(manner, most_tokens=most), said


def most_tokens(words: str) -> int | None:
    """Return the longest reply, in tokens, that a refusal allows; None if it names none."""
    about_length = LENGTH.search(words) or "in the completion" in words or "in the output" in words
    if not about_length:
        return None
    for pattern in MOST:
        match = pattern.search(words)
        if match:
            return _number(match["most"])
    for pattern in CONTEXT:
        match = pattern.search(words)
        if match:
            return _number(match["context"]) - _number(match["prompt"])
    return None


def _number(text: str) -> int:
    """Return the number in a text like “4,096”."""
    return int(text.replace(",", ""))
