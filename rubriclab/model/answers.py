"""Where the answer stands in a reply to a user's own prompt, what it looks like, and which label it is.

Text in, a place in it out: what the words there mean is the protocol's. The same place tells which
token's alternatives are the judge's probabilities (see ``reading.top_tokens``).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from rubriclab.model.answer_json import DECODER, value_at
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule, Reading

MAX_READ = 100_000
"""Characters of a reply that are read, from its end: an answer stands there."""
MAX_JSON_WORK = 100_000_000
"""Characters that all attempts to read JSON in one reply may pass over: for a failed one Python counts
the lines from the reply's beginning."""
CRITERION = "{criterion}"
_SEGMENT = re.compile(r"[^.\s][^.\n]*")


class Spot(NamedTuple):
    """The answer's words and where they stand in the reply: from ``start`` up to ``end``."""

    text: str
    start: int
    end: int


class NoAnswer(NamedTuple):
    """Why there is no answer, in a few words."""

    why: str


def answer_spot(text: str, reading: Reading, *, criterion: str = "") -> Spot | NoAnswer:
    """Where ``text`` answers by ``reading``'s rule; the last place where it could be several.

    Reasoning between <think> marks is passed over. ``criterion`` stands for ``{criterion}``.
    """
    start = _after_reasoning(text)
    if not text[start:].strip():
        return NoAnswer("empty")
    start = max(start, len(text) - MAX_READ)
    rule = reading.rule
    if rule.read == "json":
        return _json_spot(text, start, json_path(rule.path, criterion))
    if rule.read == "tag":
        return _match_spot(text, start, _tag(_named(rule.tag, criterion, escape=False)), f"no tag {rule.tag}")
    if rule.read == "regex":
        return _match_spot(text, start, compiled(_named(rule.pattern, criterion, escape=True)), "no match")
    if rule.read == "last_label":
        return _last_label(text, start, reading.labels)
    return _trimmed(text, start, len(text))


def check_rule(rule: AnswerRule) -> None:
    """Raises ValueError, with the cure, for a rule that can never find an answer."""
    needs = {"json": ("path", rule.path), "regex": ("pattern", rule.pattern), "tag": ("tag", rule.tag)}
    for read, (key, value) in needs.items():
        if read == rule.read and not value.strip() and read != "json":
            raise ValueError(
                tr('read = "{read}" needs a {key}, as {key} = {example}.', read=read, key=key, example=_EXAMPLES[read])
            )
        if read != rule.read and value:
            raise ValueError(
                tr(
                    '{key} belongs to read = "{read}", and here read is "{here}". Take one of them out.',
                    key=key,
                    read=read,
                    here=rule.read,
                )
            )
    if rule.ask and rule.read != "json":
        raise ValueError(
            tr('ask = "{ask}" belongs to read = "json", and here read is "{read}".', ask=rule.ask, read=rule.read)
        )
    if rule.read == "json":
        _check_path(rule.path)
    if rule.read == "tag" and not re.fullmatch(r"[\w:.{}-]+", rule.tag):
        raise ValueError(
            tr(
                "tag {tag!r} is no tag's name; write it without its brackets, as {example}.",
                tag=rule.tag,
                example=_EXAMPLES["tag"],
            )
        )
    if rule.read == "regex":
        _check_pattern(rule.pattern)


def answer_words(rule: AnswerRule) -> str:
    """How an answer is read, in a few words."""
    where = {
        "json": tr("JSON at “{path}”", path=rule.path),
        "regex": tr("what {pattern!r} matches", pattern=rule.pattern),
        "tag": tr("the tag “{tag}”", tag=rule.tag),
        "last_label": tr("the last label in the reply"),
        "label": tr("a label that is the whole reply"),
    }[rule.read]
    return tr("{where}, asked for by a {ask}", where=where, ask=rule.ask) if rule.ask else where


_EXAMPLES = {"json": '"verdict.score"', "regex": "'Score: (\\S+)'", "tag": '"score"'}


def compose(rule: AnswerRule, answers: Mapping[str, str]) -> str | None:
    """An answer that says ``answers`` (label by criterion; one without criteria has the key ""), as the
    rule asks for it; None for a pattern that is too rich to tell from it what it matches."""
    if rule.read == "regex":
        lines = [_matching(_named(rule.pattern, name, escape=True), label) for name, label in answers.items()]
        return None if None in lines else "\n".join(line or "" for line in lines)
    if rule.read == "json":
        return json.dumps(_nested(rule.path, answers), ensure_ascii=False)
    if rule.read == "tag":
        tags = [(_named(rule.tag, name, escape=False), label) for name, label in answers.items()]
        return "\n".join(f"<{tag}>{label}</{tag}>" for tag, label in tags)
    return "\n".join(f"{name}: {label}" if name else label for name, label in answers.items())


def _matching(pattern: str, label: str) -> str | None:
    """A text in which a plain pattern finds ``label``: its own words with the label for its group."""
    group = first_group(pattern)
    if group is None:
        return label if compiled(pattern).fullmatch(label) else None
    text = re.sub(r"\\s[*+?]?", " ", pattern[: group[0]]) + "\0" + re.sub(r"\\s[*+?]?", " ", pattern[group[1] :])
    text = re.sub(r"\\b|[\^$?*+]", "", re.sub(r"\\([^\w\s])", lambda sign: f"\1{ord(sign[1])}\1", text))
    text = re.sub("\1(\\d+)\1", lambda sign: chr(int(sign[1])), text.replace("\0", label))
    found = compiled(pattern).search(text)
    return text if found is not None and found[1] == label else None


def first_group(pattern: str) -> tuple[int, int] | None:
    """Where the first group that captures begins and ends, its brackets included; None for none."""
    start, depth, place, in_class = None, 0, 0, False
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            place += 2
            continue
        if in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
            place += pattern[place + 1 : place + 2] in ("]", "^")
        elif sign == "(":
            captures = pattern[place + 1 : place + 2] != "?" or pattern[place + 1 : place + 4] == "?P<"
            if start is None and captures:
                start, depth = place, 0
            elif start is not None:
                depth += 1
        elif sign == ")" and start is not None:
            if depth == 0:
                return start, place + 1
            depth -= 1
        place += 1
    return None


# ---------------------------------------------------------------- asking for it


def asked_format(reading: Reading, criteria: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a request that hold the server to the rule: none unless it asks for that."""
    if not reading.rule.ask:
        return {}
    values: list[Any] = [int(label) if re.fullmatch(r"-?\d+", label) else label for label in reading.labels]
    leaf = {"enum": values}
    shape = _schema(_nested(reading.rule.path, dict.fromkeys(criteria or ("",), "")), leaf)
    if reading.rule.ask == "schema":
        form = {"name": "answer", "strict": True, "schema": shape}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    function = {"name": "answer", "description": "Give the answer.", "parameters": shape}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "answer"}},
    }


def _schema(value: Any, leaf: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(value, dict):
        return leaf
    return {
        "type": "object",
        "properties": {key: _schema(part, leaf) for key, part in value.items()},
        "required": list(value),
        "additionalProperties": False,
    }


# ---------------------------------------------------------------- reading


def _after_reasoning(text: str) -> int:
    """Where the reply proper begins: behind the last reasoning; at its end where that never closes."""
    closed = [mark.end() for mark in re.finditer(r"</think>", text, re.IGNORECASE)]
    start = closed[-1] if closed else 0
    opened = re.search(r"<think>", text[start:], re.IGNORECASE)
    return len(text) if opened else start


def _trimmed(text: str, start: int, end: int) -> Spot:
    """What stands between, without white space, quotes, Markdown and a full stop around it."""
    inner = re.fullmatch(r"[\s\"'“”‘’*_`]*(.*?)[\s\"'“”‘’*_`.]*", text[start:end], re.DOTALL)
    if inner is None or not inner[1]:
        return Spot(text[start:end], start, end)
    return Spot(inner[1], start + inner.start(1), start + inner.end(1))


def _match_spot(text: str, start: int, pattern: re.Pattern[str], why: str) -> Spot | NoAnswer:
    last = _last(pattern.finditer(text, start))
    group = 1 if pattern.groups else 0
    if last is None or last[group] is None:
        return NoAnswer(why)
    return _trimmed(text, last.start(group), last.end(group))


def _last_label(text: str, start: int, labels: Sequence[str]) -> Spot | NoAnswer:
    """The last label that stands as a word of its own, and is no top of a scale ("4/5")."""
    last = _last(_label_words(tuple(labels)).finditer(text, start))
    return NoAnswer("no label") if last is None else Spot(last[0], last.start(), last.end())


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(matches, maxlen=1)), None)


@lru_cache(maxsize=256)
def _label_words(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Case counts for a lone letter alone: “a” is a word, “Good” is “good”."""
    spelled = (
        re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})"
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(rf"(?<![\w/])(?<!/ )(?<!out of )(?<!\d[.,])(?<!-)(?:{'|'.join(spelled)})(?!\w|[.,]\d)")


def _tag(name: str) -> re.Pattern[str]:
    return compiled(rf"<{re.escape(name)}(?:\s[^<>]*)?>([^<]*)</{re.escape(name)}\s*>")


def _named(form: str, criterion: str, *, escape: bool) -> str:
    return form.replace(CRITERION, re.escape(criterion) if escape else re.sub(r"\W+", "_", criterion))


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _check_pattern(pattern: str) -> None:
    try:
        found = compiled(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(
            tr("the pattern {pattern!r} is no regular expression: {error}.", pattern=pattern[:60], error=error)
        ) from error
    if found.groups > 1:
        raise ValueError(
            tr(
                "the pattern {pattern!r} has {groups} groups; keep one, round the answer, and write the others "
                "as (?:…).",
                pattern=pattern[:60],
                groups=found.groups,
            )
        )
    if found.fullmatch("") and not found.groups:
        raise ValueError(
            tr(
                "the pattern {pattern!r} matches nothing at all; say what stands around the answer.",
                pattern=pattern[:60],
            )
        )
    if re.search(r"[+*]\??\)(?:[+*]|\{\d*,\})", pattern):
        raise ValueError(
            tr(
                "the pattern {pattern!r} repeats a repetition, which can take for ever; write it with one of them.",
                pattern=pattern[:60],
            )
        )


def label_index(words: str, labels: Sequence[str]) -> int | None:
    """The label that ``words`` are: case, full-width forms and white space aside, numbers by value."""
    exact = [" ".join(label.split()) for label in labels]
    if (as_written := " ".join(words.split())) in exact:
        return exact.index(as_written)
    key, folded = _key(words), [_key(label) for label in labels]
    if key in folded:
        return folded.index(key)
    number = _number(key)
    if number is None:
        return None
    same = [i for i, label in enumerate(folded) if _number(label) == number]
    return same[0] if len(same) == 1 else None  # a value that two labels have is neither's


def _key(text: str) -> str:
    """A label's words; a full stop or Markdown around them is the sentence's and not theirs."""
    bare = " ".join(fold(text).split())
    return bare.strip("*_`\"'. ") or bare


def _number(text: str) -> float | None:
    found = re.fullmatch(r"([-+]?\d{1,9})(?:[.,](\d{1,9}))?", text)
    return None if found is None else float(f"{found[1]}.{found[2] or 0}")


def fold(label: str) -> str:
    """How labels are compared: full-width forms as plain ones, case and outer space ignored."""
    return unicodedata.normalize("NFKC", label).strip().casefold()


# ---------------------------------------------------------------- JSON


def json_path(path: str, criterion: str = "") -> tuple[str, ...]:
    """The keys on the way to the answer, outermost first; a whole number is a place in a list."""
    return tuple(criterion if part == CRITERION else part for part in path.split(".") if part)


def _check_path(path: str) -> None:
    if not path or any(not _SEGMENT.fullmatch(part) for part in path.split(".")):
        raise ValueError(
            tr(
                "path {path!r} is no way into JSON; write the keys from the outside in, as path = {example}.",
                path=path,
                example=_EXAMPLES["json"],
            )
        )


def _json_spot(text: str, start: int, path: tuple[str, ...]) -> Spot | NoAnswer:
    """The value at ``path`` in the last object of the text that has it."""
    found: tuple[str, int, int] | None = None
    work, place, objects = 0, start, 0
    while (brace := _OBJECT.search(text, place)) is not None and work < MAX_JSON_WORK:
        begin = brace.start()
        try:
            _, place = DECODER.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            work += error.pos
            place = begin + 1
        except (RecursionError, ValueError):
            return NoAnswer("no JSON")
        else:
            objects += 1
            work += place - begin
            found = value_at(text, begin, path) or found
    if found is not None:
        return Spot(*found)
    return NoAnswer(f"no {'.'.join(path)} in the JSON" if objects else "no JSON")


_OBJECT = re.compile(r"\{(?=\s*[\"}])")


def _nested(path: str, answers: Mapping[str, str]) -> Any:
    """The JSON value that has each answer at its path."""
    root: dict[str, Any] = {}
    per_name = CRITERION in path
    for name, label in answers.items():
        keys = json_path(path, name) if per_name or not name else (*json_path(path), name)
        inner = root
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = int(label) if re.fullmatch(r"-?\d+", label) else label
    return root
