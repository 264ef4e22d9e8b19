"""Match the name of a judge or data set with the name that a paper prints.

A vendor's path, case, dates, build words and quantisation do not count. What is left must be equal
part by part: a name that merely contains the other is another model (gpt-4o-mini is not GPT-4o).
Parameters are part of what was asked, so they count: “o3-mini (high)” is not “o3-mini”.
"""

import re
from collections.abc import Collection

NOT_COUNTED = {
    "instruct",
    "it",
    "chat",
    "preview",
    "latest",
    "hf",
    "bench",
    "benchmark",
    "turns",
    "dynamic",
    "quantized",
    "quantised",
}
"""Words of a name that say how a model was packed or served, not which one it is."""
VENDOR = re.compile(
    r"^(?:\w\w\.)?(?:amazon|anthropic|cohere|deepseek|google|meta|mistral|openai)\."
)
"""A vendor before a dot, and a region before that, as clouds write it."""
BUILD = re.compile(r"-v\d+:\d+$")
"""A build at the end, as clouds write it: “claude-3-opus-20240229-v1:0”."""
QUANTISATION = re.compile(
    r"(?<![a-z0-9])(?:(?:ud-)?i?q\d(?:_[a-z0-9]+)*|b?fp?(?:8|16|32)|int[48]|w\d+a\d+|[48]-?bit|nf4"
    r"|awq|gptq|ggu?f|ggml|exl2|mlx|bnb|onnx)(?![a-z0-9])"
)
"""How a model's weights are stored: q4_k_m, fp8, w4a16, awq and so on."""
DATE = re.compile(r"\d{2,8}")
"""A number without a unit that is a date or a build, where it is not a version such as 3.5."""
SIZE = re.compile(r"\d+(?:\.\d+)?b")
"""The size of a model. Beside it, “small” is the name of a series and adds nothing."""
ALIASES = {"gpt-4-1106": "gpt-4-turbo", "gpt-4-0125": "gpt-4-turbo"}
"""Dated names whose model papers call otherwise."""


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name that say which model it is: ("gpt", "4o"), ("gemma", "3", "27b").

    Numbers of two digits or more without a unit are dates or builds.
    """
    text = name.casefold().rsplit("/", 1)[-1].partition("@")[0]
    text = BUILD.sub("", VENDOR.sub("", text))
    text = QUANTISATION.sub("", text)
    for alias, meant in ALIASES.items():
        text = text.replace(alias, meant)
    text = re.sub(r"\b(\d)-(\d)\b(?!-\d\b)", r"\1.\2", text)  # claude-3-5 is Claude 3.5
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?[a-z]*", text)
    sized = any(SIZE.fullmatch(word) for word in words)
    return tuple(
        word
        for word in words
        if word not in NOT_COUNTED and not DATE.fullmatch(word) and not (word == "small" and sized)
    )


def matched(ours: str, papers: Collection[str]) -> str:
    """Return the one name of a paper that means ``ours``; empty where none or several do."""
    if ours in papers:
        return ours
    for key in (_letters, name_parts):
        own = key(ours)
        same = [paper for paper in papers if own and key(paper) == own]
        if same:
            return same[0] if len(same) == 1 else ""
    return ""


def _letters(name: str) -> str:
    """Return a name without case and without what separates its words: “Topical-Chat” is one word,
    and so is “topical_chat”.
    """
    return re.sub(r"[-_\s]+", "", name.casefold())
