"""Make a study that asks the prompts of a log again, in other orders.

The list to reorder is one that the log's prompts share, or have at the same spot with the same
layout. The text around it (or around two answers) is kept byte for byte in columns of an item, so
that only the order changes. We leave out and count prompts that we cannot split with certainty.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rubriclab.logs.exchanges import pair_in
from rubriclab.model.data import MAX_OPTIONS, DataSet, Item
from rubriclab.model.study import AnswerPart, DataPart, MessagePart, Study
from rubriclab.model.text import LabError, count, file_name, look_alike, shorten
from rubriclab.study.from_text import (
    Listed,
    Slot,
    Span,
    asked_answer,
    candidate_labels,
    score_lists,
    template_text,
)
from rubriclab.study.labels import natural_order
from rubriclab.study.own_answers import read_answer
from rubriclab.study.prompts import Messages

ROLES = get_args(MessagePart.model_fields["role"].annotation)
MOST_LISTS = 50
"""Keep at most this many different lists of a log. Each becomes a data set with its own rubric."""
COLUMNS = {"item_id": "item_id", "response": "response", "instruction": ""}
"""Columns of the items as a file (``items_csv``).

There is no instruction, because the parts of a prompt have columns of their own.
"""
TRIED_FORMS = 200
"""Look for the form of the reply in this many prompts. The prompts of one tool hardly differ."""
NEAR = 12
"""Characters before or after a list by which we recognise its spot in other prompts."""
NEAR_MARK = 80
"""Characters before an answer in which we look for its name."""


@dataclass(frozen=True)
class Logged:
    """A call of a log.

    prompt, reply: empty where the log keeps none.
    about: item_id, question_id, first and second (the names of a table of judgments), and ratings.
    """

    prompt: Messages
    reply: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class _Parts:
    """A prompt split into the list to reorder and all other text.

    layout: roles, the number of the message with the list, and the template of the list.
    around: the text before and after the list in its message, then the other messages.
    shown: (label, text) in the log's order; for answers the text twice.
    labels: the labels that a reply may contain.
    """

    layout: tuple[tuple[str, ...], int, str]
    around: tuple[str, ...]
    shown: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]

    @property
    def spots(self) -> tuple[Any, ...]:
        """Return what other lists may share with this one: text before, text after, or entries."""
        before, after = self.around[0][-NEAR:], self.around[1][:NEAR]
        return (
            (self.layout, 0, before),
            (self.layout, 1, after),
            (self.layout, 2, frozenset(self.shown)),
        )


@dataclass(frozen=True)
class _Form:
    """The form of the replies. Of the log's ``replies``, ``parsed`` have this form."""

    answer: AnswerPart
    parsed: int
    replies: int


Rows = list[tuple[_Parts, Logged]]
"""Calls of a log, each with the parts of its prompt."""


def from_log(
    name: str, logged: Sequence[Logged], keep: Callable[[DataPart, DataSet], None], *, pairs: bool
) -> Study:
    """Return the study that asks a log's prompts in other orders.

    ``keep`` receives the items of each data set. There is one data set per list, and the first has
    a note on all of them. ``pairs``: two answers are compared; otherwise a score is chosen from a
    list. Raises LabError where no prompt can be asked in another order, and where no reply of the
    log has the form that its prompts ask for.
    """
    stem = shorten(name, 80)
    rows, left = _taken_apart(logged, pairs)
    groups = _by_list(rows, pairs)
    left[f"a list beyond the {MOST_LISTS} commonest"] += sum(map(len, groups[MOST_LISTS:]))
    groups = groups[:MOST_LISTS]
    counted = "; ".join(f"{records:,} × {reason}" for reason, records in left.items() if records)
    if not rows:
        raise LabError(
            f"The prompts of “{stem}” cannot be asked in other orders. Left out: {counted}."
        )
    items = [_items(group, pairs) for group in groups]
    form = _answer(rows, pairs)
    note = _note(stem, groups, sum(map(len, items)), form, counted, pairs=pairs)
    if form.replies and not form.parsed:
        raise LabError(
            f"{note} A run would have no score. Check that the log keeps the message that asks "
            "for the form of the reply."
        )
    template = _template(groups[0][0][0], form.answer)
    if not pairs:
        first = groups[0][0][0]
        template["order"] = [int(label) for label, _ in first.shown]
        template["item"] = items[0][0].item_id
    study = _study(stem, groups, template, tie=len(form.answer.labels) > 2, pairs=pairs)
    for part, chosen in zip(study.data, items, strict=True):
        noted = note if part is study.data[0] else ""
        keep(part, DataSet(part.name, tuple(chosen), stem, noted))
    if len(groups) > 1:
        return study
    # A single list becomes the rubric of the study, so its data set needs none.
    plain = study.data[0].model_copy(update={"rubric": None})
    return study.model_copy(update={"rubric": study.data[0].rubric, "data": (plain,)})


def _by_list(rows: Rows, pairs: bool) -> list[Rows]:
    """Group the calls by the list that they show, the most frequent first. Pairs are one group."""
    by_list: dict[Any, Rows] = {}
    for parts, row in rows:
        key = None if pairs else frozenset(parts.shown)
        by_list.setdefault(key, []).append((parts, row))
    return sorted(by_list.values(), key=len, reverse=True)


def _note(
    stem: str, groups: Sequence[Rows], items: int, form: _Form, counted: str, *, pairs: bool
) -> str:
    """Return the note to read before a launch: what we found in the log, and what we left out."""
    prompts = count(items // 2 if pairs else items, "prompt")
    sentences = [f"{stem}: {prompts}, the same character for character except for the order."]
    if not pairs:
        first = groups[0][0][0]
        entries = [shorten(f"{label} {text}", 40) for label, text in first.shown]
        listed = " · ".join(entries).rstrip(".")
        others = ""
        if len(groups) > 1:
            others = f", and {count(len(groups) - 1, 'other list')} with the same layout"
        sentences.append(f"We found this list; its order will change: {listed}{others}.")
    if form.replies:
        replies = count(form.replies, "reply", "replies")
        sentences.append(
            f"{form.parsed:,} of {replies} in the log can be parsed in the form that the prompts "
            "ask for."
        )
    if counted:
        sentences.append(f"Left out: {counted}.")
    return " ".join(sentences)


def _template(first: _Parts, answer: AnswerPart) -> dict[str, Any]:
    """Return the prompt file. The list stays in place; other text comes from an item's columns."""
    roles, with_list, listing = first.layout
    texts = [f"{{{{ item.message_{k} }}}}" for k in range(len(roles))]
    # The text around the list comes from a column, so that none of its characters can change.
    texts[with_list] = f"{{{{ item.before }}}}{listing}{{{{ item.after }}}}"
    messages = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=True)]
    return {"name": "as logged", "messages": messages, "answer": answer}


def _study(
    stem: str, groups: Sequence[Rows], template: Mapping[str, Any], *, tie: bool, pairs: bool
) -> Study:
    """Return the study, with a data set for each list."""
    data = []
    for k, group in enumerate(groups, 1):
        title = stem if len(groups) == 1 else f"{stem}, list {k}"
        data.append(
            {
                "file": file_name(title, ".csv"),
                "name": title,
                "rubric": None if pairs else _rubric(group[0][0]),
                "columns": COLUMNS | ({"prompt": "prompt"} if pairs else {}),
            }
        )
    return Study.model_validate(
        {
            "name": f"{stem}, other orders",
            "data": data,
            "prompt": {"templates": [template]},
            "design": {"reorder": "pairs" if pairs else "options", "tie": tie},
        }
    )


# ---------------------------------------------------------------- split the prompts
def _taken_apart(logged: Sequence[Logged], pairs: bool) -> tuple[Rows, Counter[str]]:
    """Split the prompts, and choose the list to reorder in each.

    Return (the calls whose prompts share the most frequent layout, calls left out by reason).
    """
    whole = {json.dumps(row.prompt): row.prompt for row in logged}
    choices = {text: list(_choices(prompt, pairs)) for text, prompt in whole.items()}
    spots = Counter(
        spot
        for parts in choices.values()
        for spot in {spot for part in parts for spot in part.spots}
    )
    chosen: dict[str, _Parts | str] = {}
    for text, prompt in whole.items():
        counts = [[spots[spot] for spot in part.spots] for part in choices[text]]
        shared = [(max(before, after), same) for before, after, same in counts]
        most = max(shared, default=(0, 0))
        if not prompt:
            chosen[text] = "no prompt is kept"
        elif not all(message["role"] in ROLES for message in prompt):
            chosen[text] = f"a message of another role than {', '.join(ROLES)}"
        elif not shared:
            chosen[text] = (
                "no two answers in marks of their own" if pairs else "no list of numbered scores"
            )
        elif shared.count(most) > 1:
            chosen[text] = "several lists that may be the scores"
        elif most[0] < 2 and len(whole) > 1:
            chosen[text] = "a list that no other prompt has at that spot"
        else:
            chosen[text] = choices[text][shared.index(most)]
    layouts = Counter(
        parts.layout for parts in chosen.values() if isinstance(parts, _Parts)
    ).most_common(1)
    rows, left = [], Counter[str]()
    for row in logged:
        parts = chosen[json.dumps(row.prompt)]
        if isinstance(parts, str) or parts.layout != layouts[0][0]:
            left[parts if isinstance(parts, str) else "a layout that most prompts do not have"] += 1
        else:
            rows.append((parts, row))
    return rows, left


def _choices(prompt: Messages, pairs: bool) -> Iterator[_Parts]:
    """Yield every way in which a prompt may hold the list (or two answers) to reorder."""
    roles, contents = ([message[key] for message in prompt] for key in ("role", "content"))
    for number, content in enumerate(contents):
        lists = [(listed.labels, listed.texts) for listed in score_lists(content) if _even(listed)]
        for labels, texts in _answers(content) if pairs else lists:
            start, end = min(*labels, *texts)[0], max(stop for _, stop in (*labels, *texts))
            around = (content[:start], content[end:], *contents[:number], *contents[number + 1 :])
            named = "responses[{}].text" if pairs else "options[{}].description"
            slots: list[Slot] = [
                (*text, named.format(k)) for k, text in enumerate(texts) if text[0] < text[1]
            ]
            slots += [
                (*label, f"options[{k}].label") for k, label in enumerate(labels) if not pairs
            ]
            listing = template_text(
                content[start:end], [(a - start, b - start, code) for a, b, code in slots]
            )
            shown = [[content[slice(*span)] for span in spans] for spans in (labels, texts)]
            try:
                own = (
                    candidate_labels(content, "\n".join(around), slots)
                    if pairs
                    else natural_order(tuple(shown[0]))
                )
            except LabError:
                continue  # nothing says how a reply names each answer
            yield _Parts(
                (tuple(roles), number, listing), around, tuple(zip(*shown, strict=True)), own
            )


def _even(listed: Listed) -> bool:
    """Return whether all entries or none have a text, and the list is not too long for a rubric."""
    return (
        len({start < end for start, end in listed.texts}) == 1 and len(listed.labels) <= MAX_OPTIONS
    )


def _answers(content: str) -> Iterator[tuple[Sequence[Span], Sequence[Span]]]:
    """Yield the spans of two answers between opening and closing marks, as labels and as texts.

    Yield nothing where an answer contains the name of either: “Answer A” in it would become a
    label.
    """
    pair = pair_in(content)
    if pair is None or not re.search("</|End of", content[pair.first[1] : pair.second[0]], re.I):
        return
    spans, names = [], []
    for (start, end), label in zip(pair[:2], pair.labels, strict=True):
        names += re.findall(
            rf"\w+?[\s_(-]*{label}(?![a-z])", content[max(start - NEAR_MARK, 0) : start], re.I
        )[-1:]
        text = content[start:end]
        spans.append((start + len(text) - len(text.lstrip()), start + len(text.rstrip())))
    texts = {content[slice(*span)] for span in spans}
    leaks = any(
        re.search(rf"\b{re.escape(name)}\b", text, re.I) for name in names for text in texts
    )
    if len(texts) == 2 and all(texts) and not leaks:
        yield spans, spans


# ---------------------------------------------------------------- make the study from the parts
def _answer(rows: Rows, pairs: bool) -> _Form:
    """Return the form of reply that the prompts ask for.

    Return the lab's own form instead where it parses more of the log's replies. That happens where
    a prompt names several forms.
    """
    own = Counter(parts.labels for parts, _ in rows).most_common(1)[0][0] if pairs else ()
    fixed = ["\n".join((*parts.around[2:], *parts.around[:2])) for parts, _ in rows[:TRIED_FORMS]]
    asked = Counter(
        json.dumps(asked_answer(text, own, "pairs" if pairs else "options")) for text in fixed
    )
    replies = [(row.reply, own or parts.labels) for parts, row in rows if row.reply]
    best, most = AnswerPart(), -1
    for rule in (
        AnswerPart.model_validate_json(asked.most_common(1)[0][0]),
        AnswerPart(labels=own),
    ):
        read = [
            read_answer(reply, rule, labels, chooses=pairs, tie=len(own) > 2)
            for reply, labels in replies
        ]
        if len(read) - read.count(None) > most:
            best, most = rule, len(read) - read.count(None)
    return _Form(best, parsed=most, replies=len(replies))


def _rubric(parts: _Parts) -> dict[str, Any]:
    """Return the rubric with the options of the list, in the log's order."""
    options = []
    for label, text in parts.shown:
        score = int(label)
        options.append(
            {
                "score": score,
                "description": text,
                "label": "" if label == str(score) else label,
            }
        )
    return {"name": "Of the log", "criteria": [{"name": "Score", "options": options}]}


def _items(group: Rows, pairs: bool) -> list[Item]:
    """Return an item for each prompt; for pairs, one for each answer.

    A prompt that the log repeats, in the same or another order, is still one item.
    """
    items: list[Item] = []
    known: set[Any] = set()
    names: set[str] = set()
    for parts, row in group:
        key, about = (parts.around, frozenset(parts.shown)), row.about
        if key in known:
            continue
        known.add(key)
        name = shorten(str(about.get("question_id") or about.get("item_id") or len(known)), 200)
        if look_alike(name) in names:
            name += f" ({len(known)})"
        names.add(look_alike(name))
        others = (f"message_{k}" for k in range(len(parts.layout[0])) if k != parts.layout[1])
        columns = dict(zip(("before", "after", *others), parts.around, strict=True))
        if pairs:
            who = [
                str(about.get(role) or f"answer {k}")
                for k, role in enumerate(("first", "second"), 1)
            ]
            for candidate, (text, _) in zip(who, parts.shown, strict=True):
                items.append(
                    Item(
                        f"{name}: {candidate}",
                        text,
                        prompt=name,
                        candidate=candidate,
                        columns=columns,
                    )
                )
        else:
            items.append(
                Item(
                    name, "".join(parts.around), ratings=about.get("ratings") or {}, columns=columns
                )
            )
    return items
