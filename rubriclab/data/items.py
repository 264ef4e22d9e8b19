"""Guess which column of a table has which role, and make a data set of the table.

A guess that cannot be known for certain is left out, with the reason in words.
"""

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.data.limits import MAX_ROWS, refusal
from rubriclab.data.records import as_json
from rubriclab.data.tables import Columns, Table, as_list, chosen_columns, number
from rubriclab.model.data import MAX_ID, DataSet, Item, Rubric
from rubriclab.model.text import LabError, count, digest, look_alike, shorten

_KNOWN = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))
NAMES: Mapping[str, Sequence[str]] = _KNOWN["roles"]
"""Names that columns have by their roles, most telling first."""
WORDS: Mapping[str, frozenset[str]] = {
    kind: frozenset(words) for kind, words in _KNOWN["words"].items()
}
"""Words in the names of columns of ratings: whose they are, of what, and what they are called."""
ROLES = (*NAMES, "human")
HUMAN = re.compile(
    r"(human|rater|annotator|expert|grader|coder|teacher|mensch|bewerter|gutachter|lehrer|evaluador|profesor|docente"
    r"|humano|humain|correcteur)(_?(score|rating|grade|mean|avg|nota|note|punt\w*|\d+|[a-z]))?|ratings?(_\d+)?|score"
    r"|grade|(nota|note|bewertung|punkte|puntuacion|puntaje|calificacion)(_\w+)?|(mean|avg)_(human_)?(score|rating)"
)
NO_SCORE = re.compile(
    r"(^|_)(id|idx|index|row|page|year|date|turn|position|length|len|n|nr|num|words|tokens"
    r"|seed|level|intended\w*|llm|gpt\w*|claude\w*|model|judge|auto\w*|pred\w*|reward"
    r"|suggestion|latency|ms|seconds|cost|temperature|version|attempt"
    r"|confidence|age|votes|unnamed|rank|ranks|ranking|ranked|rang|place)(_|$)"
)
"""What whole numbers within a scale are besides people's scores. Of ranks the lowest is the best.
"""
DECISIONS = {"accept", "reject", "ignore", ""}
"""What Prodigy writes in its column “answer”: what an annotator decided, not a text."""
ROLE_NAMES = {
    "response": "answer",
    "instruction": "instruction",
    "reference": "reference answer",
    "human": "human score",
    "item_id": "id",
    "prompt": "prompt group",
    "candidate": "writer",
}
"""How roles are called in sentences, where their own name is not plain."""
REFERENCE = re.compile(r"reference_-?\d+")
"""A column with reference answers of one score, which the factor ``reference`` shows."""
TEXTS = ("response", "instruction", "reference")
CHAT_TEMPLATE = re.compile(
    r"\s*(?:<s>|<\|begin_of_text\|>)?\s*(?:<\|im_start\|>\s*(?:system|user|human)"
    r"|<\|start_header_id\|>\s*(?:system|user)|<start_of_turn>\s*user|<\|(?:system|user)\|>"
    r"|\[INST\]|<\|start\|>\s*(?:system|user|developer)|USER:[\s\S]{0,20000}?ASSISTANT:)"
)
"""How a whole chat begins that was written as one text, by the templates of common models."""
LABELS = ("criterion", "candidate", "task", "rater")
TEXT_SIGNS, LABEL_SIGNS = 15, 40
"""A text has at least that many signs on average, a label at most."""
LOOKED_AT = 2_000


@dataclass(frozen=True)
class Guess:
    """``columns``: role -> column (``human``: a list); ``reasons``: role -> why, or why none;
    ``matched``: the answers' column was known by its name.
    """

    columns: dict[str, str | list[str]]
    reasons: dict[str, str] = field(default_factory=dict)
    matched: bool = True


def columns_sentence(table: Table, columns: Columns, reasons: Mapping[str, str]) -> str:
    """Return one line that says which column was taken for what, and which were not used.

    ``reasons``: why, of those that were guessed; a role that the study names has none.
    """
    said, used = [], set[str]()
    for role in sorted(columns, key=[*ROLE_NAMES, *columns].index):
        named = as_list(columns[role])
        used |= {*named}
        if not named:
            continue
        listed = ", ".join(f"“{shorten(name, 40)}”" for name in named)
        name = ROLE_NAMES.get(role, role) + ("s" if role == "human" and len(named) > 1 else "")
        why = reasons.get(role, "")
        guessed = f" ({why})" if why and not why.startswith("by its name") else ""
        said.append(f"{name} = {listed}{guessed}")
    rest = []
    for name in table.columns:
        if name not in used:
            held = " (lists or objects)" if name in table.structured else ""
            rest.append(f"“{shorten(name, 30)}”{held}")
    more = f" and {len(rest) - 12:,} more" if len(rest) > 12 else ""
    left = f" Not used: {', '.join(rest[:12])}{more}." if rest else ""
    without = " No human scores." if "response" in columns and not columns.get("human") else ""
    return f"Columns of “{shorten(table.name)}”: {'; '.join(said)}.{without}{left}"


def guess_columns(table: Table, rubric: Rubric | None = None) -> Guess:
    """Which column has which role, by names, then by contents; whoever brought the file has the
    last word.
    """
    names = {plain_name(column): column for column in reversed(table.columns)}
    cells = {
        column: [cell.strip() for cell in table.column(column, LOOKED_AT)]
        for column in table.columns
    }
    length = {
        name: float(np.mean([len(cell) for cell in part if cell] or [0]))
        for name, part in cells.items()
    }
    numeric = {name for name, part in cells.items() if holds_numbers(part)}
    structured = {
        name for name, part in cells.items() if name in table.structured or looks_structured(part)
    }
    free = [name for name in table.columns if not REFERENCE.fullmatch(name)]
    columns: dict[str, str | list[str]] = {}
    reasons: dict[str, str] = {}

    def take(role: str, column: str, why: str) -> None:
        columns[role], reasons[role] = column, why
        free.remove(column)

    for role, synonyms in NAMES.items():
        named = next((names[name] for name in synonyms if names.get(name) in free), None)
        if (
            named is None
            or (role in TEXTS and named in numeric)
            or (role in LABELS and length[named] > LABEL_SIGNS)
            or (role == "response" and any(cells[named]) and {*cells[named]} <= DECISIONS)
        ):
            continue
        if named in table.structured:
            reasons[role] = f"“{shorten(named, 30)}” is not used: it holds lists or objects"
            continue
        if role == "item_id" and _repeats(table, named, names):
            reasons[role] = (
                f"“{shorten(named, 30)}” has one value in several rows, so rows are numbered "
                f"instead"
            )
        else:
            take(role, named, "by its name")
    matched = "response" in columns

    # The answer is the longest text that differs from row to row; the instruction repeats, or comes
    # before it.
    plain = [name for name in free if name not in numeric and name not in structured]
    texts = [name for name in plain if length[name] >= TEXT_SIGNS]
    repeated = {name for name in texts if len(set(cells[name])) <= 0.8 * len(cells[name])}
    if not matched:
        short = [name for name in plain if length[name] > 0]
        single = [name for name in texts if name not in repeated] or texts or short
        best = max(single, key=length.__getitem__, default="")
        larger = [name for name in structured if best and length[name] > length[best]]
        if larger:
            listed = ", ".join(f"“{shorten(name, 30)}”" for name in larger)
            reasons["response"] = f"{listed} may hold the answers, within lists or objects"
        elif best:
            take("response", best, f"the longest text: {length[best]:,.0f} signs on average")
    answer = str(columns.get("response", ""))
    if "instruction" not in columns:
        again = [name for name in texts if name in free and name in repeated]
        before = [
            name
            for name in free
            if name in texts and answer in table.columns[table.columns.index(name) :]
        ]
        if again:
            take(
                "instruction",
                max(again, key=length.__getitem__),
                "a text that repeats from row to row",
            )
        elif before:
            take("instruction", before[-1], "the text before the answer")

    scale = sorted(
        {float(score) for part in rubric.criteria for score in part.scores}
        if rubric
        else {1.0, 5.0}
    )
    rated = [name for name in free if name in numeric and _whole_within(cells[name], scale)]
    people, why = _people(table, rubric, free, numeric, rated)
    if not people and why:
        reasons["human"] = why
    if people:
        columns["human"], reasons["human"] = people, why
    if (
        "rater" not in columns
        and len(people) == 1
        and len(set(cells.get(answer, ()))) < len(cells.get(answer, ()))
    ):
        for name in [name for name in free if name not in numeric]:
            kinds, pairs = (
                len(set(cells[name])),
                len(set(zip(cells[answer], cells[name], strict=True))),
            )
            if 2 < 2 * kinds <= pairs == len(cells[name]):
                take("rater", name, "it tells the rows of one answer apart")
                break
    if "rater" in columns and not people:
        del columns["rater"], reasons["rater"]
    return Guess(columns, reasons, matched)


def _people(
    table: Table,
    rubric: Rubric | None,
    free: Sequence[str],
    numeric: Collection[str],
    rated: Sequence[str],
) -> tuple[list[str], str]:
    """Return (the columns of people's scores, why these, or why none).

    In this order: what the file's own form says; columns named after the rubric's criteria; an
    overall score; one column per rater; whole numbers within the rubric's scale (``rated``).
    Columns that may be ratings of several things as well as of several people are not taken.
    """
    told = [column for column, _ in table.people or () if column in free]
    pool = told or [name for name in free if name in numeric]
    if under := _named_after(rubric, pool):
        return under, "named after the rubric's criteria"
    ranked = sorted(
        (rank, free.index(name), name)
        for name in free
        if name in numeric and (rank := _overall(plain_name(name))) is not None
    )
    best = ranked[0] if ranked else None
    if table.people is not None:
        questions = {question for column, question in table.people if column in told}
        overall = [question for question in questions if _overall(plain_name(question)) is not None]
        asked = overall[:1] if len(questions) > 1 else [*questions]
        mine = [column for column, question in table.people if question in asked]
        if mine:
            return mine, "ratings by people, as the file says"
        if best is not None and best[0] < PLAIN_SCORE:
            return [best[2]], "by its name, and its cells are numbers"
        return [], _unclear(told) if told else ""
    named = [name for name in free if HUMAN.fullmatch(plain_name(name))]
    raters = [name for name in named if name in numeric and _overall(plain_name(name)) is None]
    why = "by its name, and its cells are numbers"
    if best is not None and (best[0] < PLAIN_SCORE or not raters):
        return [best[2]], why
    if len(raters) > 1 and not _numbered(raters):
        return [], _unclear(raters)
    if raters:
        return raters, why if len(raters) == 1 else "one column a rater, by their names"
    whole = [name for name in rated if not NO_SCORE.search(plain_name(name))]
    aspects = [name for name in whole if {*plain_name(name).split("_")} & WORDS["aspects"]]
    if (len(whole) > 1 and not _numbered(whole)) or aspects:
        return [], _unclear(whole)
    if whole:
        low, high = _ends(rubric)
        return whole, f"whole numbers from {low:g} to {high:g}, as the rubric's scores"
    if named:
        return [], f"“{shorten(named[0], 30)}” is not used: it holds more than numbers"
    return [], ""


def _ends(rubric: Rubric | None) -> tuple[float, float]:
    scores = [score for part in rubric.criteria for score in part.scores] if rubric else [1, 5]
    return min(scores), max(scores)


def _named_after(rubric: Rubric | None, columns: Sequence[str]) -> list[str]:
    """Return the columns whose names hold the name of a criterion, also of the only one."""
    if rubric is None:
        return []
    if len(rubric.criteria) > 1:
        return [name for name in columns if rubric.criterion_named(name)]
    words = f"_{plain_name(rubric.criteria[0].name)}_"
    return [
        name
        for name in columns
        if words in f"_{plain_name(name)}_" and not NO_SCORE.search(plain_name(name))
    ]


PLAIN_SCORE = 4


def _overall(name: str) -> int | None:
    """Return how telling a name is of one human score in all (0 the most), None for other names.

    “Overall rating (human, 1-5)” is one, “annotator_1” is that of one rater of several.
    """
    parts = name.split("_")
    digits = [part for part in parts if part.isdigit()]
    words = [part for part in parts if not part.isdigit() and part not in WORDS["scale"]]
    known = WORDS["people"] | WORDS["whole"] | WORDS["rating"]
    if len(digits) == 1 or not words or not {*words} <= known:
        return None
    people, whole, rating = ({*words} & WORDS[kind] for kind in ("people", "whole", "rating"))
    if people and (whole or rating):
        return 0
    if whole and (rating or "overall" in words):
        return 1
    if people:
        return 2 if {*words} & {"human", "gold"} else None
    if "rating" in words or "ratings" in words:
        return 3
    return PLAIN_SCORE if rating and len(words) == 1 and words[0] in ("score", "grade") else None


def _numbered(columns: Sequence[str]) -> bool:
    """Return whether names differ in a number or a letter, as those of raters of one thing do.

    Of “annotator anna” the first word says that the second is a person.
    """
    names = [plain_name(name) for name in columns]
    if len({_stem(name) for name in names}) > 1:
        return False
    ends = [name.removeprefix(_stem(name)).strip("_") for name in names]
    persons = _stem(names[0]) in WORDS["raters"] and not {*ends} & WORDS["aspects"]
    return persons or all(end.isdigit() or len(end) <= 1 for end in ends)


def _unclear(columns: Sequence[str]) -> str:
    listed = ", ".join(f"“{shorten(name, 30)}”" for name in columns[:6])
    cure = f'set columns = {{ human = ["{shorten(columns[0])}"] }}'
    if len(columns) == 1:
        return (
            f"{listed} is not used as a human score: it rates something else than the rubric "
            f"does. If it does not, {cure}"
        )
    return (
        f"{listed} are not used as human scores: they may rate several criteria, or come from "
        f"several people. Name criteria of the rubric as these columns, or {cure}"
    )


def plain_name(column: str) -> str:
    """``Puntuación del profesor`` as ``puntuacion_del_profesor``."""
    letters = unicodedata.normalize("NFKD", column.casefold().replace("ß", "ss"))
    return re.sub(
        r"[^a-z0-9]+", "_", "".join(c for c in letters if not unicodedata.combining(c))
    ).strip("_")


def _stem(column: str) -> str:
    """What names of several raters share: ``prof`` of ``prof. 1``, ``score`` of ``score_ann``."""
    return re.sub(r"(\d+|_[^_]+)$", "", plain_name(column))


def holds_numbers(cells: Sequence[str]) -> bool:
    given = [cell for cell in cells if cell]
    return bool(given) and sum(number(cell) is not None for cell in given) >= 0.9 * len(given)


def _repeats(table: Table, column: str, names: Mapping[str, str]) -> bool:
    """An id that stands twice is none, unless rows of one item differ in rater or criterion."""
    told_apart = any(name in names for role in ("rater", "criterion") for name in NAMES[role])
    codes, texts = table.coded(column)
    return len(texts) < len(codes) and not told_apart


PRINTED = re.compile(r"\s*(?:array\()?\s*\[?\s*(?:\{|dict\()\s*'\w")
"""A list of objects as Python or NumPy prints it, with single quotes: no JSON."""


def looks_structured(cells: Sequence[str]) -> bool:
    """Return whether any of these texts is a list or an object, as JSON or as Python prints it."""
    return any(PRINTED.match(cell) or as_json(cell) is not None for cell in cells)


def _whole_within(cells: Sequence[str], scale: Sequence[float]) -> bool:
    """Whole numbers within the scale, at least two of them, and no running number."""
    values = [number(cell) for cell in cells if cell]
    whole = [value for value in values if value is not None and value == int(value)]
    counted = len(whole) > 2 and all(
        after == before + 1 for before, after in itertools.pairwise(whole)
    )
    if counted or len(whole) < len(values) or len({*whole}) < 2:
        return False
    return scale[0] <= min(whole) and max(whole) <= scale[-1]


def items_of(table: Table, columns: Columns, name: str = "", *, further: bool = False) -> DataSet:
    """The items of a table; ``origin`` tells the file and how many rows had no answer and were left
    out.

    ``further``: columns without a role are kept too, for a prompt that shows them. Rows of one item
    may differ in rater. Answers to one instruction become a group where no column names groups.
    Raises LabError naming line, column, value and cure.
    """
    known = chosen_columns(table, columns, ROLES)
    if "response" not in known:
        held = ", ".join(f"“{shorten(column, 30)}”" for column in table.structured[:6])
        lists = f" Lists or objects are no answers: {held}." if held else ""
        words = f": which column has the answers to score? Choose one of {table.listed}.{lists}"
        raise refusal(table.name, words)
    if table.size > MAX_ROWS:
        raise refusal(table.name, f" has {table.size:,} rows; {MAX_ROWS:,} are read. Split it.")
    rows = _Rows(table, known, further)
    for role in LABELS:
        if role in known:
            table.refuse_look_alikes(
                known[role], dict.fromkeys(rows.cells[role]), rows.cells[role].index
            )
    used = [row for row, answer in enumerate(rows.cells["response"]) if answer.strip()]
    if not used:
        raise refusal(
            table.name, f": no row has an answer in “{known['response']}”. Choose another column."
        )
    rows.refuse_templates(used)
    rows.refuse_marks_of_no_rating()
    items = _with_groups(rows.items(used), rows.cells)
    left_out = table.size - len(used)
    note = f"{count(left_out, 'row')} without an answer left out" if left_out else ""
    origin = "; ".join(filter(None, [table.name, table.note.rstrip("."), note]))
    return DataSet(name or table.name, tuple(items), origin)


def ratings_of(table: Table, columns: Columns) -> dict[tuple[str, str], dict[str, float]]:
    """(item_id, criterion or "") -> rater -> score, of a table that holds people's scores and no
    texts.

    ``columns``: item_id, human (several), and rater and criterion where there are. Raises LabError
    naming line and column.
    """
    known = chosen_columns(table, columns, ("item_id", "human", "rater", "criterion"))
    if "item_id" not in known or not as_list(known.get("human")):
        raise refusal(
            table.name,
            ": which columns have the ids of the answers and people's scores? Choose them.",
        )
    rows, given = _Rows(table, known, False), dict[tuple[str, str], dict[str, float]]()
    for row in range(table.size):
        ratings = given.setdefault((rows.item_id(row), rows.cell(row, "criterion") or ""), {})
        for rater, score in rows.ratings(row):
            if ratings.setdefault(rater, score) != score:
                words = (
                    f"a second rating of “{shorten(rater)}” for "
                    f"“{shorten(rows.item_id(row))}”, and another "
                    f"one"
                )
                raise rows.fault(row, "item_id", f"{words}. Keep the one that counts.")
    return given


class _Rows:
    """Rows of a table as items. ``cells``: by role, without blanks around them but for texts."""

    def __init__(self, table: Table, known: Mapping[str, Any], further: bool) -> None:
        if "rater" in known and len(as_list(known.get("human"))) != 1:
            raise LabError(
                "With a column of raters, ratings stand in one column: choose exactly one human "
                "score."
            )
        self.table, self.known = table, known
        self.cells = {
            role: [cell if role in TEXTS else cell.strip() for cell in table.column(column)]
            for role, column in known.items()
            if role != "human"
        }
        self.people = {column: table.column(column) for column in as_list(known.get("human"))}
        self.references = {
            name: table.column(name) for name in table.columns if REFERENCE.fullmatch(name)
        }
        roles = {column for named in known.values() for column in as_list(named)}
        self.further = {
            name: table.column(name) for name in table.columns if further and name not in roles
        }
        self.same = [
            role
            for role in ("response", "instruction", "reference", "prompt", "candidate")
            if role in known
        ]

    def fault(self, row: int, role: str, words: str) -> LabError:
        return self.table.fault(row, self.known[role], words)

    def cell(self, row: int, role: str) -> str | None:
        return self.cells[role][row] or None if role in self.cells else None

    def item_id(self, row: int) -> str:
        """The id of a row; a row without a column of ids is named by its number."""
        if "item_id" not in self.cells:
            return str(row + 1)
        text = self.cells["item_id"][row]
        if not text or len(text) > MAX_ID:
            why = (
                f"{len(text):,} signs (“{shorten(text, 40)}”); at most {MAX_ID:,} are read"
                if text
                else "no id"
            )
            raise self.fault(
                row, "item_id", f"{why}. Choose another column as the id, or leave it out."
            )
        return text

    def refuse_templates(self, used: Sequence[int]) -> None:
        """Raises LabError for an answer that is a whole chat in one text, with its template's
        marks.

        The judge would score the question together with the answer.
        """
        for row in used:
            turn = CHAT_TEMPLATE.match(self.cells["response"][row])
            if turn is not None:
                raise self.fault(
                    row,
                    "response",
                    f"the cell is a whole chat in one text (it begins “{shorten(turn[0], 40)}”). "
                    "Put the last answer into a column of its own, or write the chat as a list "
                    "of messages.",
                )

    def refuse_marks_of_no_rating(self) -> None:
        """Raises LabError for -1 beside ratings that are otherwise 0 or more.

        It mostly stands for a missing rating and would count as the worst of all. On a scale of
        -1, 0 and 1 it is a rating.
        """
        for column, cells in self.people.items():
            values = [value for cell in cells if (value := number(cell)) is not None]
            if {value for value in values if value < 0} == {-1.0} and max(values) > 1:
                row = next(row for row, cell in enumerate(cells) if number(cell) == -1)
                raise self.table.fault(
                    row,
                    column,
                    "-1 beside ratings of 0 and more: it may stand for no rating. Leave the cell "
                    "empty where there is none.",
                )

    def ratings(self, row: int) -> Iterator[tuple[str, float]]:
        """The scores of people in a row, each with its rater: the column, or the cell of the column
        of raters.
        """
        for column, cells in self.people.items():
            value, rater = (
                number(cells[row]),
                self.cell(row, "rater") if "rater" in self.cells else column,
            )
            if value is not None and rater is None:
                raise self.fault(
                    row, "rater", "a rating without a rater. Name the rater, or leave the row out."
                )
            if value is None and cells[row].strip():
                words = (
                    f"“{shorten(cells[row])}” is no score of a person; expected a number from "
                    f"-1e9 to 1e9."
                )
                raise self.table.fault(
                    row, column, f"{words} Leave the cell empty where there is none."
                )
            if value is not None and rater is not None:
                yield rater, value

    def items(self, used: Sequence[int]) -> list[Item]:
        """A row an item; with a column of raters, rows of one item (by its id, else by its texts)
        differ in rater.
        """
        by_rater = "rater" in self.cells
        first: dict[tuple[str, ...], int] = {}
        ratings: dict[int, dict[str, float]] = {}
        for row in used:
            own = [self.cells[role][row] for role in self.same] if by_rater else [str(row)]
            if "item_id" in self.cells:
                own = [look_alike(self.item_id(row))]
            start = first.setdefault((*own, look_alike(self.cell(row, "criterion") or "")), row)
            if row != start:
                self.refuse_other(row, start, by_rater)
            given = ratings.setdefault(start, {})
            for rater, value in self.ratings(row):
                if rater in given:
                    words = (
                        f"a second rating of “{shorten(rater)}” for the item "
                        f"“{shorten(self.item_id(row))}”"
                    )
                    raise self.fault(row, "rater", f"{words}. Keep the one that counts.")
                given[rater] = value
        return [self.item(row, given) for row, given in ratings.items()]

    def refuse_other(self, row: int, start: int, by_rater: bool) -> None:
        """Raises LabError for a second row of an item, unless the two differ in their rater
        alone.
        """
        this, first = self.item_id(row), self.item_id(start)
        where = self.table.line(start)
        if not by_rater:
            same = "stands" if this == first else f"looks like “{shorten(first)}”"
            raters = " or, where they are ratings of several people, choose the column of raters"
            words = (
                f"the id “{shorten(this)}” {same} in {where} already. Choose another column "
                f"as "
                f"the id"
            )
            raise self.fault(row, "item_id", f"{words}{raters if this == first else ''}.")
        for role in self.same:
            if self.cells[role][row] != self.cells[role][start]:
                words = f"another text than in {where}, though both are the item “{shorten(this)}”"
                raise self.fault(
                    row, role, f"{words}. Rows of one item may differ in rater and rating."
                )

    def item(self, row: int, ratings: Mapping[str, float]) -> Item:
        cell = self.cell
        return Item(
            self.item_id(row),
            self.cells["response"][row],
            cell(row, "instruction") or "",
            cell(row, "reference") or "",
            cell(row, "criterion"),
            cell(row, "block"),
            cell(row, "prompt"),
            cell(row, "candidate"),
            cell(row, "task"),
            ratings,
            {name: cells[row] for name, cells in self.further.items()}
            | {name: cells[row] for name, cells in self.references.items() if cells[row].strip()},
        )


def _with_groups(items: list[Item], cells: Mapping[str, list[str]]) -> list[Item]:
    """Items under several criteria share a block, answers to one instruction a prompt, where no
    column says so.
    """
    if "block" not in cells and len({item.item_id for item in items}) < len(items):
        items = [replace(item, block=item.item_id) for item in items]
    instructions = {item.instruction for item in items if item.instruction}
    texts = {item.item_id if item.block is None else item.block for item in items}
    if "prompt" in cells or not instructions or len(instructions) >= len(texts):
        return items
    return [
        replace(item, prompt=digest(item.instruction)[:12] if item.instruction else None)
        for item in items
    ]
