"""Find out whether a server cuts long prompts, by the tokens that it says it was sent.

Some servers (Ollama with its default context) drop the beginning of a long prompt without an error.
The judge then answers without having seen the rubric, and its reply looks like any other. The count
of prompt tokens gives such a server away: it is too low for the characters that were sent.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rubriclab.model.judgment import Judgment
from rubriclab.runs.forecast import SIGNS_PER_TOKEN

SMALLEST_CONTEXT = 256
"""Tokens. No server has a smaller context, so a lower count is a wrong count and not a cut
prompt."""


@dataclass(frozen=True)
class Script:
    """Characters per token in one script: the usual number, and the most that prose ever has."""

    usual: float
    most: float


LATIN = Script(SIGNS_PER_TOKEN, 6.5)
"""Of 562 English prompts of the recorded examples two tokenizers counted 0.93 to 1.17 times the
usual number of tokens, and never fewer than 1.5 times what ``most`` gives."""
WIDE = Script(1.5, 3.0)
"""Chinese, Japanese and Korean characters."""
OTHER = Script(3.0, 5.5)

FEWER = 0.8
"""Equal counts of prompts of different length mean a cut context if they are below this share of
the usual number of tokens."""
FEW = 0.75
"""Counts below this share of the usual number are worth a warning: more than 5.3 letters per token
are rare in any prose."""
UNLIKE = 1.05
"""Ratio of two lengths from which on two prompts count as of different length."""
NEAR_LIMIT = 100
"""Counts within one part in so many of the highest one (and within 2 tokens) are at the limit: a
server cuts at a whole message or block."""


@dataclass(frozen=True)
class PromptSize:
    """How long one prompt is, in tokens.

    counted: by the server. usual: expected from its characters. fewest: the least it can have.
    """

    key: str
    unit: tuple[int, ...]
    counted: int
    usual: float
    fewest: float

    @classmethod
    def of(cls, judgment: Judgment) -> "PromptSize | None":
        """Return the size of a call's prompt.

        None if the server counts nothing, or counts several calls together.
        """
        call, reply = judgment.call, judgment.reply
        if not reply.tokens_in or call.pack:
            return None
        counted = reply.tokens_in
        cached = reply.cached or 0
        if cached > counted:  # this server leaves cached tokens out of its count; others do not
            counted += cached
        usual, fewest = tokens_of(call.prompt)
        return cls(call.key, call.items, counted, usual, fewest)


def sizes_of(judgments: Sequence[Judgment]) -> list[PromptSize]:
    """Return the sizes of those prompts whose tokens the server counted."""
    sizes = []
    for judgment in judgments:
        size = PromptSize.of(judgment)
        if size is not None:
            sizes.append(size)
    return sizes


_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LATIN = re.compile("[\x00-\u024f\u2000-\u206f]")
_RUNS = re.compile(r"(\W)\1{3,}|(\w)\2{7,}")
"""Runs of one character, of which a tokenizer makes few tokens."""
_KEPT_OF_RUN = 3


def tokens_of(text: str) -> tuple[float, float]:
    """Return (usual, fewest) tokens of a text by its characters, whatever the tokenizer."""
    text = _RUNS.sub(lambda run: run[0][:_KEPT_OF_RUN], text)
    wide, latin = len(_WIDE.findall(text)), len(_LATIN.findall(text))
    counted = ((LATIN, latin), (WIDE, wide), (OTHER, len(text) - latin - wide))
    usual = sum(number / script.usual for script, number in counted)
    fewest = sum(number / script.most for script, number in counted)
    return usual, fewest


@dataclass(frozen=True)
class CutPrompts:
    """What is known about a server that cuts prompts.

    keys: of the calls whose prompts it cut.
    most: the highest number of tokens that it counted.
    sent: the usual number of tokens of the longest prompt that it cut.
    same: whether it counted the same number for all prompts.
    """

    keys: frozenset[str]
    most: int
    sent: float
    same: bool


def cut_prompts(sizes: Sequence[PromptSize]) -> CutPrompts | None:
    """Return what is known about a server that cuts prompts; None if it is not known to.

    It is known if a prompt has fewer tokens than its characters can make up, or if prompts of
    different length all end at one number of tokens that is well below the usual.
    """
    by_unit = largest_by_unit(sizes)
    if not by_unit:
        return None
    most = max(size.counted for size in by_unit)
    if most < SMALLEST_CONTEXT:
        return None
    at_limit = [size for size in by_unit if size.counted >= most - max(2, most // NEAR_LIMIT)]
    full = [size for size in at_limit if size.counted < FEWER * size.usual]
    cut = [size for size in by_unit if size.counted < size.fewest]
    if len(full) > 1 and spread(full) >= UNLIKE:
        cut += full
    if not cut:
        return None
    units = {size.unit for size in cut}
    return CutPrompts(
        keys=frozenset(size.key for size in sizes if size.unit in units),
        most=most,
        sent=max(size.usual for size in cut),
        same=len({size.counted for size in sizes}) == 1,
    )


def largest_by_unit(sizes: Sequence[PromptSize]) -> list[PromptSize]:
    """Return, for each answer, its prompt with the highest count.

    A server may leave out of a count what it had cached, so the highest one is nearest the truth.
    """
    by_unit: dict[tuple[int, ...], PromptSize] = {}
    for size in sizes:
        known = by_unit.get(size.unit)
        if known is None or size.counted > known.counted:
            by_unit[size.unit] = size
    return list(by_unit.values())


def spread(sizes: Sequence[PromptSize]) -> float:
    """Return how many times longer the longest prompt is than the shortest."""
    usual = [size.usual for size in sizes]
    return max(usual) / max(min(usual), 1.0)
