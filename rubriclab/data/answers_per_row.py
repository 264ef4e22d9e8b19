"""Split rows that hold several answers (``response_a``, ``response_b``), so that each row has one.

Preference data have this form: a prompt, two or more answers side by side, perhaps who won. Chats
are unfolded first. Rows stay in their order.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from rubriclab.data.chats import ANSWERS, CHATS, FAMILY, PAIR, with_texts
from rubriclab.data.items import HUMAN, LOOKED_AT, NAMES, holds_numbers, plain_name
from rubriclab.data.tables import Columns, Table, as_list, number
from rubriclab.model.text import shorten

WINNERS = (
    "winner",
    "preference",
    "preferred",
    "label",
    "choice",
    "gold",
    "gewinner",
    "ganador",
    "gagnant",
)
WON = ("winner_model", "winner", "is_winner", "won", "preferred")
"""Columns that come once per answer and mark the one that won with 1."""
TIES = {"tie", "c", "both", "equal", "tie_bothbad", "unentschieden", "0_5"}


@dataclass(frozen=True)
class _Families:
    """The columns that come once per answer of a row.

    stem: the family that holds the answers
    ends: what distinguishes the answers of a row, sorted: “a” and “b”, “chosen” and “rejected”
    split: stem -> end -> column, of each family with these ends
    """

    stem: str
    ends: list[str]
    split: dict[str, dict[str, str]]

    @property
    def answers(self) -> list[str]:
        """The columns of answers, in the table's order."""
        return [*self.split[self.stem].values()]

    @property
    def taken(self) -> set[str]:
        return {column for own in self.split.values() for column in own.values()}


def one_answer_a_row(table: Table, columns: Columns | None = None) -> Table:
    """Return a row for each answer; ``table`` itself where no row has several and none is a chat.

    New columns are ``candidate`` (unless columns say who wrote the answers), ``prompt_id``, and
    ``human`` (1 for the winner, 0, 0.5 for a tie) where a column names the winner and no column
    rates the answers. Columns that come as often as the answers are split with them; all others
    are repeated. ``columns``: those that the study names; if one of the answers is among them, the
    rows stay whole.
    """
    chosen = {column for named in (columns or {}).values() for column in as_list(named)}
    table = with_texts(table, columns)
    families = _families(table, chosen)
    if families is None:
        return table
    ends = families.ends
    group = _column_of_prompts(table, families.taken)
    rest = [name for name in table.columns if name not in families.taken and name != group]
    made = _repeated(table, rest, len(ends)) | _split(table, families)
    made["prompt_id"] = _prompt_ids(table, group, len(ends))
    if not any(name in NAMES["candidate"] for name in made):
        made["candidate"] = pa.array(ends * table.size, pa.large_string())
    names = {plain_name(name): name for name in table.columns if name not in families.taken}
    _add_flags(table, made, families, names)
    _add_preferences(table, made, families, names)

    listed = ", ".join(f"“{shorten(column, 30)}”" for column in families.answers)
    note = f"Each row has {len(ends)} answers ({listed}): read as one answer per row."
    structured = [column for column in rest if column in table.structured]
    for name, own in families.split.items():
        if name in made and not {*own.values()}.isdisjoint(table.structured):
            structured.append(name)
    return replace(
        table,
        data=pa.table(made),
        note=" ".join(filter(None, [table.note, note])),
        answers=len(ends),
        structured=tuple(structured),
        people=_people(table, families, made),
    )


def _families(table: Table, chosen: set[str]) -> _Families | None:
    """Return the columns that come once per answer; None where no row has several answers.

    None too where that is unclear: with two families of answers, a column of answers beside them,
    numbers for answers, or an answer that the study names.
    """
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for column in table.columns:
        name = plain_name(column)
        if name in NAMES["response"]:
            return None
        parts = FAMILY.fullmatch(name)
        if name in PAIR:
            families["response"][name] = column
        elif parts and not name.startswith("reference"):
            families[parts["stem"]][parts["end"]] = column
    known = [stem for stem in families if stem in (*ANSWERS, *CHATS) and len(families[stem]) > 1]
    if len(known) != 1:
        return None
    (stem,) = known
    answers = [*families[stem].values()]
    if not chosen.isdisjoint(answers):
        return None
    if any(holds_numbers(table.column(column, LOOKED_AT)) for column in answers):
        return None
    ends = sorted(families[stem])
    split = {name: own for name, own in families.items() if sorted(own) == ends}
    return _Families(stem, ends, split)


def _repeated(table: Table, columns: Sequence[str], times: int) -> dict[str, pa.Array]:
    """Return columns with each cell as often as a row has answers."""
    rows = np.repeat(np.arange(table.size), times)
    return {column: table.texts(column).take(rows) for column in columns}


def _split(table: Table, families: _Families) -> dict[str, pa.Array]:
    """Return a column for each family: row by row, in the order of the ends."""
    ends = families.ends
    # The columns of a family are put one under the other, then taken row by row.
    rows = np.arange(table.size)[:, None] + np.arange(len(ends)) * table.size
    made = {}
    for name, own in families.split.items():
        one_under_other = pa.concat_arrays([table.texts(own[end]).combine_chunks() for end in ends])
        made[name] = one_under_other.take(rows.ravel())
    made["response"] = made.pop(families.stem)
    return made


def _column_of_prompts(table: Table, taken: Collection[str]) -> str:
    """Return the column that names the prompts, "" for none."""
    names = {plain_name(column): column for column in table.columns if column not in taken}
    for name in (*NAMES["prompt"][:3], *NAMES["item_id"]):
        if name in names:
            return names[name]
    return ""


def _prompt_ids(table: Table, column: str, times: int) -> pa.Array:
    """Return the prompt of each answer; the row's number where no column names each row."""
    ids = table.column(column) if column else []
    if not all(ids) or len(set(ids)) != table.size:
        ids = [str(row + 1) for row in range(table.size)]
    return pa.array(ids, pa.large_string()).take(np.repeat(np.arange(table.size), times))


def _add_flags(
    table: Table, made: dict[str, pa.Array], families: _Families, names: Mapping[str, str]
) -> None:
    """Make a column that marks each answer as won or not people's preference, in place."""
    flagged = [name for name in families.split if name in WON and _flags(made[name].to_pylist())]
    if "human" in made or not flagged:
        return
    tie = names.get("winner_tie", "")
    ties = table.column(tie) if tie else [""] * table.size
    human = []
    won_by = zip(made.pop(flagged[0]).to_pylist(), np.repeat(ties, len(families.ends)), strict=True)
    for won, tied in won_by:
        human.append("0.5" if number(str(tied)) == 1 else won)
    made["human"] = pa.array(human, pa.large_string())


def _add_preferences(
    table: Table, made: dict[str, pa.Array], families: _Families, names: Mapping[str, str]
) -> None:
    """Make a column that names the winner, or “chosen”, people's preference, in place.

    It counts only if it names a winner or a tie in more than 90% of the rows.
    """
    ends = families.ends
    named = next((names[name] for name in WINNERS if name in names), "")
    if "human" in made or ("chosen" not in ends and not named):
        return
    winners = ["chosen"] * table.size if "chosen" in ends else table.column(named)
    makers = made["model"].to_pylist() if "model" in made else ends * table.size
    human: list[str] = []
    for row, winner in enumerate(winners):
        start = row * len(ends)
        human += _preferences(winner, ends, makers[start : start + len(ends)])
    filled = sum(1 for cell in human if cell)
    if filled > 0.9 * len(human) and not _rated(made, families.split, human):
        made["human"] = pa.array(human, pa.large_string())


def _people(
    table: Table, families: _Families, made: Collection[str]
) -> tuple[tuple[str, str], ...] | None:
    """Return the table's columns of ratings under their new names."""
    if table.people is None:
        return None
    stems = {}
    for name, own in families.split.items():
        for column in own.values():
            stems[column] = name
    renamed = dict.fromkeys((stems.get(column, column), asked) for column, asked in table.people)
    return tuple((column, asked) for column, asked in renamed if column in made)


def _flags(cells: Sequence[str]) -> bool:
    """Return whether cells are 0 or 1, with at least one 1."""
    return all(cell.strip() in ("0", "1") for cell in cells) and "1" in {*map(str.strip, cells)}


def _rated(made: dict[str, pa.Array], split: Collection[str], human: Sequence[str]) -> bool:
    """Return whether a column of ratings came with the answers and says the same as who won.

    The preference would then count as a second rater on another scale. Where the two disagree the
    preference is kept, and the ratings are renamed so that they do not count as people's.
    """
    for name in split:
        if name not in made or not HUMAN.fullmatch(plain_name(name)):
            continue
        scores = [number(cell) for cell in made[name].to_pylist()]
        best, rest = [], []
        for score, won in zip(scores, human, strict=True):
            if score is not None and won == "1":
                best.append(score)
            elif score is not None and won == "0":
                rest.append(score)
        agree = len(best) == len(rest) and all(
            winner >= loser for winner, loser in zip(best, rest, strict=True)
        )
        if best and agree:
            return True
        made[f"{name} (not people's)"] = made.pop(name)
    return False


def _preferences(winner: str, ends: Sequence[str], makers: Sequence[str]) -> list[str]:
    """Return for each answer of a row 1 if it won, 0 if not, 0.5 for a tie, "" if nothing is named.

    ``makers``: who wrote each answer, since a cell may name the writer of the winner.
    """
    name = plain_name(winner)
    named = {name}
    parts = FAMILY.fullmatch(name)
    if parts and not parts["stem"].isdigit():  # “1.0” means the answer 1, never the answer 0
        named.add(parts["end"])
    wins = [
        end in named or winner.strip() == maker for end, maker in zip(ends, makers, strict=True)
    ]
    if wins.count(True) == 1:
        return ["1" if won else "0" for won in wins]
    tie = "0.5" if name in TIES else ""
    return [tie] * len(ends)
