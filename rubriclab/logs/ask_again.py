"""Prompts that a log holds in; the study that asks them again in other orders, sign for sign, out.

The list is one that the log's prompts share, or lay out alike at the same spot; what stands around
it (or around two answers) is kept byte for byte in columns of an item. A prompt that cannot be
taken apart for sure is left out and counted.
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
"""Different lists of one log, each a data set with a rubric of its own."""
COLUMNS = {"item_id": "item_id", "response": "response", "instruction": ""}
"""Of the items as a file (``items_csv``): nothing of a prompt is an instruction, it stands in
columns of its own.
"""
TRIED_FORMS, NEAR, NEAR_MARK = 200, 12, 80
"""Prompts whose form of reply is looked at; signs beside a list that tell its spot, and before an
answer that name it.
"""


@dataclass(frozen=True)
class Logged:
    """A call of a log. ``prompt``: empty where none is kept, as ``reply`` is; ``about``: what else
    is known of it (item_id, question_id, first, second, as a table of judgments names them, and
    ratings).
    """

    prompt: Messages
    reply: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class _Parts:
    """A prompt taken apart. ``layout``: roles, number of the message with the list, template of the
    list; ``around``: what stands before and behind it there, then the other messages; ``shown``:
    (label, text) as the log lists them, of answers the text twice; ``labels``: what a reply may be.
    """

    layout: tuple[tuple[str, ...], int, str]
    around: tuple[str, ...]
    shown: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]

    @property
    def spots(self) -> tuple[Any, ...]:
        """What a list shares with those of other prompts: what stands before or behind it, its own
        words.
        """
        before, after = self.around[0][-NEAR:], self.around[1][:NEAR]
        return (
            (self.layout, 0, before),
            (self.layout, 1, after),
            (self.layout, 2, frozenset(self.shown)),
        )


Rows = list[tuple[_Parts, Logged]]


def from_log(
    name: str, logged: Sequence[Logged], keep: Callable[[DataPart, DataSet], None], *, pairs: bool
) -> Study:
    """The study of a log's prompts; ``keep`` gets the items of its data sets, one a list, the first
    with a note on all of them.

    ``pairs``: two answers are compared, else a score is chosen from a list. Raises LabError where
    no prompt can be asked in another order, and where no reply of the log can be read in the form
    that its prompts ask for.
    """
    stem = shorten(name, 80)
    rows, left = _taken_apart(logged, pairs)
    by_list: dict[Any, Rows] = {}
    for parts, row in rows:
        by_list.setdefault(None if pairs else frozenset(parts.shown), []).append((parts, row))
    groups = sorted(by_list.values(), key=len, reverse=True)
    left[f"a list beyond the {MOST_LISTS} commonest"] += sum(map(len, groups[MOST_LISTS:]))
    counted = "; ".join(f"{records:,} × {reason}" for reason, records in left.items() if records)
    if not rows:
        raise LabError(
            f"The prompts of “{stem}” cannot be asked in other orders. Left out: {counted}."
        )
    groups, first = groups[:MOST_LISTS], groups[0][0][0]
    items = [_items(group, pairs) for group in groups]
    answer, read, tried = _answer(rows, pairs)
    asked = count(sum(map(len, items)) // (2 if pairs else 1), "prompt")
    note = f"{stem}: {asked}, the same sign for sign but for the order."
    if not pairs:
        lines = " · ".join(shorten(f"{label} {text}", 40) for label, text in first.shown).rstrip(
            "."
        )
        others = (
            f", and {count(len(groups) - 1, 'other list')} laid out alike"
            if len(groups) > 1
            else ""
        )
        note += f" We found this list; its order will change: {lines}{others}."
    if tried:
        note += (
            f" {read:,} of {count(tried, 'reply', 'replies')} of the log can be read in the "
            f"form that they ask for."
        )
    note += f" Left out: {counted}." * bool(counted)
    if tried and not read:
        raise LabError(
            f"{note} A run would have no score: does the log leave out the message that asks for "
            f"the form?"
        )
    roles, listed, listing = first.layout
    texts = [f"{{{{ item.message_{k} }}}}" for k in range(len(roles))]
    texts[listed] = (
        f"{{{{ item.before }}}}{listing}{{{{ item.after }}}}"  # no sign beside the list can change
    )
    messages = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=True)]
    template: dict[str, Any] = {"name": "as logged", "messages": messages, "answer": answer}
    if not pairs:
        template |= {"order": [int(label) for label, _ in first.shown], "item": items[0][0].item_id}
    names = [stem if len(groups) == 1 else f"{stem}, list {k}" for k in range(1, len(groups) + 1)]
    rubrics = [None if pairs else _rubric(group[0][0]) for group in groups]
    columns = COLUMNS | ({"prompt": "prompt"} if pairs else {})
    study = Study.model_validate(
        {
            "name": f"{stem}, other orders",
            "data": [
                {
                    "file": file_name(title, ".csv"),
                    "name": title,
                    "rubric": rubric,
                    "columns": columns,
                }
                for title, rubric in zip(names, rubrics, strict=True)
            ],
            "prompt": {"templates": [template]},
            "design": {"reorder": "pairs" if pairs else "options", "tie": len(answer.labels) > 2},
        }
    )
    for part, chosen in zip(study.data, items, strict=True):
        keep(part, DataSet(part.name, tuple(chosen), stem, note if part is study.data[0] else ""))
    if len(groups) > 1:
        return study
    plain = study.data[0].model_copy(update={"rubric": None})
    return study.model_copy(update={"rubric": study.data[0].rubric, "data": (plain,)})


# ---------------------------------------------------------------- a prompt taken apart
def _taken_apart(logged: Sequence[Logged], pairs: bool) -> tuple[Rows, Counter[str]]:
    """(calls whose prompts one template gives, taken apart; why others are left out, counted in
    calls).
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
            left[parts if isinstance(parts, str) else "laid out otherwise than most"] += 1
        else:
            rows.append((parts, row))
    return rows, left


def _choices(prompt: Messages, pairs: bool) -> Iterator[_Parts]:
    """What of a prompt may be the list (or the two answers) whose order changes."""
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
                continue  # nothing says what stands for each answer
            yield _Parts(
                (tuple(roles), number, listing), around, tuple(zip(*shown, strict=True)), own
            )


def _even(listed: Listed) -> bool:
    """Has every entry of a list a text, or none, and is it no longer than a rubric may be?"""
    return (
        len({start < end for start, end in listed.texts}) == 1 and len(listed.labels) <= MAX_OPTIONS
    )


def _answers(content: str) -> Iterator[tuple[Sequence[Span], Sequence[Span]]]:
    """The texts of the two answers between marks that begin and end them, twice; nothing where one
    names either's mark.
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


# ---------------------------------------------------------------- what is asked of the parts
def _answer(rows: Rows, pairs: bool) -> tuple[AnswerPart, int, int]:
    """(the form of reply that prompts ask for, how many of the log's replies it reads, how many
    there are).

    Where a prompt names several forms and the verdict as the lab reads it reads more, it is that.
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
    return best, most, len(replies)


def _rubric(parts: _Parts) -> dict[str, Any]:
    rows = [(int(label), text, label) for label, text in parts.shown]
    options = [
        {"score": n, "description": text, "label": label * (label != str(n))}
        for n, text, label in rows
    ]
    return {"name": "Of the log", "criteria": [{"name": "Score", "options": options}]}


def _items(group: Rows, pairs: bool) -> list[Item]:
    """An item for each prompt (of pairs one for each answer); the same one again, and in another
    order, is the same.
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
        name += f" ({len(known)})" * (look_alike(name) in names)
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
