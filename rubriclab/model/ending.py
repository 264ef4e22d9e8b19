"""Say how a reply ended by its finish reason, and why replies were not read.

Servers name the end of a reply in many words. Only a short list of them says that the judge had
finished; whatever else a server answers, known or not, is no whole reply, since "Score: 1" may
have become "Score: 10".
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
"""What a server says of a reply that its judge ended; empty or null where it says nothing."""
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
"""The provider withheld the reply, or the judge refused in a field of its own."""
CUT = frozenset({"length", "max_length", "max_output_tokens", "max_tokens", "model_length"})
"""The reply reached a limit of tokens: that of the call, or the model's own."""


def ending_of(finish: str | None) -> Ending:
    """Say how a reply with this finish reason ended; ``failed`` where the reason is on no list."""
    words = plain_finish(finish)
    if words in WHOLE:
        return "whole"
    if words in HELD_BACK:
        return "held back"
    return "cut" if words in CUT else "failed"


def lost_status(finish: str | None) -> str:
    """Return the status, as tables name it, of a reply with this finish reason; "" for a whole
    one.
    """
    status = {"whole": "", "cut": "truncated", "held back": "refused", "failed": "error"}
    return status[ending_of(finish)]


def plain_finish(finish: str | None) -> str:
    """Return a finish reason as the lists have it: "FinishReason.MAX_TOKENS" is "max_tokens"."""
    return (finish or "").strip().lower().rpartition(".")[2].replace("-", "_").replace(" ", "_")


def why_not_whole(finish: str | None) -> str:
    """Say in a few words why a reply is not whole; "" where it is."""
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


def not_read(reasons: Mapping[str, int], judgments: int) -> str:
    """Say how many of ``judgments`` have no score and why, the commonest reasons first; ""
    where all have one.
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
