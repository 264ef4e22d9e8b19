"""Say how a reply ended, from its finish reason, and why replies were not parsed.

Servers name the end of a reply in many ways. Only those on a short list say that the judge had
finished. A reply with any other finish reason, known or not, is not whole: its “Score: 1” might
have become “Score: 10”.
"""

from collections.abc import Mapping
from typing import Literal

Ending = Literal["whole", "cut", "held back", "failed"]

WHOLE = frozenset(
    {
        "",
        "none",
        "null",
        "stop",
        "eos",
        "eos_token",
        "end_turn",
        "stop_sequence",
        "tool_calls",
        "tool_use",
        "function_call",
        "complete",
        "completed",
    }
)
"""Finish reasons of replies that the judge ended itself; empty or null if a server gives none."""
HELD_BACK = frozenset(
    {
        "blocklist",
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "image_safety",
        "prohibited_content",
        "recitation",
        "refusal",
        "safety",
        "sensitive",
        "spii",
    }
)
"""Finish reasons of replies that the provider withheld or the judge refused in a separate field."""
CUT = frozenset({"length", "max_length", "max_output_tokens", "max_tokens", "model_length"})
"""Finish reasons of replies that reached a limit of tokens: the call's, or the model's own."""


def ending_of(finish: str | None) -> Ending:
    """Return how a reply with this finish reason ended; “failed” if no list has the reason."""
    words = plain_finish(finish)
    if words in WHOLE:
        return "whole"
    if words in HELD_BACK:
        return "held back"
    if words in CUT:
        return "cut"
    return "failed"


def lost_status(finish: str | None) -> str:
    """Return the status in tables of a reply with this finish reason; empty for a whole one."""
    status = {"whole": "", "cut": "truncated", "held back": "refused", "failed": "error"}
    return status[ending_of(finish)]


def plain_finish(finish: str | None) -> str:
    """Return a finish reason as the lists have it: “FinishReason.MAX_TOKENS” is “max_tokens”."""
    name = (finish or "").strip().lower().rpartition(".")[2]
    return name.replace("-", "_").replace(" ", "_")


def why_not_whole(finish: str | None) -> str:
    """Say why a reply is not whole; empty if it is."""
    ending, words = ending_of(finish), plain_finish(finish)[:40]
    if ending == "whole":
        return ""
    if ending == "held back":
        return "held back by the provider, or refused"
    if words in ("length", "max_tokens", "max_output_tokens"):
        return "cut at max_tokens"
    if ending == "cut":
        return "cut at the model's own limit"
    return f"ended by the server: {words}"


MOST_REASONS = 6
"""How many reasons a sentence lists; the rest are counted together."""


def not_read(reasons: Mapping[str, int], judgments: int) -> str:
    """Say how many of ``judgments`` have no score, and why; empty if all have one.

    The most frequent reasons come first.
    """
    lost = sum(reasons.values())
    if not lost:
        return ""
    ordered = sorted(reasons.items(), key=lambda pair: -pair[1])
    parts = [f"{number:,} {reason or 'for no reason that was kept'}" for reason, number in ordered]
    if len(parts) > MOST_REASONS:
        rest = sum(number for _, number in ordered[MOST_REASONS:])
        parts = [*parts[:MOST_REASONS], f"{rest:,} for other reasons"]
    return f"{lost:,} of {judgments:,} not read: {', '.join(parts)}"
