"""Fetch a published data set, or read the user's own copy, as items and a rubric.

None of these data come with the lab. A file whose sha256 is known is fetched from a fixed commit
into the cache folder and checked. Any other file is the user's own, and its columns are checked.
"""

import hashlib
import http.client
import os
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from rubriclab.data.limits import MB
from rubriclab.data.published_readers import READERS
from rubriclab.data.rubrics import own_rubric
from rubriclab.data.safe_files import write_atomically
from rubriclab.data.sample import data_path
from rubriclab.data.tables import Table, read_table
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.text import LabError, shorten

HOST = "https://raw.githubusercontent.com"
MAX_FETCHED = 20 * MB
"""Bytes of one file: room for the largest that ``sources.toml`` names."""
CONNECT_SECONDS = 10.0
FETCH_SECONDS = 120.0
"""Time for a whole file, so that a server that sends byte by byte cannot hold the lab up."""
CHUNK = 1 << 16
"""Bytes that are read at once."""


@dataclass(frozen=True)
class PublicFile:
    """A file at ``owner/repository/commit/path``, of ``size`` bytes; without their ``sha256`` it is
    not fetched.
    """

    path: str
    sha256: str = ""
    name: str = ""
    size: int = 0

    @property
    def title(self) -> str:
        return self.name or PurePath(self.path).name

    @property
    def cached(self) -> Path:
        """Where it lies in the cache folder once it was fetched."""
        return cache_folder() / f"{self.sha256[:12]}-{self.title}"

    def here(self) -> bool:
        """Whether it was fetched, and is as it was."""
        return (
            self.cached.is_file()
            and hashlib.sha256(self.cached.read_bytes()).hexdigest() == self.sha256
        )


@dataclass(frozen=True)
class Published:
    """One data set. ``reader``: a function of ``published_readers``; ``rubric``: its file in
    ``data/published``, in the project's own words; empty: the data bring one.
    """

    title: str
    about: str
    licence: str
    reader: str
    files: tuple[PublicFile, ...]
    rubric: str = ""


@lru_cache(maxsize=1)
def sources() -> Mapping[str, Published]:
    """Every published data set that is known, by the name a study file gives it:
    ``data/published/sources.toml``.
    """
    known = tomllib.loads(data_path("published/sources.toml").read_text("utf-8"))
    return {
        name: Published(**{**body, "files": tuple(PublicFile(**file) for file in body["files"])})
        for name, body in known.items()
    }


def published(
    name: str, files: Sequence[Path | Table] = (), gold: tuple[str, ...] = ()
) -> tuple[DataSet, Rubric]:
    """The items and the rubric of a published data set; ``files``: the user's own copies, in any
    order.

    ``gold``: columns of another model's scores to take where no person rated. Raises LabError for
    an unknown name, for a file that cannot be had (saying where it comes from), and for one of
    another form.
    """
    known = sources()
    if name not in known:
        raise LabError(
            f"Unknown published data set “{shorten(name)}”. Use one of {', '.join(known)}."
        )
    about = known[name]
    missing = [file for file in about.files if not file.sha256]
    if missing and not files:
        raise LabError(
            f"{about.title} is not fetched: {missing[0].title} has no known hash. Get "
            f"{_sources(about)} and name what you "
            f"have, as files = [{', '.join(repr(file.title) for file in about.files)}]."
        )
    given = files or [fetched(file) for file in about.files]
    tables = [file if isinstance(file, Table) else read_table(file, file.name) for file in given]
    try:
        items, rubric = READERS[about.reader](tables, gold)
    except (LabError, LookupError, TypeError, AttributeError) as fault:
        form = f"another form than its files have ({type(fault).__name__}: {shorten(str(fault))})."
        words = str(fault) if isinstance(fault, LabError) else form
        raise LabError(
            f"{about.title}: {words} Its files: {_sources(about)}. {about.about}"
        ) from None
    if rubric is None:
        rubric = own_rubric(data_path(f"published/{about.rubric}.yaml"))
    source = ", ".join(table.name for table in tables)
    return DataSet(about.title, tuple(items), f"{about.title} as published: {source}"), rubric


def _sources(about: Published) -> str:
    return ", ".join(f"{HOST}/{file.path}" for file in about.files)


def cache_folder() -> Path:
    """RUBRICLAB_DATA, else ``rubriclab/data`` in the user's cache folder."""
    own = os.environ.get("RUBRICLAB_DATA")
    return Path(
        own or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "rubriclab", "data")
    ).expanduser()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def fetched(file: PublicFile, progress: Callable[[int], None] | None = None) -> Path:
    """The file in the cache folder, fetched where it is not there: only bytes of the right sha256
    ever have its name.

    ``progress``: given how many bytes have come. Raises LabError for a fault of the network, for
    more than MAX_FETCHED bytes, and for another hash.
    """
    if file.here():
        return file.cached
    url, cure = f"{HOST}/{file.path}", 'Try again, or name your own copy, as files = ["…"].'
    request = urllib.request.Request(
        url, headers={"User-Agent": "rubriclab", "Accept-Encoding": "identity"}
    )
    content, until = b"", time.monotonic() + FETCH_SECONDS
    try:
        with urllib.request.build_opener(_NoRedirect).open(
            request, timeout=CONNECT_SECONDS
        ) as answer:
            while chunk := answer.read1(CHUNK):
                content += chunk
                if progress is not None:
                    progress(len(content))
                if len(content) > MAX_FETCHED or time.monotonic() > until:
                    raise OSError("it sends too much, or too slowly")
    except (OSError, http.client.HTTPException, urllib.error.HTTPError) as fault:
        raise LabError(f"{url} could not be fetched: {shorten(str(fault), 120)}. {cure}") from None
    known = hashlib.sha256(content).hexdigest()
    if known != file.sha256:
        raise LabError(
            f"The file at {url} has changed: sha256 {known[:12]}…, expected "
            f"{file.sha256[:12]}…. {cure}"
        )
    return write_atomically(file.cached, content)
