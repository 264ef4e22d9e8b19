"""Parse replies to a judge prompt that the user brought, by the rule in its ``[answer]``.

The rule (``model/study.py:AnswerPart``) says where in a reply the label is. Two labels there that
differ give none, whichever comes last. The second part of this file writes an example of a reply
from a rule, and the request's fields that make a server reply so. The rules ``label`` and
``result`` leave the parsing to ``study/reading.py``, which the lab's own prompts use.
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
from rubriclab.study.reading import Reading, read_before_reason, read_each, read_one
from rubriclab.study.replied_json import objects

MOST_VALUES = 100
"""A reply in which the rule finds this many different values gives no label. It limits the work for
a pattern that fits everywhere."""
CRITERION = "{criterion}"
"""What a pattern or path has in place of the criterion's name, if one call scores several."""
SLOT = "\ue000"
"""The character in place of the label in the example of a reply. With several criteria, the first
one has this character, the second one the next, and so on. No reply should have them: Unicode
leaves their meaning open."""
MOST_REPEATS = 40
"""How often a part of a pattern is repeated in the example of a reply: ``x{1000}`` would only make
it long."""


def read_answer(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """Return the index in ``labels`` of the label that the reply gives; None if it gives none."""
    label = answer_reading(text, rule, labels, chooses=chooses, tie=tie).label
    return None if label is None else list(labels).index(label)


def answer_reading(
    text: str, rule: AnswerPart, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> Reading:
    """Return the label that the reply gives by ``rule``, or why there is none.

    ``chooses``: the labels are those of candidates. ``tie``: the last label is that of a tie. If
    the rule fits several times, all its values must give the same label.
    """
    if rule.read == "result":
        return read_one(text, labels, "pair" if chooses else "feedback", tie=tie, brief=False)
    if rule.read == "before_reason":
        return read_before_reason(text, labels, "choice" if chooses else "score", tie=tie)
    if rule.read == "label":
        if rule.path:
            text = _without_word(text, rule.path)
        names = (rule.path,) if rule.path and not chooses else ()
        return read_one(text, labels, "pair" if chooses else "score", names=names, tie=tie)
    try:
        # Each different value once, in the order of the reply.
        values = dict.fromkeys(islice(_values(own_words(text), rule, labels), MOST_VALUES))
        readings = [_label_of(value, labels) for value in values]
        if not readings:
            raise Unread(NO_FORM)
        if len(values) == MOST_VALUES:
            raise Unread(TOO_MANY)
        if len({reading.label for reading in readings}) > 1:
            raise Unread(TWO)
    except Unread as reason:
        return Reading(None, why=str(reason))
    return readings[0]


def answer_readings(
    text: str, rule: AnswerPart, names: Sequence[str], scores: Sequence[int]
) -> dict[str, Reading]:
    """Return the score that the reply gives to each criterion, or why there is none, by name."""
    labels = tuple(map(str, scores))
    if rule.read in ("label", "result", "before_reason", "last_label"):
        return read_each(text, labels, names)
    return {name: answer_reading(text, _about(rule, name), labels) for name in names}


def _without_word(text: str, word: str) -> str:
    """Return a reply without the words that its prompt ends with, which a judge may repeat.

    For example “Total rating: 2” becomes “2”, with the word “Total rating”.
    """
    try:
        words = own_words(text)
    except Unread:
        return text
    return re.sub(rf"(?i)^\W*{re.escape(word)}[^:\n]{{0,40}}:", "", words)


def _values(words: str, rule: AnswerPart, labels: Sequence[str]) -> Iterator[str]:
    """Yield the values where the rule looks for the label. Raises Unread.

    ``words``: the judge's own words in the reply.
    """
    if rule.read == "json":
        for value in _json_values(words, rule.path.split(".")):
            if isinstance(value, bool | dict | list):
                raise Unread(NOT_SINGLE)
            yield str(value)
        return
    # Markdown is kept, because the user's pattern may name its characters: \*\*(\d)\*\*
    body = visible(words)
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
    """Yield the labels in the last line that has any.

    Yield none if that line doubts or denies it (“perhaps a 4”, “not a 4”). The lines above it do
    not count then either, since this line is the judge's last about a label.
    """
    label = _label_words(tuple(labels))
    for line in reversed(body.split("\n")):
        if label.search(line):
            if not HEDGE.search(line):
                yield from (match[0] for match in label.finditer(line))
            return


def _about(rule: AnswerPart, name: str) -> AnswerPart:
    """Return the rule for one criterion.

    Its name replaces ``{criterion}`` in the pattern or path. In a path of JSON without that, the
    name is the last key. It has no dots there, since a dot separates keys.
    """
    if rule.read == "pattern":
        pattern = rule.pattern.replace(CRITERION, re2.escape(name))
        return rule.model_copy(update={"pattern": pattern})
    key = name.replace(".", "_")
    path = rule.path
    if CRITERION in path:
        path = path.replace(CRITERION, key)
    elif rule.read == "json":
        path = f"{path}.{key}"
    return rule.model_copy(update={"path": path})


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Return the user's pattern, compiled without regard to case.

    By RE2, which needs time linear in the reply: with Python's ``re`` a pattern could stop a run.
    Raises LabError for what RE2 does not know, and unless the pattern has exactly one group.
    """
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = 8 << 20  # RE2's own default: a larger pattern is refused
    try:
        made = re2.compile(pattern, options)
    except (re2.error, ValueError) as fault:
        why = fault.args[0] if fault.args else ""
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(fault)
        raise LabError(
            f"The pattern {shorten(pattern)!r} cannot be used: {shorten(why, 100)}. It needs the "
            "syntax of RE2, which has no look-around and no back references. Write the text "
            "before the label, then the label's part in ( )."
        ) from None
    if made.groups != 1:
        raise LabError(
            f"The pattern {shorten(pattern)!r} has {made.groups} groups; expected one, around the "
            "label. Write the others as (?:…)."
        )
    return made


@lru_cache(maxsize=256)
def _label_words(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that finds any of the labels as a whole word.

    The 5 in “4/5” and “4 out of 5” is the top of a scale, and the 4 in “4.5” and “-4” is part of
    another number: neither is found. A single letter counts only in its own case, because “a” is an
    English word.
    """
    spelled = (
        re.escape(label) if len(label) == 1 else f"(?i:{re.escape(label)})"
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(
        rf"(?<![\w/])(?<!/ )(?<!out of )(?<!\d[.,])(?<!-)(?:{'|'.join(spelled)})(?!\w|[.,]\d)"
    )


def _label_of(value: str, labels: Sequence[str]) -> Reading:
    """Return the label that a value is.

    First the value exactly, without Markdown and quotes around it; then without regard to case;
    else as in a reply to the lab's own prompts, which also knows “4/5” and “Score: 4”.
    """
    bare = value.strip().strip("*_`\"'“”‘’.").strip()
    if bare in labels:
        return Reading(bare, value.strip()[:SHORT], "rule")
    folded = [fold(label) for label in labels]
    if folded.count(fold(bare)) == 1:
        return Reading(labels[folded.index(fold(bare))], value.strip()[:SHORT], "rule")
    return read_one(value, labels)


def _json_values(words: str, path: Sequence[str]) -> Iterator[Any]:
    """Yield the value at ``path`` in each JSON object of a reply that has it.

    Keys match without regard to case; a number is the index in a list. Raises Unread for JSON that
    does not end.
    """
    for value in objects(words)[0]:
        part: Any = value
        for key in path:
            if isinstance(part, Mapping):
                by_key = {fold(str(name)): inner for name, inner in part.items()}
                part = by_key.get(fold(key))
            elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
                part = part[int(key)]
            else:
                part = None
        if part is not None:
            yield part


# ---------------------------------- an example of a reply, and the request that asks for it


def form(rule: AnswerPart, names: Sequence[str] = ()) -> str:
    """Return an example of a reply that the rule parses, with SLOT in place of the label.

    ``names``: criteria, if one call scores several. Each has its own character in place of its
    label (see SLOT).
    """
    slots = [(name, chr(ord(SLOT) + k)) for k, name in enumerate(names)]
    if rule.read in ("label", "result", "before_reason", "last_label"):
        if names:
            return "\n".join(f"[{name}] {slot}" for name, slot in slots)
        examples = {"result": f"[RESULT] {SLOT}", "before_reason": f"Score: {SLOT}\nReason: …"}
        return examples.get(rule.read, SLOT)
    if rule.read == "json":
        paths = [(_about(rule, name).path, slot) for name, slot in slots] or [(rule.path, SLOT)]
        return json.dumps(_nested(paths), ensure_ascii=False)
    if names:
        return "\n".join(form(_about(rule, name)).replace(SLOT, slot) for name, slot in slots)
    if rule.read == "tag":
        return f"<{rule.path}>{SLOT}</{rule.path}>"
    try:
        # RE2 has no tree of a pattern to go through. Python's is private, so it may disappear.
        parser = re._parser  # type: ignore[attr-defined]
        return _text_that_fits(parser.parse(rule.pattern))
    except (re.error, RecursionError, OverflowError, AttributeError):
        return SLOT  # the pattern has something that only RE2 knows, for example \pL


def _text_that_fits(tree: Any) -> str:
    """Return a short text that fits a pattern parsed by Python, with SLOT in place of its group.

    Optional parts are left out, unless the group is in them.
    """
    text = []
    for operation, value in tree:
        name = str(operation)
        if name == "SUBPATTERN":
            group, inner = value[0], value[-1]
            text.append(SLOT if group else _text_that_fits(inner))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, _, repeated = value
            inner = _text_that_fits(repeated)
            if SLOT in inner:
                least = max(least, 1)
            text.append(inner * min(least, MOST_REPEATS))
        elif name == "BRANCH":
            branches = [_text_that_fits(branch) for branch in value[1]]
            with_slot = [branch for branch in branches if SLOT in branch]
            text.append(with_slot[0] if with_slot else branches[0])
        elif name == "IN":
            text.append(_one_of(value))
        elif name == "LITERAL":
            text.append(chr(value))
        elif name in ("ANY", "NOT_LITERAL"):
            text.append("x")
    return "".join(text)


def _one_of(choices: Any) -> str:
    """Return a character of a parsed class like [0-9]: its first one, or else a blank.

    A class that starts with a category (\\s) or a negation gets the blank.
    """
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
    """Return the fields of a request that make a server reply with the rule's JSON.

    By a schema or a tool, as ``rule.ask`` says; none if that is empty. ``names``: criteria, if one
    call scores several.
    """
    if not rule.ask:
        return {}
    values: list[Any] = [int(label) if re.fullmatch(r"-?\d+", label) else label for label in labels]
    paths = [(_about(rule, name).path, values) for name in names] or [(rule.path, values)]
    schema = _schema(_nested(paths))
    if rule.ask == "schema":
        form = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    function = {"name": "answer", "description": "Give the answer.", "parameters": schema}
    choice = {"type": "function", "function": {"name": "answer"}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def _schema(value: Any) -> dict[str, Any]:
    """Return the JSON schema of a nested object whose innermost values are lists of labels."""
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
    """Raise LabError if the prompt's rule could never parse one of the labels.

    It is tried on an example of a reply for each label, before any call is made.
    """
    rule = prompt.answer
    reply = form(rule)
    if rule.read == "pattern":
        compiled(rule.pattern.replace(CRITERION, "x"))
    for index, label in enumerate(labels):
        example = reply.replace(SLOT, label)
        if read_answer(example, rule, labels, chooses=chooses, tie=tie) != index:
            raise LabError(
                f"Prompt “{shorten(prompt.name)}”: no reply can give the label “{shorten(label)}” "
                f"by {rule.read} {shorten(rule.pattern or rule.path)!r}. The lab tried "
                f"{shorten(example)!r}. Change [answer] so that it fits every label."
            )
