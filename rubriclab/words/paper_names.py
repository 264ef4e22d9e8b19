"""Match the name of a judge or data set with the name that a paper prints.

A vendor's path, case, dates, build words and quantisation do not count. What is left must be equal
part by part: a name that merely contains the other is another model (gpt-4o-mini is not GPT-4o).
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
    "base",
    "fp8",
    "fp16",
    "bf16",
    "awq",
    "gptq",
    "gguf",
    "int4",
    "int8",
    "q4",
    "q8",
    "small",
    "turns",
    "v1",
}
"""Words of a name that say how a model was packed or served, not which one it is."""
DATE = r"\d{2,8}"
"""Numbers that are dates or builds."""
ALIASES = {"gpt-4-1106": "gpt-4-turbo", "gpt-4-0125": "gpt-4-turbo"}
"""Dated names whose model papers call otherwise."""


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name that say which model it is: ("gpt", "4o"), ("gemma", "3", "27b").

    Numbers of two digits or more without a unit are dates or builds, unless the name has nothing
    else to tell it by.
    """
    text = name.casefold().rsplit("/", 1)[-1].partition("@")[0]
    text = re.sub(r"[-_.]?q\d(_[a-z0-9])+", "", text)  # a quantisation: q4_k_m, q8_0
    for alias, meant in ALIASES.items():
        text = text.replace(alias, meant)
    text = re.sub(r"\b(\d)-(\d)\b(?!-\d)", r"\1.\2", text)  # claude-3-5 is Claude 3.5
    words = re.findall(r"[a-z]+|\d+(?:\.\d+)?[a-z]*", text)
    kept = [word for word in words if word not in NOT_COUNTED and not re.fullmatch(DATE, word)]
    return tuple(kept)


def matched(ours: str, papers: Collection[str]) -> str:
    """Return the one name of a paper that means ``ours``; empty where none or several do."""
    if ours in papers:
        return ours
    own = name_parts(ours)
    same = [paper for paper in papers if own and name_parts(paper) == own]
    return same[0] if len(same) == 1 else ""
