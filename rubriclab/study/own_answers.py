"""A reply to a prompt of the user's own and the rule of its answer in; which label it gives out, or none."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import re2

from rubriclab.model.study import AnswerPart, PromptFile
from rubriclab.model.text import LabError, shorten, without_invisible
from rubriclab.study.comparison import parse_verdict
from rubriclab.study.parse import READ, answer_part, parse_criteria, parse_label
from rubriclab.study.prompts import fold

CRITERION = "{criterion}"
SLOT = "\ue000"
"""Stands for the label in the form of a reply; of criteria in one call, the sign so many behind it for each."""
MOST_OBJECTS = 500
"""Beginnings of JSON objects that are tried, from the end of a reply."""


def read_answer(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """The index of that of ``labels`` which the reply gives; None for none. ``chooses``: labels of candidates, a tie's last.

    Reasoning and what stands before the last READ signs do not count; where a rule fits several times, the last one does.
    """
    said = plain(answer_part(text))
    if rule.read == "label":
        if rule.path:
            text = re.sub(rf"(?i)^\W*{re.escape(rule.path)}[^:\n]{{0,40}}:", "", said)
        if not chooses:
            return parse_label(text, labels)
        letter = parse_verdict(text, labels, tie=tie, brief=True)
        return None if letter is None else list(labels).index(letter)
    if rule.read == "last_label":
        words = [match[0] for match in _label_words(tuple(labels)).finditer(said)][-1:]
    elif rule.read == "json":
        words = [
            str(value)
            for value in _values(said, rule.path.split("."))
            if not isinstance(value, bool | dict | list)
        ][-1:]
    else:
        tag = re2.escape(rule.path)
        pattern = (
            rule.pattern if rule.read == "pattern" else rf"<{tag}(?:\s[^<>]*)?>([^<]*)</{tag}\s*>"
        )
        words = [
            str(match[1]) for match in compiled(pattern).finditer(said) if match[1] is not None
        ][-1:]
    return _index(words[0], labels) if words else None


def read_answers(
    text: str, rule: AnswerPart, names: Sequence[str], scores: Sequence[int]
) -> dict[str, int]:
    """The score that the reply gives to each of the criteria ``names``; those without one are left out."""
    if rule.read in ("label", "last_label"):
        return parse_criteria(text, names, scores)
    labels = tuple(map(str, scores))
    given = {name: read_answer(text, _about(rule, name), labels) for name in names}
    return {name: scores[index] for name, index in given.items() if index is not None}


def plain(text: str) -> str:
    """What is read: the last signs in plain forms, as everywhere (NFKC, nothing invisible)."""
    return without_invisible(unicodedata.normalize("NFKC", text[-READ:]))[-READ:]


def _about(rule: AnswerPart, name: str) -> AnswerPart:
    """The rule for one criterion: its name in pattern or path, else as a key below the path."""
    key = re.sub(r"\.", "_", name)
    if rule.read == "pattern":
        return rule.model_copy(
            update={"pattern": rule.pattern.replace(CRITERION, re2.escape(name))}
        )
    path = (
        rule.path.replace(CRITERION, key)
        if CRITERION in rule.path
        else f"{rule.path}.{key}" * (rule.read == "json")
    )
    return rule.model_copy(update={"path": path or rule.path})


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """The pattern by RE2, whatever the case of letters, in time linear in a reply. Raises LabError with the cure."""
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, 8 << 20
    try:
        made = re2.compile(pattern, options)
    except (re2.error, ValueError) as fault:
        said = fault.args[0] if fault.args else ""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(fault)
        raise LabError(
            f"The pattern {shorten(pattern)!r} is none of RE2's: {shorten(words, 100)}. Look-around and back references are not known "
            "there; write what stands before the answer, and the answer in ( )."
        ) from None
    if made.groups != 1:
        words = "expected one, round the answer. Write others as (?:…)."
        raise LabError(f"The pattern {shorten(pattern)!r} has {made.groups} groups; {words}")
    return made


@lru_cache(maxsize=256)
def _label_words(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Labels as words of their own that are no top of a scale (4/5). Case counts for a lone letter: “a” is a word."""
    spelled = (
        re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})"
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(
        rf"(?<![\w/])(?<!/ )(?<!out of )(?<!\d[.,])(?<!-)(?:{'|'.join(spelled)})(?!\w|[.,]\d)"
    )


def _index(words: str, labels: Sequence[str]) -> int | None:
    """The label that words are: as written, else whatever the case; else as the lab reads it (4/5, **4**, Score: 4)."""
    bare = words.strip().strip("*_`\"'“”‘’.").strip()
    if bare in labels:
        return list(labels).index(bare)
    folded = [fold(label) for label in labels]
    if folded.count(fold(bare)) == 1:
        return folded.index(fold(bare))
    return parse_label(words, labels) if words.strip() else None


def _values(text: str, path: Sequence[str]) -> Iterator[Any]:
    """The value at ``path`` of every JSON object in the text that has it, in their order."""
    decoder, position = json.JSONDecoder(strict=False), 0
    for _ in range(MOST_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        for key in path:
            if isinstance(value, Mapping):
                by_name = {fold(str(name)): part for name, part in value.items()}
                value = by_name.get(fold(key))
            else:
                value = (
                    value[int(key)]
                    if isinstance(value, list) and key.isdecimal() and int(key) < len(value)
                    else None
                )
        if value is not None:
            yield value


# ---------------------------------------------------------------- what a reply looks like, and what a server is held to


def form(rule: AnswerPart, names: Sequence[str] = ()) -> str:
    """A reply that gives SLOT as its label, as far as the rule can tell; ``names``: criteria, each with a sign of its own."""
    signs = [(name, chr(ord(SLOT) + k)) for k, name in enumerate(names)]
    if rule.read in ("label", "last_label"):
        return "\n".join(f"[{name}] {sign}" for name, sign in signs) or SLOT
    if rule.read == "json":
        paths = [(_about(rule, name).path, sign) for name, sign in signs] or [(rule.path, SLOT)]
        return json.dumps(_nested(paths), ensure_ascii=False)
    if names:
        return "\n".join(form(_about(rule, name)).replace(SLOT, sign) for name, sign in signs)
    if rule.read == "tag":
        return f"<{rule.path}>{SLOT}</{rule.path}>"
    try:
        parser = re._parser  # type: ignore[attr-defined]
        return _written(parser.parse(rule.pattern))
    except (
        re.error,
        RecursionError,
        OverflowError,
        AttributeError,
    ):  # RE2 knows what Python does not: \pL
        return SLOT


def _written(tree: Any) -> str:
    """A text that a parsed pattern fits, the shortest in sight, SLOT for its group."""
    out = []
    for operation, value in tree:
        name = str(operation)
        if name == "SUBPATTERN":
            out.append(SLOT if value[0] else _written(value[-1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner = _written(value[2])
            out.append(inner * min(max(value[0], SLOT in inner), 40))
        elif name == "BRANCH":
            out.append(
                next(
                    (text for text in map(_written, value[1]) if SLOT in text),
                    _written(value[1][0]),
                )
            )
        elif name == "LITERAL":
            out.append(chr(value))
        elif name == "IN":
            kind, first = value[0]
            out.append(
                {"LITERAL": chr(first) if isinstance(first, int) else "", "RANGE": ""}.get(
                    str(kind), " "
                )
            )
            if str(kind) == "RANGE":
                out[-1] = chr(first[0])
        elif name in ("ANY", "NOT_LITERAL"):
            out.append("x")
    return "".join(out)


def _nested(paths: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The JSON object that has each value at its dotted path."""
    root: dict[str, Any] = {}
    for path, value in paths:
        *above, last = path.split(".")
        inner = root
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return root


def asked_format(
    rule: AnswerPart, labels: Sequence[str], names: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of a request that hold a server to the rule's JSON, by a schema or by a tool; none unless it asks for that."""
    if not rule.ask:
        return {}
    values: list[Any] = [int(label) if re.fullmatch(r"-?\d+", label) else label for label in labels]
    shape = _schema(
        _nested([(_about(rule, name).path, values) for name in names] or [(rule.path, values)])
    )
    if rule.ask == "schema":
        form = {"name": "answer", "strict": True, "schema": shape}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    function = {"name": "answer", "description": "Give the answer.", "parameters": shape}
    choice = {"type": "function", "function": {"name": "answer"}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def _schema(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"enum": value}
    properties = {key: _schema(part) for key, part in value.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [*value],
        "additionalProperties": False,
    }


def check_readable(prompt: PromptFile, labels: Sequence[str], *, chooses: bool, tie: bool) -> None:
    """Raises LabError for a rule by which a label could never be read."""
    rule, shape = prompt.answer, form(prompt.answer)
    if rule.read == "pattern":
        compiled(rule.pattern.replace(CRITERION, "x"))
    for index, label in enumerate(labels):
        example = shape.replace(SLOT, label)
        if read_answer(example, rule, labels, chooses=chooses, tie=tie) != index:
            raise LabError(
                f"Prompt “{shorten(prompt.name)}”: no reply can give the label “{shorten(label)}” by {rule.read} "
                f"{shorten(rule.pattern or rule.path)!r}; tried {shorten(example)!r}. Change [answer] so that its group takes every label."
            )
