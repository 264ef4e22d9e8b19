"""Fetch a published data set, or read the user's own copy, as items and a rubric.

None of these data come with the lab. ``published/sources.toml`` in the package's data lists them;
a new data set is a table there and a function in ``published_readers.py``, not a change here. A
file whose sha256 is listed is fetched from a fixed commit into the cache folder, and its hash is
checked. Any other file has to be given by the user, and its reader checks the columns.
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
"""Max bytes of one file: enough for the largest that ``sources.toml`` lists."""
CONNECT_SECONDS = 10.0
"""Max seconds to wait for a connection, or for the next bytes."""
FETCH_SECONDS = 120.0
"""Max seconds for a whole file, so that a server that sends byte by byte cannot hold the lab up."""
CHUNK = 1 << 16
"""Max bytes that are read at once, so that progress is shown and both limits are checked often."""


@dataclass(frozen=True)
class PublicFile:
    """A file of a published data set on GitHub.

    path: owner/repository/commit/path, below HOST.
    sha256: the hash of its content. A file without one is not fetched: the user has to give it.
    name: what it is called here; empty for the last part of ``path``.
    size: bytes.
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
        """The path in the cache folder that the fetched file has, or would have."""
        return cache_folder() / f"{self.sha256[:12]}-{self.title}"

    def here(self) -> bool:
        """Return whether the file is in the cache folder, with the content that was published."""
        if not self.cached.is_file():
            return False
        return hashlib.sha256(self.cached.read_bytes()).hexdigest() == self.sha256


@dataclass(frozen=True)
class Published:
    """One data set: a table of ``sources.toml``.

    about: where its files come from and what they hold, in sentences for the user.
    reader: the key in READERS of the function that makes items of its files.
    rubric: the name of a rubric file beside ``sources.toml``; empty if the data bring their own.
    """

    title: str
    about: str
    licence: str
    reader: str
    files: tuple[PublicFile, ...]
    rubric: str = ""


@lru_cache(maxsize=1)
def sources() -> Mapping[str, Published]:
    """Return all published data sets that the lab knows, by the name that a study file uses."""
    tables = tomllib.loads(data_path("published/sources.toml").read_text("utf-8"))
    known = {}
    for name, table in tables.items():
        files = tuple(PublicFile(**file) for file in table.pop("files"))
        known[name] = Published(**table, files=files)
    return known


def published(
    name: str, files: Sequence[Path | Table] = (), gold: tuple[str, ...] = ()
) -> tuple[DataSet, Rubric]:
    """Return the items and the rubric of a published data set.

    Args:
        files: the user's own copies, in any order. Without them, the files are fetched.
        gold: columns with another model's scores, which replace human scores where there are none.

    Raises LabError if the name is unknown, if a file cannot be fetched, or if a file does not have
    the columns that its reader needs. The message says where the files come from.
    """
    known = sources()
    if name not in known:
        raise LabError(
            f"Unknown published data set “{shorten(name)}”. Use one of {', '.join(known)}."
        )
    about = known[name]
    not_fetched = [file for file in about.files if not file.sha256]
    if not_fetched and not files:
        names = ", ".join(repr(file.title) for file in about.files)
        raise LabError(
            f"{about.title} is not fetched: {not_fetched[0].title} has no known hash. Download "
            f"{_addresses(about)} and name the files that you have: files = [{names}]."
        )
    given = files or [fetched(file) for file in about.files]
    tables = [file if isinstance(file, Table) else read_table(file, file.name) for file in given]
    try:
        items, rubric = READERS[about.reader](tables, gold)
    except (LabError, LookupError, TypeError, AttributeError) as fault:
        # A reader takes the published columns for granted, so other files break it anywhere.
        problem = str(fault)
        if not isinstance(fault, LabError):
            kind = type(fault).__name__
            problem = f"the files differ from the published ones ({kind}: {shorten(problem)})."
        raise LabError(
            f"{about.title}: {problem} Its files: {_addresses(about)}. {about.about}"
        ) from None
    if rubric is None:
        rubric = own_rubric(data_path(f"published/{about.rubric}.yaml"))
    source = ", ".join(table.name for table in tables)
    return DataSet(about.title, tuple(items), f"{about.title} as published: {source}"), rubric


def _addresses(about: Published) -> str:
    """Return the addresses of a data set's files, for a message."""
    return ", ".join(f"{HOST}/{file.path}" for file in about.files)


def cache_folder() -> Path:
    """Return $RUBRICLAB_DATA, or else ``rubriclab/data`` in the user's cache folder."""
    own = os.environ.get("RUBRICLAB_DATA")
    if own:
        return Path(own).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches, "rubriclab", "data").expanduser()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects, so that nothing but HOST is ever asked."""

    def redirect_request(self, *_: Any) -> None:
        return None


def fetched(file: PublicFile, progress: Callable[[int], None] | None = None) -> Path:
    """Return the path of a file in the cache folder. Fetch it if it is not there.

    Content with another sha256 is never written. ``progress`` is called with the number of bytes
    received so far. Raises LabError for a fault of the network, more than MAX_FETCHED bytes, a
    server that is too slow, and another hash.
    """
    if file.here():
        return file.cached
    url = f"{HOST}/{file.path}"
    advice = 'Try again, or name your own copy, for example files = ["mine.csv"].'
    # Without “identity” the server may send compressed bytes, which have another hash.
    headers = {"User-Agent": "rubriclab", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(_NoRedirect)
    content = b""
    until = time.monotonic() + FETCH_SECONDS
    try:
        with opener.open(request, timeout=CONNECT_SECONDS) as response:
            while chunk := response.read1(CHUNK):
                content += chunk
                if progress is not None:
                    progress(len(content))
                if len(content) > MAX_FETCHED or time.monotonic() > until:
                    raise OSError("the server sends too much, or too slowly")
    except (OSError, http.client.HTTPException, urllib.error.HTTPError) as fault:
        why = shorten(str(fault), 120)
        raise LabError(f"{url} could not be fetched: {why}. {advice}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise LabError(
            f"The file at {url} has changed: sha256 {found[:12]}…, expected "
            f"{file.sha256[:12]}…. {advice}"
        )
    return write_atomically(file.cached, content)
