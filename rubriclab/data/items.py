"""Guess which column of a table has which role, and make a data set from the table.

A role that cannot be known for certain stays empty, and the reason says why. A wrong guess would
be worse: every call would be about the wrong text, or every agreement with the wrong numbers.
The names and words that are recognised are in ``columns.toml``.
"""

import itertools
import json
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

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
"""Words in the names of columns of ratings: whose ratings, of what, and what they are called."""
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
"""Names of whole numbers within a scale that are not people's scores. In ranks the lowest is best.
"""
DECISIONS = {"accept", "reject", "ignore", ""}
"""What Prodigy writes in its column “answer”: an annotator's decision, not a text."""
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
"""How a whole chat begins that was written as one text with the template of a common model."""
LABELS = ("criterion", "candidate", "task", "rater")
TEXT_CHARACTERS = 15
"""A column of texts has at least this many characters on average: shorter cells are labels."""
LABEL_CHARACTERS = 40
"""A column of labels has at most this many characters on average: longer cells are texts."""
LOOKED_AT = 2_000
"""Rows that a guess looks at, so that a large file is recognised at once."""


@dataclass(frozen=True)
class Guess:
    """A proposal of which column has which role.

    columns: role -> column; a list for ``human``
    reasons: role -> why this column, or why none
    matched: whether the column of answers was known by its name
    unclear: columns that may hold people's scores, and are not taken because they may not
    """

    columns: dict[str, str | list[str]]
    reasons: dict[str, str] = field(default_factory=dict)
    matched: bool = True
    unclear: tuple[str, ...] = ()


def columns_sentence(table: Table, columns: Columns, reasons: Mapping[str, str]) -> str:
    """Return one line that says which column has which role, and which are not used.

    ``reasons``: why, for columns that were guessed; a role that the study names has none.
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
    """Guess the role of each column, by names first and by contents where these do not tell.

    The guess is a proposal: whoever brought the file can change it.
    """
    guesser = _Guesser(table)
    guesser.take_by_name()
    matched = "response" in guesser.columns
    if not matched:
        guesser.take_longest_text()
    if "instruction" not in guesser.columns:
        guesser.take_instruction()
    guesser.take_people(rubric)
    guesser.take_rater()
    return Guess(guesser.columns, guesser.reasons, matched, guesser.unclear)


class _Guesser:
    """A guess in the making. ``free``: the columns that have no role yet."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns: dict[str, str | list[str]] = {}
        self.reasons: dict[str, str] = {}
        self.free = [name for name in table.columns if not REFERENCE.fullmatch(name)]
        # Of two columns with one plain name the first counts.
        self.by_name = {plain_name(column): column for column in reversed(table.columns)}
        self.cells: dict[str, list[str]] = {}
        self.length: dict[str, float] = {}
        self.numeric: set[str] = set()
        self.ratings: set[str] = set()
        self.structured: set[str] = set()
        self.unclear: tuple[str, ...] = ()
        for name in table.columns:
            cells = [cell.strip() for cell in table.column(name, LOOKED_AT)]
            self.cells[name] = cells
            self.length[name] = float(np.mean([len(cell) for cell in cells if cell] or [0]))
            if holds_numbers(cells):
                self.numeric.add(name)
            if name in self.numeric or holds_ratings(cells):
                self.ratings.add(name)
            if name in table.structured or looks_structured(cells):
                self.structured.add(name)

    def take(self, role: str, column: str, why: str) -> None:
        self.columns[role], self.reasons[role] = column, why
        self.free.remove(column)

    def take_by_name(self) -> None:
        for role, synonyms in NAMES.items():
            column = self.named(synonyms)
            if column is None or self.contradicts(role, column):
                continue
            shown = f"“{shorten(column, 30)}”"
            if column in self.table.structured:
                self.reasons[role] = f"{shown} is not used: it holds lists or objects"
            elif role == "item_id" and _repeats(self.table, column, self.by_name):
                self.reasons[role] = (
                    f"{shown} has one value in several rows, so rows are numbered instead"
                )
            else:
                self.take(role, column, "by its name")

    def named(self, synonyms: Sequence[str]) -> str | None:
        """Return the first free column with one of these names."""
        for name in synonyms:
            if self.by_name.get(name) in self.free:
                return self.by_name[name]
        return None

    def contradicts(self, role: str, column: str) -> bool:
        """Return whether the cells of a column cannot have the role that its name suggests."""
        if role in TEXTS and column in self.numeric:
            return True
        if role in LABELS and self.length[column] > LABEL_CHARACTERS:
            return True
        cells = self.cells[column]
        return role == "response" and any(cells) and {*cells} <= DECISIONS

    def plain(self) -> list[str]:
        """Return the free columns that hold neither numbers nor structures."""
        used = self.numeric | self.structured
        return [name for name in self.free if name not in used]

    def long_texts(self) -> list[str]:
        return [name for name in self.plain() if self.length[name] >= TEXT_CHARACTERS]

    def recurs(self, column: str) -> bool:
        """Return whether the texts of a column come again, as instructions do.

        At least a fifth of the filled cells repeat another: so one answer that two people gave is
        still a column of answers. Empty cells repeat nothing.
        """
        given = [cell for cell in self.cells[column] if cell]
        return len(set(given)) <= 0.8 * len(given)

    def mostly_filled(self, column: str) -> bool:
        """Return whether at least half of the cells of a column are not empty."""
        cells = self.cells[column]
        return 2 * sum(bool(cell) for cell in cells) >= len(cells)

    def take_longest_text(self) -> None:
        """Take the longest text that differs from row to row as the answer."""
        plain, texts = self.plain(), self.long_texts()
        differing = [name for name in texts if not self.recurs(name)]
        filled = [name for name in plain if self.length[name] > 0]
        best = max(differing or texts or filled, key=self.length.__getitem__, default="")
        if not best:
            return
        larger = [name for name in self._structures() if self.length[name] > self.length[best]]
        if larger:
            listed = ", ".join(f"“{shorten(name, 30)}”" for name in larger)
            self.reasons["response"] = f"{listed} may hold the answers, within lists or objects"
            return
        length = f"{self.length[best]:,.0f} characters on average"
        self.take("response", best, f"the longest text: {length}")

    def _structures(self) -> list[str]:
        return [name for name in self.table.columns if name in self.structured]

    def take_instruction(self) -> None:
        """Take the longest text that recurs, or else the last text before the answer.

        A column that is empty in more than half of the rows holds notes.
        """
        texts = [name for name in self.long_texts() if self.mostly_filled(name)]
        repeated = [name for name in texts if self.recurs(name)]
        if repeated:
            longest = max(repeated, key=self.length.__getitem__)
            self.take("instruction", longest, "a text that repeats from row to row")
            return
        answer = self.columns.get("response")
        if answer is None:
            return
        places = {name: k for k, name in enumerate(self.table.columns)}
        before = [name for name in texts if places[name] < places[str(answer)]]
        if before:
            self.take("instruction", before[-1], "the text before the answer")

    def take_people(self, rubric: Rubric | None) -> None:
        scale = [1.0, 5.0]
        if rubric is not None:
            scale = sorted({float(score) for part in rubric.criteria for score in part.scores})
        rated = [
            name
            for name in self.free
            if name in self.ratings and _whole_within(self.cells[name], scale)
        ]
        marked = self.ratings - self.numeric
        found = _people(self.table, rubric, self.free, self.ratings, rated, marked)
        self.unclear = found.unclear
        if found.columns:
            self.columns["human"] = list(found.columns)
        if found.why:
            self.reasons["human"] = found.why

    def take_rater(self) -> None:
        """Take the column that distinguishes the rows of one answer as the rater's name."""
        people = as_list(self.columns.get("human"))
        answers = self.cells.get(str(self.columns.get("response", "")), [])
        rows = [row for row, answer in enumerate(answers) if answer]
        # Where people share answers, many come again. A row that is in the file twice is no sign.
        shared = bool(rows) and self.recurs(str(self.columns["response"]))
        if "rater" not in self.columns and len(people) == 1 and shared:
            for name in [name for name in self.free if name not in self.numeric]:
                cells = self.cells[name]
                raters = {cells[row] for row in rows}
                pairs = {(answers[row], cells[row]) for row in rows}
                # Each row names its rater; each rater rates an answer once, two or more raters, at
                # least two answers each.
                if all(raters) and len(raters) > 1 and 2 * len(raters) <= len(pairs) == len(rows):
                    self.take("rater", name, "it distinguishes the rows of one answer")
                    break
        if "rater" in self.columns and not people:
            # Raters without ratings say nothing.
            del self.columns["rater"], self.reasons["rater"]


class _People(NamedTuple):
    """Columns of people's scores and why these, or why none; ``unclear``: those that may be."""

    columns: tuple[str, ...] = ()
    why: str = ""
    unclear: tuple[str, ...] = ()


def _people(
    table: Table,
    rubric: Rubric | None,
    free: Sequence[str],
    ratings: Collection[str],
    rated: Sequence[str],
    marked: Collection[str],
) -> _People:
    """Return the columns of people's scores, why these, or why none.

    In this order: what the file's own form says; columns named after the rubric's criteria; an
    overall score; one column per rater; whole numbers within the rubric's scale (``rated``), unless
    many cells hold texts (``marked``), so that neither the name nor all cells tell.
    Columns that may be ratings of several things as well as of several people are not taken.
    """
    stated = [column for column, _ in table.people or () if column in free]
    pool = stated or [name for name in free if name in ratings]
    if columns := _named_after(rubric, pool):
        return _People(tuple(columns), "named after the rubric's criteria")
    overall, rank = _most_telling([name for name in free if name in ratings])
    if table.people is not None:
        mine = _of_overall_question(table.people, stated)
        if mine:
            return _People(tuple(mine), "ratings by people, as the file says")
        if overall and rank < PLAIN_SCORE:
            return _People((overall,), BY_NAME)
        return _unclear(stated) if stated else _People()
    named = [name for name in free if HUMAN.fullmatch(plain_name(name))]
    raters = [name for name in named if name in ratings and _overall(plain_name(name)) is None]
    if overall and (rank < PLAIN_SCORE or not raters):
        return _People((overall,), BY_NAME)
    if len(raters) > 1 and not _numbered(raters):
        return _unclear(raters)
    if raters:
        why = BY_NAME if len(raters) == 1 else "one column per rater, by their names"
        return _People(tuple(raters), why)
    whole = [name for name in rated if not NO_SCORE.search(plain_name(name))]
    aspects = [name for name in whole if {*plain_name(name).split("_")} & WORDS["aspects"]]
    if (len(whole) > 1 and not _numbered(whole)) or aspects or {*whole} & {*marked}:
        return _unclear(whole)
    if whole:
        return _People(tuple(whole), _within_scale(rubric))
    if named:
        why = f"“{shorten(named[0], 30)}” is not used: not all its cells are numbers"
        return _People(why=why)
    return _People()


def _most_telling(columns: Sequence[str]) -> tuple[str, int]:
    """Return the column whose name most tells of an overall score, and its rank; "" for none."""
    best, best_rank = "", PLAIN_SCORE + 1
    for name in columns:
        rank = _overall(plain_name(name))
        if rank is not None and rank < best_rank:
            best, best_rank = name, rank
    return best, best_rank


def _of_overall_question(people: Sequence[tuple[str, str]], stated: Sequence[str]) -> list[str]:
    """Return the columns of the question that asked for an overall score, or of the only one.

    ``people``: (column, question) as the file states them; ``stated``: those columns that are
    still free.
    """
    questions = list(dict.fromkeys(question for column, question in people if column in stated))
    if len(questions) > 1:
        questions = [name for name in questions if _overall(plain_name(name)) is not None][:1]
    return [column for column, question in people if question in questions]


def _within_scale(rubric: Rubric | None) -> str:
    scores = [1, 5]
    if rubric is not None:
        scores = [score for part in rubric.criteria for score in part.scores]
    return f"whole numbers from {min(scores):g} to {max(scores):g}, like the rubric's scores"


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


BY_NAME = "by its name, and its cells are numbers"
PLAIN_SCORE = 4
"""The rank of a column that is called “score” alone: it may be a judge's as well as a person's."""


def _overall(name: str) -> int | None:
    """Return how clearly a name means an overall human score (0 most clearly), None for others.

    “Overall rating (human, 1-5)” does. “annotator_1” is the score of one rater of several.
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
    return PLAIN_SCORE if words in (["score"], ["grade"]) else None


def _numbered(columns: Sequence[str]) -> bool:
    """Return whether names differ in a number or a letter alone, like those of several raters.

    In “annotator anna” the first word says that the second is a person.
    """
    names = [plain_name(name) for name in columns]
    if len({_stem(name) for name in names}) > 1:
        return False
    ends = [name.removeprefix(_stem(name)).strip("_") for name in names]
    persons = _stem(names[0]) in WORDS["raters"] and not {*ends} & WORDS["aspects"]
    return persons or all(end.isdigit() or len(end) <= 1 for end in ends)


def _unclear(columns: Sequence[str]) -> _People:
    """Return that these columns may hold people's scores, and how to say that they do."""
    listed = ", ".join(f"“{shorten(name, 30)}”" for name in columns[:6])
    written = ", ".join(f'"{shorten(name)}"' for name in columns[:6])
    cure = f"set columns = {{ human = [{written}] }}"
    if len(columns) == 1:
        why = (
            f"{listed} is not used as a human score: it seems to rate something other than the "
            f"rubric does. To use it, {cure}"
        )
    else:
        why = (
            f"{listed} are not used as human scores: they may rate several criteria, or come from "
            f"several people. Name the rubric's criteria like these columns, or {cure}"
        )
    return _People(why=why, unclear=tuple(columns))


def plain_name(column: str) -> str:
    """Return ``puntuacion_del_profesor`` for ``Puntuación del profesor``."""
    letters = unicodedata.normalize("NFKD", column.casefold().replace("ß", "ss"))
    without_accents = "".join(c for c in letters if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9]+", "_", without_accents).strip("_")


def _stem(column: str) -> str:
    """Return what names of several raters share: “prof” of “prof. 1”, “score” of “score_ann”."""
    return re.sub(r"(\d+|_[^_]+)$", "", plain_name(column))


def holds_numbers(cells: Sequence[str]) -> bool:
    """Return whether at least 90% of the filled cells are numbers; a few may say “n/a”."""
    given = [cell for cell in cells if cell]
    return bool(given) and sum(number(cell) is not None for cell in given) >= 0.9 * len(given)


MOST_MARKS = 5
"""So many different texts among numbers may all mean “no rating”."""
MARK_CHARACTERS = 20
"""A text that means “no rating” has at most so many characters."""


def holds_ratings(cells: Sequence[str]) -> bool:
    """Return whether cells look like one person's scores, with marks where there is none.

    At least half of the filled cells are numbers, and the others have few different short texts.
    """
    given = [cell for cell in cells if cell]
    marks = [cell for cell in given if number(cell) is None]
    if not given or 2 * len(marks) > len(given):
        return False
    return len({*marks}) <= MOST_MARKS and all(len(mark) <= MARK_CHARACTERS for mark in marks)


def _repeats(table: Table, column: str, names: Mapping[str, str]) -> bool:
    """Return whether a column of IDs has one ID twice, and so cannot name the rows.

    It may have it twice where the rows of one item differ in their rater or criterion.
    """
    for name in (*NAMES["rater"], *NAMES["criterion"]):
        if name in names:
            return False
    codes, texts = table.coded(column)
    return len(texts) < len(codes)


PRINTED = re.compile(r"\s*(?:array\()?\s*\[?\s*(?:\{|dict\()\s*'\w")
"""A list of objects as Python or NumPy prints it, with single quotes. It is not JSON."""


def looks_structured(cells: Sequence[str]) -> bool:
    """Return whether any of these texts is a list or an object, as JSON or as Python prints it."""
    return any(PRINTED.match(cell) or as_json(cell) is not None for cell in cells)


def _whole_within(cells: Sequence[str], scale: Sequence[float]) -> bool:
    """Return whether cells are different whole numbers within the scale, and not a row count.

    Texts between them are left to whoever reads the numbers.
    """
    values = [value for cell in cells if (value := number(cell)) is not None]
    whole = [value for value in values if value == int(value)]
    if len(whole) < len(values) or len({*whole}) < 2:
        return False
    counts_up = all(after == before + 1 for before, after in itertools.pairwise(whole))
    if counts_up and len(whole) > 2:
        return False
    return scale[0] <= min(whole) and max(whole) <= scale[-1]


def items_of(
    table: Table,
    columns: Columns,
    name: str = "",
    *,
    further: bool = False,
    unrated: Collection[str] = (),
) -> DataSet:
    """Return the items of a table. ``origin`` names the file and counts rows without an answer.

    ``further``: keep columns without a role too, for a judge prompt that shows them. ``unrated``:
    cells of people's scores that mean “no rating”. Rows of one item may differ in rater. Answers to
    one instruction share a prompt if no column says so. Raises LabError naming line, column, value
    and what to do.
    """
    known = chosen_columns(table, columns, ROLES)
    if "response" not in known:
        held = ", ".join(f"“{shorten(column, 30)}”" for column in table.structured[:6])
        lists = f" Lists or objects cannot be answers: {held}." if held else ""
        words = f": which column has the answers to score? Choose one of {table.listed}.{lists}"
        raise refusal(table.name, words)
    if table.size > MAX_ROWS:
        raise refusal(
            table.name, f" has {table.size:,} rows; the limit is {MAX_ROWS:,}. Split the file."
        )
    rows = _Rows(table, known, further=further, unrated=unrated)
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
    origin = [table.name]
    if table.note:
        origin.append(table.note.rstrip("."))
    if left_out:
        origin.append(f"{count(left_out, 'row')} without an answer left out")
    return DataSet(name or table.name, tuple(items), "; ".join(origin))


def ratings_of(table: Table, columns: Columns) -> dict[tuple[str, str], dict[str, float]]:
    """Return people's scores from a table without texts: (item_id, criterion or "") -> by rater.

    ``columns``: item_id, human (one or several), and rater and criterion if there are any. Raises
    LabError naming line and column.
    """
    known = chosen_columns(table, columns, ("item_id", "human", "rater", "criterion"))
    if "item_id" not in known or not as_list(known.get("human")):
        raise refusal(
            table.name,
            ": which columns have the ids of the answers and people's scores? Choose them.",
        )
    rows = _Rows(table, known, further=False)
    given: dict[tuple[str, str], dict[str, float]] = {}
    for row in range(table.size):
        item_id = rows.item_id(row)
        ratings = given.setdefault((item_id, rows.cell(row, "criterion") or ""), {})
        for rater, score in rows.ratings(row):
            if ratings.setdefault(rater, score) != score:
                words = f"“{shorten(rater)}” rated “{shorten(item_id)}” twice, differently."
                raise rows.fault(row, "item_id", f"{words} Keep the rating that counts.")
    return given


def marks_of_no_rating(table: Table, columns: Sequence[str]) -> dict[str, int]:
    """Return the texts among people's scores that may mean “no rating”, each with its cells.

    These are texts that are not numbers, and -1 among ratings of 0 and more.
    """
    marks = Counter[str]()
    for column in columns:
        cells = [cell.strip() for cell in table.column(column)]
        minus_one = _minus_one(cells) is not None
        for cell in cells:
            value = number(cell)
            if cell and (value is None or (minus_one and value == -1.0)):
                marks[cell] += 1
    return dict(marks)


def _minus_one(cells: Sequence[str]) -> int | None:
    """Return where the first -1 is, if it is the only score below 0 and the scale is not -1 to 1.

    It mostly means a missing rating, and would count as the worst of all.
    """
    numbers = [number(cell) for cell in cells]
    values = [value for value in numbers if value is not None]
    if {value for value in values if value < 0} == {-1.0} and max(values) > 1:
        return numbers.index(-1.0)
    return None


class _Rows:
    """The rows of a table, as they become items.

    cells: by role; stripped of blanks, except for texts
    people: by column, the cells with people's scores
    references: by column, reference answers of one score each
    further: by column, cells without a role, if they are wanted
    unrated: cells of people's scores that mean “no rating”, or None where nobody can say so
    same: the roles that have to agree in all rows of one item
    """

    def __init__(
        self,
        table: Table,
        known: Mapping[str, Any],
        *,
        further: bool,
        unrated: Collection[str] | None = None,
    ) -> None:
        if "rater" in known and len(as_list(known.get("human"))) != 1:
            raise LabError(
                "A column of raters needs one column with their scores. Choose exactly one human "
                "score."
            )
        self.table, self.known = table, known
        self.unrated = None if unrated is None else frozenset(unrated)
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
        """Return the ID of a row; without a column of IDs, its number."""
        if "item_id" not in self.cells:
            return str(row + 1)
        text = self.cells["item_id"][row]
        why = ""
        if not text:
            why = "the cell is empty, so the row has no ID."
        elif len(text) > MAX_ID:
            why = f"{len(text):,} characters (“{shorten(text, 40)}”); the limit is {MAX_ID:,}."
        if why:
            cure = "Choose another ID column, or none to number the rows."
            raise self.fault(row, "item_id", f"{why} {cure}")
        return text

    def refuse_templates(self, used: Sequence[int]) -> None:
        """Raise LabError for an answer that is a whole chat in one text, with a template's marks.

        The judge would score the question together with the answer.
        """
        for row in used:
            turn = CHAT_TEMPLATE.match(self.cells["response"][row])
            if turn is not None:
                raise self.fault(
                    row,
                    "response",
                    f"the cell is a whole chat in one text (it begins “{shorten(turn[0], 40)}”). "
                    "Put the last answer into its own column, or write the chat as a list of "
                    "messages.",
                )

    def is_unrated(self, cell: str) -> bool:
        return self.unrated is not None and cell.strip() in self.unrated

    def cure_of_no_rating(self, text: str) -> str:
        """Return what to do where a text in a column of people's scores means “no rating”."""
        cure = "If it means “no rating”, leave the cell empty"
        if self.unrated is None:
            return f"{cure}."
        listed = json.dumps([shorten(text)], ensure_ascii=False)
        # Set up has a box for few marks: many different texts are another column.
        few = len(marks_of_no_rating(self.table, list(self.people))) <= MOST_MARKS
        box = ", tick the box in Set up" if few else ""
        return f"{cure}{box}, or write unrated = {listed} under [[data]]."

    def refuse_marks_of_no_rating(self) -> None:
        """Raise LabError for -1 in a column of ratings that are otherwise 0 or more."""
        for column, cells in self.people.items():
            rated = [row for row, cell in enumerate(cells) if not self.is_unrated(cell)]
            mark = _minus_one([cells[row] for row in rated])
            if mark is not None:
                words = f"-1 among ratings of 0 and more. {self.cure_of_no_rating('-1')}"
                raise self.table.fault(rated[mark], column, words)

    def ratings(self, row: int) -> Iterator[tuple[str, float]]:
        """Yield (rater, score) of a row.

        The rater is the cell of the column of raters, or without one the column of the score.
        """
        for column, cells in self.people.items():
            text = cells[row].strip()
            if not text or self.is_unrated(text):
                continue
            value = number(text)
            if value is None:
                words = (
                    f"“{shorten(text)}” is not a score. Use a plain number from -1e9 to 1e9, for "
                    f"example 1500 or 4.5. {self.cure_of_no_rating(text)} Or do not choose this "
                    "column."
                )
                raise self.table.fault(row, column, words)
            rater = self.cell(row, "rater") if "rater" in self.cells else column
            if rater is None:
                words = "a rating without a rater. Name the rater, or leave the row out."
                raise self.fault(row, "rater", words)
            yield rater, value

    def items(self, used: Sequence[int]) -> list[Item]:
        """Return the items of these rows.

        Without a column of raters each row is an item. With one, the rows of one item (known by
        its ID, else by its texts) differ in their rater.
        """
        first: dict[tuple[str, ...], int] = {}
        ratings: dict[int, dict[str, float]] = {}
        for row in used:
            start = first.setdefault(self.identity(row), row)
            if row != start:
                self.refuse_other(row, start)
            given = ratings.setdefault(start, {})
            for rater, value in self.ratings(row):
                if rater in given:
                    item_id = shorten(self.item_id(row))
                    words = f"a second rating of “{shorten(rater)}” for the item “{item_id}”."
                    raise self.fault(row, "rater", f"{words} Keep the rating that counts.")
                given[rater] = value
        return [self.item(row, given) for row, given in ratings.items()]

    def identity(self, row: int) -> tuple[str, ...]:
        """Return what rows of one item have in common."""
        criterion = look_alike(self.cell(row, "criterion") or "")
        if "item_id" in self.cells:
            return look_alike(self.item_id(row)), criterion
        if "rater" in self.cells:
            return (*(self.cells[role][row] for role in self.same), criterion)
        return str(row), criterion

    def refuse_other(self, row: int, start: int) -> None:
        """Raise LabError for a second row of an item, unless the two differ only in the rater."""
        this, first = self.item_id(row), self.item_id(start)
        where = self.table.line(start)
        if "rater" not in self.cells:
            words = f"the ID “{shorten(this)}” looks like “{shorten(first)}” in {where}."
            cure = "Choose another ID column."
            if this == first:
                words = f"the ID “{shorten(this)}” already appears in {where}."
                cure = "Choose another ID column. If several people rated it, choose the raters."
            raise self.fault(row, "item_id", f"{words} {cure}")
        for role in self.same:
            if self.cells[role][row] != self.cells[role][start]:
                words = (
                    f"not the same text as in {where}, but both rows are item “{shorten(this)}”."
                )
                cure = "Make them equal: rows of one item may differ only in rater and rating."
                raise self.fault(row, role, f"{words} {cure}")

    def item(self, row: int, ratings: Mapping[str, float]) -> Item:
        columns = {name: cells[row] for name, cells in self.further.items()}
        for name, cells in self.references.items():
            if cells[row].strip():
                columns[name] = cells[row]
        return Item(
            item_id=self.item_id(row),
            response=self.cells["response"][row],
            instruction=self.cell(row, "instruction") or "",
            reference=self.cell(row, "reference") or "",
            criterion=self.cell(row, "criterion"),
            block=self.cell(row, "block"),
            prompt=self.cell(row, "prompt"),
            candidate=self.cell(row, "candidate"),
            task=self.cell(row, "task"),
            ratings=ratings,
            columns=columns,
        )


def _with_groups(items: list[Item], cells: Mapping[str, list[str]]) -> list[Item]:
    """Return the items with blocks and prompts, where no column gives them.

    Items of one answer under several criteria share a block. Answers to one instruction share a
    prompt.
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
