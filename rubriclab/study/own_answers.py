"""Read the label that a reply gives to a user's own prompt, by the rule of its answer.

A rule says where in a reply the label is. Two different labels there count as none, whichever comes
last.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import re2

from rubriclab.model.study import AnswerPart, PromptFile
from rubriclab.model.text import LabError, shorten
from rubriclab.study.grammar import HEDGE, NO_FORM, NOT_SINGLE, SHORT, TOO_MANY, TWO
from rubriclab.study.labels import fold
from rubriclab.study.own_words import Unread, own_words, visible
from rubriclab.study.reading import Reading, read_each, read_one
from rubriclab.study.replied_json import objects

MOST_VALUES = 100
"""Places that a rule may fit in a reply. With more, no place is likely to be the verdict."""
CRITERION = "{criterion}"
SLOT = "\ue000"
"""Placeholder of the label in an example of a reply. The k-th criterion has SLOT's code plus k."""


def read_answer(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """Return the index of the label that the reply gives, None if it gives none."""
    label = answer_reading(text, rule, labels, chooses=chooses, tie=tie).label
    return None if label is None else list(labels).index(label)


def answer_reading(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> Reading:
    """Read the label that the reply gives by ``rule``, or say why there is none.

    ``chooses``: the labels are those of candidates, and with ``tie`` the last one means a tie. If a
    rule fits several times, all places must give the same label.
    """
    if rule.read == "result":
        return read_one(text, labels, "pair" if chooses else "feedback", tie=tie, brief=False)
    if rule.read == "label":
        if rule.path:
            text = _without_word(text, rule.path)
        names = (rule.path,) if rule.path and not chooses else ()
        return read_one(text, labels, "pair" if chooses else "score", names=names, tie=tie)
    try:
        given = dict.fromkeys(islice(_given(own_words(text), rule, labels), MOST_VALUES))
        readings = [_label_of(part, labels) for part in given]
        if not readings:
            raise Unread(NO_FORM)
        if len(given) == MOST_VALUES:
            raise Unread(TOO_MANY)
        if len({reading.label for reading in readings}) > 1:
            raise Unread(TWO)
    except Unread as reason:
        return Reading(None, why=str(reason))
    return readings[0]


def answer_readings(
    text: str, rule: AnswerPart, names: Sequence[str], scores: Sequence[int]
) -> dict[str, Reading]:
    """Read the score that the reply gives to each criterion, or say why there is none."""
    labels = tuple(map(str, scores))
    if rule.read in ("label", "result", "last_label"):
        return read_each(text, labels, names)
    return {name: answer_reading(text, _about(rule, name), labels) for name in names}


def _without_word(text: str, word: str) -> str:
    """Return a reply without the last word of its prompt, if it repeats that: "Total rating: 2"."""
    try:
        said = own_words(text)
    except Unread:
        return text
    return re.sub(rf"(?i)^\W*{re.escape(word)}[^:\n]{{0,40}}:", "", said)


def _given(said: str, rule: AnswerPart, labels: Sequence[str]) -> Iterator[str]:
    """Yield the words at each place where the rule looks. Raises Unread."""
    if rule.read == "json":
        for value in _values(said, rule.path.split(".")):
            if isinstance(value, bool | dict | list):
                raise Unread(NOT_SINGLE)
            yield str(value)
        return
    body = visible(said)  # keep Markdown: a user's pattern may name it
    if rule.read == "last_label":
        yield from _in_last_line(body, labels)
        return
    pattern = rule.pattern
    if rule.read == "tag":
        tag = re2.escape(rule.path)
        pattern = rf"<{tag}(?:\s[^<>]*)?>([^<]*)</{tag}\s*>"
    for match in compiled(pattern).finditer(body):
        if match[1] is not None:
            yield str(match[1])


def _in_last_line(body: str, labels: Sequence[str]) -> Iterator[str]:
    """Yield the labels in the last line that has a label, unless that line expresses doubt."""
    words = _label_words(tuple(labels))
    for line in reversed(body.split("\n")):
        if words.search(line):
            if not HEDGE.search(line):
                yield from (match[0] for match in words.finditer(line))
            return


def _about(rule: AnswerPart, name: str) -> AnswerPart:
    """Return the rule for one criterion.

    Its name goes into the pattern or the path; without a place for it, it is a key below the path.
    """
    key = re.sub(r"\.", "_", name)
    if rule.read == "pattern":
        return rule.model_copy(
            update={"pattern": rule.pattern.replace(CRITERION, re2.escape(name))}
        )
    path = rule.path
    if CRITERION in path:
        path = path.replace(CRITERION, key)
    elif rule.read == "json":
        path = f"{path}.{key}"
    return rule.model_copy(update={"path": path})


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Return the pattern, compiled by RE2 without regard to case.

    RE2 takes time linear in a reply, whatever the pattern. Raises LabError for a pattern that RE2
    does not know, or that does not have one group.
    """
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, 8 << 20
    try:
        made = re2.compile(pattern, options)
    except (re2.error, ValueError) as fault:
        said = fault.args[0] if fault.args else ""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(fault)
        raise LabError(
            f"The pattern {shorten(pattern)!r} is not valid in RE2: {shorten(words, 100)}. "
            f"Look-around and back references do not work there. Write the text before the "
            f"answer, and the answer in ( )."
        ) from None
    if made.groups != 1:
        raise LabError(
            f"The pattern {shorten(pattern)!r} has {made.groups} groups; expected one, around the "
            f"answer. Write other groups as (?:…)."
        )
    return made


@lru_cache(maxsize=256)
def _label_words(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for labels as whole words, but not for the top of a scale (4/5).

    Case counts for a single letter, since “a” is a word.
    """
    spelled = (
        re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})"
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(
        rf"(?<![\w/])(?<!/ )(?<!out of )(?<!\d[.,])(?<!-)(?:{'|'.join(spelled)})(?!\w|[.,]\d)"
    )


def _label_of(words: str, labels: Sequence[str]) -> Reading:
    """Read the label that the words are.

    They may be the label as written or in another case, or any form that the lab reads elsewhere
    (4/5, **4**, Score: 4).
    """
    bare = words.strip().strip("*_`\"'“”‘’.").strip()
    folded = [fold(label) for label in labels]
    if bare in labels:
        return Reading(bare, words.strip()[:SHORT], "rule")
    if folded.count(fold(bare)) == 1:
        return Reading(list(labels)[folded.index(fold(bare))], words.strip()[:SHORT], "rule")
    return read_one(words, labels)


def _values(said: str, path: Sequence[str]) -> Iterator[Any]:
    """Yield the value at ``path`` of every JSON object in a reply.

    Raises Unread for JSON that does not end.
    """
    for value in objects(said)[0]:
        part: Any = value
        for key in path:
            if isinstance(part, Mapping):
                part = {fold(str(name)): inner for name, inner in part.items()}.get(fold(key))
            elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
                part = part[int(key)]
            else:
                part = None
        if part is not None:
            yield part


# -------------------------------------------- what a reply looks like, and what a server is held to


def form(rule: AnswerPart, names: Sequence[str] = ()) -> str:
    """Return an example of a reply, with SLOT as its label. ``names``: criteria, one slot each."""
    signs = [(name, chr(ord(SLOT) + k)) for k, name in enumerate(names)]
    if rule.read in ("label", "result", "last_label"):
        if rule.read == "result" and not names:
            return f"[RESULT] {SLOT}"
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
    except (re.error, RecursionError, OverflowError, AttributeError):
        return SLOT  # RE2 knows patterns that Python does not, for example \pL


def _written(tree: Any) -> str:
    """Return a short text that a parsed pattern fits, with SLOT in place of its group."""
    out = []
    for operation, value in tree:
        name = str(operation)
        if name == "SUBPATTERN":
            group, inner = value[0], value[-1]
            out.append(SLOT if group else _written(inner))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, _, repeated = value
            inner = _written(repeated)
            if SLOT in inner:
                least = max(least, 1)
            out.append(inner * min(least, MOST_REPEATS))
        elif name == "BRANCH":
            branches = [_written(branch) for branch in value[1]]
            out.append(next((text for text in branches if SLOT in text), branches[0]))
        elif name == "IN":
            out.append(_one_of(value))
        elif name == "LITERAL":
            out.append(chr(value))
        elif name in ("ANY", "NOT_LITERAL"):
            out.append("x")
    return "".join(out)


MOST_REPEATS = 40
"""Repeats of one part of a pattern in an example: ``x{1000}`` would only make it long."""


def _one_of(choices: Any) -> str:
    """Return a character of a parsed class: its first one, or a blank for \\s and the like."""
    kind, first = choices[0]
    if str(kind) == "LITERAL":
        return chr(first)
    if str(kind) == "RANGE":
        return chr(first[0])
    return " "


def _nested(paths: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the JSON object that has each value at its dotted path."""
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
    """Return the request fields that make a server reply with the rule's JSON.

    There are none unless the rule asks for a schema or a tool.
    """
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
    """Return the JSON schema of nested tables whose innermost values are lists of labels."""
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
    """Raise LabError for a rule that can never read one of the labels."""
    rule, shape = prompt.answer, form(prompt.answer)
    if rule.read == "pattern":
        compiled(rule.pattern.replace(CRITERION, "x"))
    for index, label in enumerate(labels):
        example = shape.replace(SLOT, label)
        if read_answer(example, rule, labels, chooses=chooses, tie=tie) != index:
            raise LabError(
                f"Prompt “{shorten(prompt.name)}”: no reply can give the label “{shorten(label)}” "
                f"by {rule.read} {shorten(rule.pattern or rule.path)!r}. The lab tried "
                f"{shorten(example)!r}. Change [answer] so that it matches every label."
            )
