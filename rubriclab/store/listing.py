"""The list of runs: what each is and is called, and how users keep it in order.

A run's name in addresses, files and archives is given once and stays. Its title is words for people, its
tags are one row each (so that two who tag one run at a time both keep theirs), and a run that is archived or
deleted is only marked: ``Runs.delete_run`` alone takes it out of the store.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rubriclab.model import Dropped
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.store.catalogue import Catalogue
from rubriclab.store.database import COMMITS
from rubriclab.store.faults import StoreError
from rubriclab.store.objects import stored_arm
from rubriclab.store.schema import now

MAX_TITLE, MAX_TAG, MAX_TAGS = 120, 40, 20
"""Characters of a title and of a tag, and tags of a run."""
_BREAKS = {"Cc", "Cs", "Zl", "Zp"}
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Signs that turn the direction of what follows: a title could show as another."""


@dataclass(frozen=True)
class RunInfo:
    """One run as the runs page lists it. ``done`` counts calls with a final reply.

    ``name``: its title where it was given one, else ``made_as``, the name of the study that it was made from.
    ``origin``: where its data is from (a file, a recipe, the sample, a single text that was tried).
    ``archived``, ``deleted``: since when (UTC) it is; a deleted run is kept until it is deleted for good.
    ``dropped``: judges that were taken out of it; ``planned`` counts no call that they were not asked.
    """

    run: str
    run_no: int
    name: str
    made_as: str
    axis: str
    dataset: str
    origin: str
    state: str
    reason: str
    created: datetime
    changed: datetime
    planned: int
    done: int
    simulated: bool
    archived: datetime | None
    deleted: datetime | None
    tags: tuple[str, ...]
    provenance: Mapping[str, Any]
    dropped: tuple[Dropped, ...] = ()


def _run_info(row: tuple[Any, ...]) -> RunInfo:
    names = [f.name for f in fields(RunInfo) if f.name != "dropped"]
    values = dict(zip(names, row, strict=True))
    try:
        made_with = json.loads(row[-1])
    except ValueError:  # of a salvaged store: the run is worth more than what it was made with
        made_with = {"unreadable": str(row[-1])[:200]}
    tags = tuple(sorted({tag for tag in values["tags"] or () if tag is not None}, key=str.casefold))
    return RunInfo(**{**values, "tags": tags, "provenance": made_with})


def dropped_of(info: RunInfo) -> dict[str, str]:
    """The judges that were taken out of a run, each with its reason; an imported one may say anything."""
    named = info.provenance.get("dropped")
    return {str(judge): str(why) for judge, why in named.items()} if isinstance(named, dict) else {}


def checked_title(text: str) -> str | None:
    """A title as it is kept; None for an empty one. Raises StoreError for what is no line of words."""
    return _one_line(text, msg("title"), MAX_TITLE) or None


def checked_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept, each once in whatever spelling. Raises StoreError for what is no tag."""
    found: dict[str, str] = {}
    for text in texts:
        tag = _one_line(text, msg("tag"), MAX_TAG)
        if not tag:
            raise StoreError(
                tr("{given} is no tag: a tag has 1 to {most} characters.", given=ascii(text)[:60], most=MAX_TAG)
            )
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


def _one_line(text: str, what: str, most: int) -> str:
    """``text`` without blanks around it; nothing where nothing in it would be seen."""
    if not isinstance(text, str):
        raise StoreError(tr("A {what} is text; this is {given}.", what=tr(what), given=ascii(text)[:60]))
    line = text.strip()
    if len(line) > most:
        raise StoreError(
            tr(
                "This {what} has {length:,} characters; {most} at most are kept. Shorten it.",
                what=tr(what),
                length=len(line),
                most=most,
            )
        )
    for sign in line:
        if unicodedata.category(sign) in _BREAKS or sign in _TURNS:
            raise StoreError(
                tr("A {what} is one line of words; this one holds {sign!a}. Take that out.", what=tr(what), sign=sign)
            )
    return line if any(unicodedata.category(sign)[0] not in "ZC" for sign in line) else ""


_BY_TITLE = "lower(coalesce(r.title, r.name)) = lower(?)"
_WAYS = (
    "r.run = ?",
    "starts_with(r.run, ?)",
    "lower(r.run) = lower(?)",
    "starts_with(lower(r.run), lower(?))",
    _BY_TITLE,
)
"""What a run can be meant by, the narrowest way first."""


class Listing(Catalogue):
    """The runs of a store as a list: found, called, tagged, archived, deleted and restored."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        self._written_now: set[str] = set()
        self._listed: tuple[int, dict[tuple[Any, ...], tuple[RunInfo, ...]]] = (-1, {})

    def runs(self, *, deleted: bool = False) -> tuple[RunInfo, ...]:
        """All runs but deleted ones, archived ones too, newest first; with ``deleted`` those as well."""
        return self._run_infos("" if deleted else "WHERE r.deleted IS NULL", [])

    def run(self, run: str) -> RunInfo:
        """The run of that name, of a name that begins so, or of that title. Raises StoreError otherwise.

        Capitals count only where they tell two runs apart. Of several one that is deleted counts only
        where no other does.
        """
        matches: tuple[RunInfo, ...] = ()
        way = ""
        for way in _WAYS:
            if matches := self._run_infos(f"WHERE {way}", [run]):
                break
        if len(matches) > 1:
            matches = tuple(info for info in matches if info.deleted is None) or matches
        if len(matches) != 1:
            several = msg("The store {path} has {runs} that begin with “{run}”. Runs here: {known}.")
            if way == _BY_TITLE:
                several = msg("The store {path} has {runs} with the title “{run}”: {known}. Give the name of one.")
            message = several if matches else msg("The store {path} has no run “{run}”. Runs here: {known}.")
            listed = matches if matches and way == _BY_TITLE else self.runs()
            known = ", ".join(info.run for info in listed[:8]) or tr("none")
            raise StoreError(tr(message, path=self.path, runs=many(len(matches), "run"), run=run, known=known))
        return matches[0]

    def holds(self, run: str) -> bool:
        """Is there a run of exactly that name, be it deleted?"""
        return self._one("SELECT count(*) FROM runs WHERE run = ?", [run]) > 0

    def _run_infos(self, where: str, values: list[Any]) -> tuple[RunInfo, ...]:
        """The runs that meet a condition; kept until somebody commits: a page asks for them dozens of times."""
        commits = COMMITS.so_far  # before the question: what is committed meanwhile is asked for again
        if self._listed[0] != commits or self._closed:
            self._listed = (commits, {})
        kept, asked = self._listed[1], (where, *values)
        if asked not in kept:
            found = self._asked_run_infos(where, values)
            if not found:
                return ()  # nothing is kept for names that anybody may make up
            kept[asked] = found
        return kept[asked]

    def _asked_run_infos(self, where: str, values: list[Any]) -> tuple[RunInfo, ...]:
        rows = self._rows(
            f"""
            SELECT r.run, r.run_no, coalesce(r.title, r.name), r.name, r.axis, coalesce(d.name, ''),
                   coalesce(d.origin, ''), r.state, r.reason, r.created, r.changed, r.planned, coalesce(c.done, 0),
                   r.simulated, r.archived, r.deleted, t.tags, r.provenance
            FROM runs r
            LEFT JOIN (SELECT run_no, count(*) AS done FROM replies GROUP BY run_no) c USING (run_no)
            LEFT JOIN (SELECT run_no, list(tag) AS tags FROM run_tags GROUP BY run_no) t USING (run_no)
            LEFT JOIN datasets d ON d.dataset = r.dataset
            {where} ORDER BY r.created DESC, r.run_no DESC
            """,
            values,
        )
        return tuple(self._without_dropped(_run_info(row)) for row in rows)

    def _without_dropped(self, info: RunInfo) -> RunInfo:
        """``info`` in which the calls that dropped judges were not asked are no longer planned."""
        named = dropped_of(info)
        if not named:
            return info
        asked = self.by_judge(info.run_no)
        dropped = tuple(Dropped(judge, *asked[judge], reason) for judge, reason in named.items() if judge in asked)
        return replace(info, planned=info.planned - sum(one.planned - one.done for one in dropped), dropped=dropped)

    def by_judge(self, run_no: int) -> dict[str, tuple[int, int]]:
        """By judge, in the study's order: how many of its calls are judged, and how many the study has."""
        rows = self._rows(
            """
            SELECT a.body, a.planned, coalesce(r.done, 0)
            FROM arms a LEFT JOIN
                (SELECT arm, count(*) AS done FROM replies WHERE run_no = $1 GROUP BY arm) r USING (arm)
            WHERE a.run_no = $1 ORDER BY a.arm
            """,
            [run_no],
        )
        asked: dict[str, tuple[int, int]] = {}
        for body, planned, done in rows:
            judge = stored_arm(body).judge
            before = asked.get(judge, (0, 0))
            asked[judge] = before[0] + int(done), before[1] + int(planned)
        return asked

    def judges_by_run(self) -> dict[int, tuple[str, ...]]:
        """The names of the judges of every run, by the run's number; a damaged arm names none."""
        found: dict[int, dict[str, None]] = {}
        for number, body in self._rows("SELECT run_no, body FROM arms ORDER BY run_no, arm"):
            try:
                name = json.loads(body)["judge"]
            except (ValueError, TypeError, LookupError):
                continue
            found.setdefault(int(number), {})[str(name)] = None
        return {number: tuple(names) for number, names in found.items()}

    # -------- kept in order

    def rename_run(self, run: str, title: str) -> None:
        """Give a run a title; an empty one gives back the name that it was made with. Raises StoreError."""
        kept = checked_title(title)
        self._set(self.run(run), "title", kept)

    def tag_run(self, run: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Put tags on a run and take others off; one that it has in another spelling stays as it is.

        Only what is named changes, so that tags of somebody else who tags the run just now are kept. Raises
        StoreError for what is no tag, and for more than MAX_TAGS.
        """
        wanted, gone = checked_tags(add), {tag.strip().casefold() for tag in remove}
        with self._transaction() as db:  # what it has is read under the lock that it is written under
            info = self.run(run)
            rows = db.execute("SELECT tag FROM run_tags WHERE run_no = ?", [info.run_no]).fetchall()
            left = {tag.casefold(): tag for (tag,) in rows if tag.casefold() not in gone}
            after = {tag.casefold(): tag for tag in wanted} | left
            if len(after) > MAX_TAGS:
                raise StoreError(
                    tr(
                        "Run “{run}” would have {count} tags; {most} at most are kept.",
                        run=info.run,
                        count=len(after),
                        most=MAX_TAGS,
                    )
                )
            db.execute("DELETE FROM run_tags WHERE run_no = ?", [info.run_no])
            for tag in after.values():
                db.execute("INSERT INTO run_tags VALUES (?, ?)", [info.run_no, tag])

    def tags(self) -> tuple[str, ...]:
        """All tags of runs that are not deleted, in order."""
        return tuple(sorted({tag for info in self.runs() for tag in info.tags}, key=str.casefold))

    def archive_run(self, run: str) -> None:
        """Take a run out of the lists; an address that names it still opens it."""
        self._set(self.run(run), "archived", now())

    def discard_run(self, run: str) -> None:
        """Delete a run so that it can be restored. Raises StoreError for one that is being judged."""
        info = self.run(run)
        self._refuse_going(info.run)
        self._set(info, "deleted", now())

    def restore_run(self, run: str) -> None:
        """Put a run that was deleted or archived back into the lists."""
        info = self.run(run)
        with self._transaction():
            self._set(info, "deleted", None)
            self._set(info, "archived", None)

    def undelete_run(self, run: str) -> None:
        """Put a run back to where it was before it was deleted: the lists, or the archived ones."""
        info = self.run(run)
        if info.deleted is not None:
            self._set(info, "deleted", None)

    def _refuse_going(self, run: str) -> None:
        if run in self._written_now:
            raise StoreError(
                tr("Run “{run}” is being judged right now; pause or cancel it first, then delete it.", run=run)
            )

    def _set(self, info: RunInfo, column: str, value: object) -> None:
        with self._transaction() as db:
            db.execute(f"UPDATE runs SET {column} = ? WHERE run_no = ?", [value, info.run_no])
