"""Public logs of judges that people know: what is in them, where they lie, and what is here of them.

``gallery.toml`` is the list; nothing of the logs comes with the lab. A file is fetched on first use from
a fixed commit, checked by hash and kept (``fetching``).
"""

from __future__ import annotations

import re
import tomllib
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rubriclab.datasets import fetching
from rubriclab.datasets.fetching import NotThereError, PublicFile
from rubriclab.datasets.limits import read_file
from rubriclab.datasets.published import resource
from rubriclab.datasets.tables import read_table
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.model.wording import many


@dataclass(frozen=True, slots=True)
class Listing:
    """A table at the source that names every file: by ``pattern``'s group in ``column``."""

    url: str
    column: str
    pattern: str


@dataclass(frozen=True, slots=True)
class PublicLogs:
    """The public logs of one judge, or of several from one place.

    ``rows``: "model" where one judge compared many models with a baseline, a file each; "judge" where each
    file is another judge's. ``files``: those fetched to begin with; ``size``: bytes of a file, about.
    """

    key: str
    title: str
    about: str
    source: str
    commit: str
    licence: str
    kind: str
    rows: Literal["model", "judge"]
    size: int
    address: str
    files: tuple[PublicFile, ...]
    listing: Listing | None = None

    @property
    def host(self) -> str:
        return urllib.parse.urlsplit(self.address).hostname or ""

    def file(self, name: str) -> PublicFile:
        """The log of that name: of ``files``, else at the address that the name gives."""
        known = next((file for file in self.files if file.name == name), PublicFile(name))
        if not re.fullmatch(r"[^/\\\x00-\x1f]{1,200}", name) or name.startswith("."):
            raise DataError(tr("“{name}” is no name of a file in {title}.", name=name, title=self.title))
        quoted = urllib.parse.quote(name, safe="=,")
        return replace(known, url=self.address.format(commit=self.commit, name=quoted))

    def short(self, name: str) -> str:
        """A file's name for people: of one that lists properties, their values."""
        return " · ".join(part.partition("=")[2] or part for part in name.split(","))

    def bytes_of(self, names: Sequence[str]) -> int:
        """About how much these files are."""
        return sum(self.file(name).size or self.size for name in names)

    def path(self, name: str, *, cache: Path | None = None) -> Path:
        """Where the log of that name is kept."""
        suffix = "" if self.address.endswith("{name}") else Path(self.address).suffix
        return self._folder(cache) / f"{name}{suffix}"

    def here(self, *, cache: Path | None = None) -> tuple[str, ...]:
        """The names of the logs that were fetched, those of ``files`` first."""
        folder, suffix = self._folder(cache), self.path("", cache=cache).name
        kept = [path.name.removesuffix(suffix) for path in sorted(folder.glob("*")) if _is_log(path)]
        first = [file.name for file in self.files if file.name in kept]
        return (*first, *(name for name in kept if name not in first))

    def _folder(self, cache: Path | None) -> Path:
        return (cache or fetching.cache_folder()) / "gallery" / self.key


def public_logs(key: str) -> PublicLogs:
    """The public logs of that key. Raises DataError naming the known ones."""
    if key not in GALLERY:
        raise DataError(tr("The gallery has no “{key}”. It has: {known}.", key=key, known=", ".join(GALLERY)))
    return GALLERY[key]


@dataclass(frozen=True, slots=True)
class Fetched:
    """``here``: names of the logs that are here now; ``missing``: those that the source does not have."""

    here: tuple[str, ...]
    missing: tuple[str, ...]


Heard = Callable[[int, int, str, int, int | None], None]
"""Called with how many files are done, of how many, the file's name, its bytes so far and in all."""


def fetch(
    chosen: PublicLogs, names: Sequence[str], *, cache: Path | None = None, progress: Heard | None = None
) -> Fetched:
    """The logs of these names, fetched where they are not here yet; what was fetched stays if this ends half way.

    Raises DataError for a fault of the network and for a file that is not the one that is known.
    """
    here, missing = [], []
    for done, name in enumerate(names):
        file = chosen.file(name)

        def heard(_: str, got: int, total: int | None, done: int = done, file: PublicFile = file) -> None:
            if progress is not None:
                progress(done, len(names), file.name, got, total or file.size)

        try:
            path = chosen.path(name, cache=cache)
            fetching.fetch(file, path, title=chosen.title, source=chosen.source, progress=heard)
            here.append(name)
        except NotThereError:
            missing.append(name)
    if names and not here:
        raise DataError(
            tr(
                "{title}: none of {files} is at {url} or its like.",
                title=chosen.title,
                files=many(len(names), "file"),
                url=chosen.file(names[0]).url,
            )
        )
    return Fetched(tuple(here), tuple(missing))


def every_name(chosen: PublicLogs, *, cache: Path | None = None) -> tuple[str, ...]:
    """The names of all logs there are: by the listing at the source where there is one, else ``files``.

    Raises DataError where the listing cannot be had or is another than expected.
    """
    own = tuple(file.name for file in chosen.files)
    if chosen.listing is None:
        return own
    url = chosen.listing.url.format(commit=chosen.commit)
    path = (cache or fetching.cache_folder()) / "gallery" / f"{chosen.key}.listing.csv"
    file = PublicFile(path.name, url)
    fetching.fetch(file, path, title=chosen.title, source=chosen.source)
    table = read_table(path.name, read_file(path))
    cells = table[chosen.listing.column].astype(str).tolist() if chosen.listing.column in table else []
    found = [match[1] for cell in cells if (match := re.search(chosen.listing.pattern, cell))]
    if not found:
        raise DataError(
            tr(
                "{title}: the list of files at {url} has no column “{column}”.",
                title=chosen.title,
                url=url,
                column=chosen.listing.column,
            )
        )
    return tuple(dict.fromkeys([*own, *found]))


def _is_log(path: Path) -> bool:
    return path.is_file() and path.suffix not in (".part", ".sha256")


def _gallery() -> dict[str, PublicLogs]:
    """What gallery.toml says, checked by the names of its keys."""
    return {
        key: PublicLogs(
            key,
            **{
                **value,
                "files": tuple(PublicFile(**file) for file in value["files"]),
                "listing": Listing(**value["listing"]) if "listing" in value else None,
            },
        )
        for key, value in tomllib.loads(resource("gallery.toml")).items()
    }


GALLERY: Mapping[str, PublicLogs] = _gallery()
"""All public logs by their key."""
