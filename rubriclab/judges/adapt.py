"""Adapt how a server is asked by what its refusals say: by their words, whatever their status.

A server that refuses a field it does not know, or a number that it does not allow, is asked
otherwise from then on, and the run says how. A setting that changes the measured answer
(temperature, seed, reasoning effort, a constraint) is never dropped: the judge pauses, and the
refusal says which setting it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.judges.faults import REFUSES, REFUSING, Fault
from rubriclab.model.judgment import FOLDED, LOWERED, UNBEGUN

FEW_LOGPROBS = 5
"""Alternatives asked for where a server refuses more."""
FEWEST_TOKENS = 16
"""Room for an answer below which the prompt counts as too long: a label and a word or two around
it."""
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

    ``limit_field``: the field that bounds an answer's tokens; ``most_tokens``: the most that the
    server takes; ``top_logprobs``: alternatives asked for, 0 for none; ``folded``: the system
    message is sent inside the user's; ``unbegun``: the lab does not begin answers.
    """

    limit_field: str = "max_tokens"
    most_tokens: int | None = None
    top_logprobs: int = 0
    folded: bool = False
    unbegun: bool = False

    def tokens(self, wanted: int) -> int:
        """Return the tokens that an answer may have."""
        return wanted if self.most_tokens is None else min(wanted, self.most_tokens)

    def messages(self, given: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
        """Return the messages as this server takes them."""
        sent = list(given)
        if self.unbegun and sent and sent[-1].get("role") == "assistant":
            sent = sent[:-1]
        if not self.folded or not any(message.get("role") in SYSTEM for message in sent):
            return sent
        words = [message["content"] for message in sent if message.get("role") in SYSTEM]
        sent = [message for message in sent if message.get("role") not in SYSTEM]
        first = next((k for k, each in enumerate(sent) if each.get("role") == "user"), None)
        if first is None:
            return [{"role": "user", "content": "\n\n".join(words)}, *sent]
        whole = "\n\n".join([*words, sent[first]["content"]])
        return [*sent[:first], {**sent[first], "content": whole}, *sent[first + 1 :]]

    def notes(self, given: Sequence[Mapping[str, str]], wanted: int) -> list[str]:
        """Return the notes on a call with these messages and this room for its answer."""
        notes = []
        if self.folded and any(message.get("role") in SYSTEM for message in given):
            notes.append(FOLDED)
        if self.unbegun and given and given[-1].get("role") == "assistant":
            notes.append(UNBEGUN)
        if self.tokens(wanted) < wanted:
            notes.append(f"{LOWERED} to {self.tokens(wanted):,}")
        return notes


def adapted(refusal: Fault, sent: Mapping[str, Any], manner: Manner) -> tuple[Manner, str] | None:
    """Return how to ask the server from now on, with a sentence that says so.

    None where no other way of asking meets its refusal.
    ``sent``: the body that was refused. Each way out can be taken a bounded number of times, so
    asking again ends.
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
        fewer = manner.top_logprobs > FEW_LOGPROBS and FEWER_LOGPROBS.search(words)
        if fewer:
            few = (
                f"only {FEW_LOGPROBS} token probabilities a call are asked for: "
                "the server refuses more"
            )
            return replace(manner, top_logprobs=FEW_LOGPROBS), few
        none = "token probabilities are not asked for: the server refuses them"
        return replace(manner, top_logprobs=0), none
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


def _lowered(words: str, sent: Mapping[str, Any], manner: Manner) -> tuple[Manner, str] | None:
    """The manner with less room for an answer, where the refusal says how much there may be."""
    asked = sent.get(manner.limit_field)
    most = most_tokens(words)
    if most is None or not isinstance(asked, int) or not FEWEST_TOKENS <= most < asked:
        return None
    lowered = f"{manner.limit_field} was brought down from {asked:,} to {most:,}"
    said = f"{lowered}: the server takes no more"
    return replace(manner, most_tokens=most), said


def most_tokens(words: str) -> int | None:
    """Return the longest answer, in tokens, that a refusal allows; None where it names none."""
    if (
        not LENGTH.search(words)
        and "in the completion" not in words
        and "in the output" not in words
    ):
        return None
    for pattern in MOST:
        if match := pattern.search(words):
            return _number(match["most"])
    for pattern in CONTEXT:
        if match := pattern.search(words):
            return _number(match["context"]) - _number(match["prompt"])
    return None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
