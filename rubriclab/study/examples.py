"""Read the examples that a study shows before the answer, and give them to its subjects.

Their texts are shown word for word. Their labels are shown too, but what results rest on is the
score that each label stands for: does the judge's score follow the label at a position?
Of passages some hold the answer (``gold``). The prompt never says which, and a passage counts as 1
or 0.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.data.records import as_json
from rubriclab.data.tables import Table, number
from rubriclab.model.data import Criterion, Item
from rubriclab.model.study import MAX_EXAMPLE, MOST_EXAMPLES, ExamplePart, ExamplesPart, validated
from rubriclab.model.text import LabError, count, look_alike, shorten
from rubriclab.study.subjects import Example, Shape, Subject

LEAST_EXAMPLES = 2
"""One example has no order."""
_GOLD: Mapping[str, bool] = {
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}


@dataclass(frozen=True)
class _Listed:
    """The examples of one answer, and whether they are passages of which some hold the answer."""

    examples: tuple[Example, ...]
    passages: bool


def examples_of_table(table: Table) -> ExamplesPart:
    """Return the examples in a table with the columns ``text`` and, if there are any, ``label``.

    Raises LabError for a table without texts, for fewer than two or too many rows, and for a text
    that is there twice.
    """
    by_name = {look_alike(name): name for name in reversed(table.columns)}
    if "text" not in by_name:
        raise LabError(
            f"“{shorten(table.name)}” has no column text, so it holds no examples. Its columns are "
            f"{table.listed}. Name the column with the examples text, and the one with their "
            f"scores label."
        )
    texts = table.column(by_name["text"])
    labels = table.column(by_name["label"]) if "label" in by_name else [""] * table.size
    where = f"“{shorten(table.name)}”"
    _check(texts, where)
    shown = [
        {"text": text, "label": label.strip()} for text, label in zip(texts, labels, strict=True)
    ]
    return validated(ExamplesPart, {"shown": shown}, f"{where}: ")


def _check(texts: Sequence[str], where: str) -> None:
    """Raise LabError for texts that cannot be shown in several orders. ``where``: who has them."""
    if len(texts) < LEAST_EXAMPLES:
        raise LabError(
            f"{where} has {count(len(texts), 'example')}; an order needs {LEAST_EXAMPLES} to "
            f"{MOST_EXAMPLES}. Add examples."
        )
    if len(texts) > MOST_EXAMPLES:
        raise LabError(
            f"{where} has {len(texts):,} examples; the limit is {MOST_EXAMPLES}. Choose the ones "
            f"that you show."
        )
    seen: dict[str, int] = {}
    for place, text in enumerate(texts, start=1):
        if not text.strip():
            raise LabError(f"{where}: example {place} has no text. Write it, or remove the row.")
        if len(text) > MAX_EXAMPLE:
            raise LabError(
                f"{where}: example {place} has {len(text):,} characters; the limit is "
                f"{MAX_EXAMPLE:,}. Shorten it."
            )
        first = seen.setdefault(" ".join(text.split()), place)
        if first != place:
            raise LabError(
                f"{where}: examples {first} and {place} have the same text (“{shorten(text)}”), so "
                f"they cannot be told apart. Remove one of them."
            )


def with_examples(
    subjects: Sequence[Subject], part: ExamplesPart | None
) -> tuple[list[Subject], list[str]]:
    """Return the subjects with the examples that each shows, and notes.

    Answers whose passages are fewer, more, or otherwise labelled than most are left out: one
    verdict needs one list. Raises LabError for examples that cannot be reordered.
    """
    if part is None or part.file:
        raise LabError(
            "The study's examples have not been read yet: give the file that [examples] names."
        )
    if part.shown:
        _check([example.text for example in part.shown], "[examples]")
    made, notes = [], dict[str, None]()
    same: dict[str, _Listed] = {}  # by criterion, where all answers have the same examples
    for subject in subjects:
        criterion = subject.criteria[0]
        if part.shown and criterion.name not in same:
            shown = examples_of(part, subject.text, criterion)
            same[criterion.name] = _Listed(shown, passages=False)
        if part.shown:
            given = same[criterion.name]
        else:
            given = _of_column(subject.text, part.column, criterion)
        values = () if given.passages else tuple(example.value for example in given.examples)
        notes |= dict.fromkeys(_notes(given.examples, values, criterion))
        made.append(_shown(subject, given))
    shown_too = {
        subject.text.item_id
        for subject in made
        if any(subject.text.response.strip() in example.text for example in subject.examples)
    }
    if shown_too and not all(subject.shape.passages for subject in made):
        others = "" if len(shown_too) == 1 else f", and {count(len(shown_too) - 1, 'more answer')},"
        notes[
            f"The answer “{shorten(min(shown_too), 60)}”{others} can be read in the examples. So "
            f"the judge sees a label before it scores. Leave such answers out of the data."
        ] = None
    kept = _alike(made)
    if len(kept) < len(made):
        left = count(len(made) - len(kept), "answer")
        kind = kept[0].shape
        notes[
            f"{left} left out: most lists in “{shorten(part.column)}” have {kind.positions} "
            f"entries with the same labels, and theirs do not."
        ] = None
    if not kept[0].shape.labels:
        notes[
            "The examples have no scores as labels, or all have the same. So the lab does not ask "
            "whether scores follow a label; it asks whether the order changes them."
        ] = None
    return kept, list(notes)


def examples_of(part: ExamplesPart, item: Item, criterion: Criterion) -> tuple[Example, ...]:
    """Return the examples that are shown before an item, in the default order.

    Raises LabError for a column that holds none.
    """
    if part.shown:
        return tuple(_example(example, criterion) for example in part.shown)
    return _of_column(item, part.column, criterion).examples


def _example(example: ExamplePart, criterion: Criterion) -> Example:
    """Return an example with the label that the prompt shows, and the score that it stands for.

    A label that is one of the scale is shown as the scale shows it.
    """
    label, value = example.label.strip(), number(example.label)
    for option in criterion.options:
        if look_alike(label) in (look_alike(option.shown_label), look_alike(str(option.score))):
            return Example(example.text, option.shown_label, float(option.score))
    return Example(example.text, label, math.nan if value is None else value)


def _of_column(item: Item, column: str, criterion: Criterion) -> _Listed:
    """Return the list in a column of an item: with the highest labels first, else as it comes.

    Raises LabError that names the item.
    """
    where = f"Answer “{shorten(item.item_id)}”, column “{shorten(column)}”"
    if column not in item.columns:
        known = ", ".join(shorten(name, 30) for name in item.columns) or "none"
        raise LabError(
            f"[examples] column: the data have no column “{shorten(column)}”. Columns without "
            f"another use are {known}."
        )
    entries = as_json(item.columns[column])
    if not isinstance(entries, list):
        raise LabError(
            f"{where}: “{shorten(item.columns[column])}” is not a list. Write a JSON list, for "
            f'example [{{"text": "…", "gold": true}}, {{"text": "…", "gold": false}}].'
        )
    tables = [entry if isinstance(entry, dict) else {"text": entry} for entry in entries]
    texts = [entry.get("text") for entry in tables]
    for place, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise LabError(
                f"{where}: entry {place} has no text (“{shorten(str(entries[place - 1]))}”). Give "
                f"each entry a text."
            )
    _check([str(text) for text in texts], where)
    passages = any("gold" in entry for entry in tables)
    made = []
    for place, entry in enumerate(tables, start=1):
        if passages:
            gold = _gold(entry.get("gold", False), f"{where}: entry {place}")
            made.append(Example(str(entry["text"]), "", float(gold)))
        else:
            label = validated(ExamplePart, {"text": "-", "label": entry.get("label") or ""}, where)
            made.append(_example(label.model_copy(update={"text": entry["text"]}), criterion))
    # One list for all answers: the gold passage has the same number in each.
    ranked = sorted(made, key=lambda example: -example.value) if _known(made) else made
    return _Listed(tuple(ranked), passages)


def _gold(value: Any, where: str) -> bool:
    """Return whether a passage holds the answer. Raises LabError for what says neither."""
    known = _GOLD.get(str(value).strip().lower())
    if known is None:
        raise LabError(f"{where}: gold is “{shorten(str(value))}”; expected true or false.")
    return known


def _known(examples: Sequence[Example]) -> bool:
    """Return whether every example has a score as its label."""
    return all(math.isfinite(example.value) for example in examples)


def _shown(subject: Subject, listed: _Listed) -> Subject:
    """Return the subject with its examples, which are numbered from 1 in the default order."""
    examples = listed.examples
    values = tuple(example.value for example in examples)
    labels = values if _known(examples) and len(set(values)) > 1 else ()
    shape = Shape(
        subject.shape.scores, (), len(examples), labels, passages=listed.passages and bool(labels)
    )
    options = tuple(range(1, len(examples) + 1))
    return replace(subject, shape=shape, options=options, examples=examples)


def _alike(subjects: Sequence[Subject]) -> list[Subject]:
    """Return the subjects whose list is like that of most, under each criterion."""
    most: dict[str, Shape] = {}
    for name in {subject.criteria[0].name for subject in subjects}:
        shapes = Counter(subject.shape for subject in subjects if subject.criteria[0].name == name)
        most[name] = shapes.most_common(1)[0][0]
    return [subject for subject in subjects if subject.shape == most[subject.criteria[0].name]]


def _notes(examples: Sequence[Example], values: Sequence[float], criterion: Criterion) -> list[str]:
    """Return what to look at: labels that are not on the scale."""
    notes = []
    for example, value in zip(examples, values, strict=False):
        if example.label and value not in map(float, criterion.scores):
            scores = f"{criterion.scores[0]} to {criterion.scores[-1]}"
            notes.append(
                f"The label “{shorten(example.label, 40)}” of an example is not on the scale of "
                f"“{shorten(criterion.name, 40)}” ({scores}). It is shown as it is."
            )
    return notes
