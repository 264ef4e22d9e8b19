"""Read the label that a reply gives to a prompt of the user's own, by the rule of its answer.

A rule says where the answer stands. It takes the one value that stands there: two that differ are
none, whichever comes last.
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
"""A rule that fits a reply more often gives nothing: no verdict stands out of so many."""
CRITERION = "{criterion}"
SLOT = "\ue000"
"""Stands for the label in the form of a reply; of criteria in one call, the sign so many behind
it for each.
"""


def read_answer(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """Return the index of that of ``labels`` which the reply gives; None for none."""
    label = answer_reading(text, rule, labels, chooses=chooses, tie=tie).label
    return None if label is None else list(labels).index(label)


def answer_reading(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> Reading:
    """Read the label that the reply gives by ``rule``, or say why there is none.

    ``chooses``: labels stand for candidates, the last one for a tie where ``tie``. Where a rule
    fits several times, all must give one label.
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
    """Read the score that the reply gives to each of the criteria ``names``, or say why there
    is none.
    """
    labels = tuple(map(str, scores))
    if rule.read in ("label", "result", "last_label"):
        return read_each(text, labels, names)
    return {name: answer_reading(text, _about(rule, name), labels) for name in names}


def _without_word(text: str, word: str) -> str:
    """Return a reply without the word that its prompt ends in, which a judge may repeat: "Total
    rating: 2".
    """
    try:
        said = own_words(text)
    except Unread:
        return text
    return re.sub(rf"(?i)^\W*{re.escape(word)}[^:\n]{{0,40}}:", "", said)


def _given(said: str, rule: AnswerPart, labels: Sequence[str]) -> Iterator[str]:
    """Yield the words that stand where the rule looks. Raises Unread."""
    if rule.read == "json":
        for value in _values(said, rule.path.split(".")):
            if isinstance(value, bool | dict | list):
                raise Unread(NOT_SINGLE)
            yield str(value)
        return
    body = visible(said)  # a pattern of the user's own may name signs of Markdown
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
    """Yield the labels in the last line that has any, unless its words are of doubt: what is no
    verdict has no form here.
    """
    words = _label_words(tuple(labels))
    for line in reversed(body.split("\n")):
        if words.search(line):
            if not HEDGE.search(line):
                yield from (match[0] for match in words.finditer(line))
            return


def _about(rule: AnswerPart, name: str) -> AnswerPart:
    """The rule for one criterion: its name in pattern or path, else as a key below the path."""
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
    """The pattern by RE2, whatever the case of letters, in time linear in a reply. Raises
    LabError with the cure.
    """
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, 8 << 20
    try:
        made = re2.compile(pattern, options)
    except (re2.error, ValueError) as fault:
        said = fault.args[0] if fault.args else ""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(fault)
        raise LabError(
            f"The pattern {shorten(pattern)!r} is none of RE2's: {shorten(words, 100)}. "
            f"Look-around and back references are not known "
            "there; write what stands before the answer, and the answer in ( )."
        ) from None
    if made.groups != 1:
        words = "expected one, round the answer. Write others as (?:…)."
        raise LabError(f"The pattern {shorten(pattern)!r} has {made.groups} groups; {words}")
    return made


@lru_cache(maxsize=256)
def _label_words(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Labels as words of their own that are no top of a scale (4/5). Case counts for a lone
    letter: “a” is a word.
    """
    spelled = (
        re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})"
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(
        rf"(?<![\w/])(?<!/ )(?<!out of )(?<!\d[.,])(?<!-)(?:{'|'.join(spelled)})(?!\w|[.,]\d)"
    )


def _label_of(words: str, labels: Sequence[str]) -> Reading:
    """Read the label that words are: as written, else whatever the case; else as everywhere
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
    """Yield the value at ``path`` of every JSON object of an answer that has it. Raises Unread
    for JSON that does not end.
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
    """A reply that gives SLOT as its label, as far as the rule can tell; ``names``: criteria,
    each with a sign of its own.
    """
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
"""Of a part of a pattern in the example of a reply: ``x{1000}`` would only make it long."""


def _one_of(choices: Any) -> str:
    """Return a character of a parsed class: the first one, or a blank where that is no letter."""
    kind, first = choices[0]
    if str(kind) == "LITERAL":
        return chr(first)
    if str(kind) == "RANGE":
        return chr(first[0])
    return " "


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
    """The fields of a request that hold a server to the rule's JSON, by a schema or by a tool;
    none unless it asks for that.
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
                f"Prompt “{shorten(prompt.name)}”: no reply can give the label “{shorten(label)}” "
                f"by {rule.read} "
                f"{shorten(rule.pattern or rule.path)!r}; tried {shorten(example)!r}. Change "
                f"[answer] so that its group takes every label."
            )
