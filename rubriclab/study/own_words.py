"""Find the judge's own words in a reply: without reasoning, a repeated prompt and template marks.

A verdict in a judge's reasoning is not its answer, and a verdict in a repeated prompt may come from
the answer that is judged. Replies may be hostile, so everything here takes time linear in a reply.
"""

import html
import re
import tomllib
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from rubriclab.model.text import FILLERS

FORMS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("forms.toml").read_text("utf-8")
)
LONGEST = 200_000
"""Characters of a reply, from its end, in which reasoning and JSON are looked for."""
READ = 8_000
"""Characters of the judge's own words, from their end, in which forms in words are looked for."""
CUT_MARK = "…\n"
"""Begins a text whose beginning was cut off: its first line is not how the reply opens."""
FRACTION = "\ue001"
"""Replaces ½ and other fractions, which would otherwise become a digit, a slash and a digit."""

PROMPT_HEADINGS = ("###Task Description:", "###Response to evaluate:", "###Score Rubrics:")
"""Headings in the lab's own prompts (``judge_prompts``)."""
PROMPT_ENDINGS = (
    "Answer with the score only:",
    "###Feedback:",
    "Answer with the score first, then the reason:",
    "Answer with one line for each response, the score only:",
    "Do not include any feedback, explanation, or extra text.",
    "Now judge. Keep to the output format given above.",
    "Your verdict (one letter):",
)
"""How the lab's own prompts end. In a reply, the text after one of them is the judge's answer."""
TEXT_START, TEXT_END = "<<<START OF", "<<<END OF"
"""Marks around a candidate's text in a comparison. The text itself may contain the same words."""


class Unread(Exception):
    """Why a reply is unparsed, in a few words for the user.

    All replies of one kind have the same words, so that they can be counted.
    """


def own_words(text: str) -> str:
    """Return what the judge says as its answer. Raises Unread if it says nothing."""
    text = _without_turns(_behind_reasoning(text[-LONGEST:]))
    text = _without_prompt(text)
    if not text.strip():
        raise Unread("only reasoning, or the prompt again, and no answer")
    return text


def _behind_reasoning(text: str) -> str:
    """Return the text after the last mark that closes reasoning.

    Raises Unread for reasoning that does not end.
    """
    reasoning = FORMS["reasoning"]
    low = _lower(text)
    channels = [*reasoning["channel_finals"], *reasoning["bare_finals"]]
    finals = [low.rfind(mark) + len(mark) for mark in channels if mark in low]
    closes = [low.rfind(mark) + len(mark) for _, mark in reasoning["pairs"] if mark in low]
    text = text[max(closes + finals, default=0) :]
    if "</" in text:
        text = _reasoning_blocks().sub(" ", text)
    low = _lower(text).lstrip()
    opened = [mark for mark, _ in reasoning["pairs"] if mark in low]
    opened += [name for name in reasoning["blocks"] if f"<{name}>" in low]
    bare = not finals and low.startswith(tuple(reasoning["bare_starts"])) and _glued(low)
    if opened or reasoning["channel"] in low or bare:
        raise Unread("its reasoning does not end: raise max_tokens")
    closes = [match.end() for match in _block_end().finditer(text)]
    return text[closes[-1] :] if closes else text  # the reasoning began before the reply


def _glued(low: str) -> bool:
    """Return whether a reply is harmony that lost its marks: "analysisThe user ..."."""
    return low[len("analysis") : len("analysis") + 1] not in (":", ".", "\n", " ", "*")


@lru_cache(maxsize=1)
def _reasoning_blocks() -> re.Pattern[str]:
    names = "|".join(FORMS["reasoning"]["blocks"])
    return re.compile(rf"<({names})>(?:(?!<\1>).)*?</\1>", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=1)
def _block_end() -> re.Pattern[str]:
    return re.compile(rf"</(?:{'|'.join(FORMS['reasoning']['blocks'])})>", re.IGNORECASE)


def _lower(text: str) -> str:
    """Return ``text`` in lower case, or unchanged if that changes its length."""
    low = text.lower()
    return low if len(low) == len(text) else text


def _without_turns(text: str) -> str:
    """Return the judge's first turn. The model invented what follows its end."""
    turn = FORMS["turn"]
    for mark in turn["starts"]:
        text = text.replace(mark, "")
    text = _SPEAKER.sub("", text)
    for mark in turn["ends"]:
        before, _, after = text.partition(mark)
        text = before if before.strip() else after
    return text


_SPEAKER = re.compile(r"\A\s*(?:assistant|judge)\s*:\s*", re.IGNORECASE)
"""The name of the speaker, with which some templates begin a turn."""


def _without_prompt(text: str) -> str:
    """Return the text after a repeated prompt of the lab's own, or before it if none follows."""
    ends = [text.rfind(ending) + len(ending) for ending in PROMPT_ENDINGS if ending in text]
    if TEXT_START in text:
        # From the first mark to the last: a candidate's text may hold forged marks.
        last = text.rfind(TEXT_END)
        if last > text.rfind(TEXT_START):
            ends.append(last + len(text[last:].partition("\n")[0]))
    headings = (*PROMPT_HEADINGS, TEXT_START)
    starts = [text.find(heading) for heading in headings if heading in text]
    if not ends:
        return text[: min(starts)] if starts else text
    behind = text[max(ends) :]
    if behind.strip() or not starts:
        return behind
    return text[: min(starts)]


KEYCAP = "\u20e3"
"""Turns the digit before it into a key, for example 5️⃣."""
_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which RE2 does not accept."""
_FRACTIONS = dict.fromkeys(map(ord, "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"), FRACTION)
_CONTROLS = dict.fromkeys({*range(32), 127} - {ord("\n"), ord("\t")})
_TYPOGRAPHY = str.maketrans({"▁": " ", "−": "-", "’": "'", "‐": "-", "‑": "-"})
_RUNS = re.compile(r"([^\w\s]{1,3}\s?)\1{4,}")
_EMOJI = re.compile(r"(?m)^[^\x00-\x7f\w\s☐☑☒✅❌“‘«【「]{1,3}\s+(?=[^\W\d])")
"""Symbols that decorate the beginning of a line: "🏆 Final score: 5"."""
_MARKDOWN = re.compile(r"\\[()\[\]]|==|</?(?:b|i|u|em|strong|mark|p|span|h[1-6])>|<br ?/?>")


def plain(text: str, kept: Collection[str] = ()) -> str:
    """Return the end of ``text`` in plain letters: NFKC, without Markdown, LaTeX and long runs.

    ``kept``: characters of Markdown that a label itself uses. Struck-out words are removed, and
    fractions become FRACTION. A text longer than READ is cut at a blank and begins with
    CUT_MARK.
    """
    cut = len(text) > READ
    if cut:
        text = text[-READ:].partition(" ")[2] or text[-READ:]
    if "&" in text:
        text = html.unescape(text)
    text = visible(text)
    if len(text) > READ:  # NFKC can turn one character into eighteen
        text, cut = text[-READ:], True
    text = _RUNS.sub(r"\1\1\1\1", text)
    if "~~" in text:
        text = re.sub(r"~~[^~\n]{0,200}~~", " ", text)
    if "$" in text and "$" not in kept:
        text = re.sub(r"\$\$?([^$\n]{0,80})\$\$?", r"\1", text)
    if "\\" in text:
        text = re.sub(r"\\(?:text|mathbf|textbf|mathrm)\s*\{([^{}]{0,80})\}", r"\1", text)
        text = re.sub(r"\\(?:boxed|text|mathbf|textbf|mathrm)\s*\{([^{}]{0,80})\}", r"\1", text)
    text = _MARKDOWN.sub("", text)
    for mark in "*`":
        if mark not in kept:
            text = text.replace(mark, "")
    if "_" not in kept:
        text = re.sub(r"(?<!\w)_++|(?<!_)_++(?!\w)", "", text)
    text = _EMOJI.sub("", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n[ \n]*", "\n", text).strip()
    return CUT_MARK + text if cut else text


def visible(text: str) -> str:
    """Return ``text`` in NFKC, without invisible characters. Fractions become FRACTION."""
    if text.isascii():
        return text if text.isprintable() else text.translate(_CONTROLS)
    text = _HALVES.sub("\ufffd", text)
    text = unicodedata.normalize("NFKC", text.translate(_FRACTIONS)).translate(_TYPOGRAPHY)
    return "".join(filter(_visible, text))


def _visible(sign: str) -> bool:
    if sign in f"\n\t{FRACTION}":
        return True
    return (
        sign != KEYCAP
        and sign not in FILLERS
        and unicodedata.category(sign) not in ("Cf", "Cc", "Co")
    )


# ---------------------------------------------------------------- refusals

_REFUSAL = re.compile(
    r"\b(?:i\s+(?:can\s?not|can't|won't|will\s+not|am\s+(?:not\s+able|unable)|must\s+decline"
    r"|refuse|do\s+not\s+feel\s+comfortable|don't\s+feel\s+comfortable)"
    r"|i'm\s+(?:not\s+able|unable|not\s+comfortable)"
    r"|(?:as|being)\s+an?\s+(?:ai|language\s+model|artificial)"
    r"|(?:i'm|i\s+am)\s+(?:very\s+|really\s+|so\s+)?sorry|my\s+apologies|i\s+apologi[sz]e"
    r"|unable\s+to\s+(?:comply|evaluate|assess|score|rate|provide|assist|help))\b",
    re.IGNORECASE,
)


def looks_refused(text: str) -> bool:
    """Return whether a reply without a score begins by declining ("I'm sorry, but I cannot ...").

    Only its first 160 characters count, because feedback may quote a refusal.
    """
    try:
        said = own_words(text)
    except Unread:
        return False
    return _REFUSAL.search(plain(said[:400])[:160]) is not None
