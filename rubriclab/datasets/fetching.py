"""Files of public data sets and logs: fetched on first use, checked by hash, kept in a cache.

A file whose hash is known is used only if it has that hash. One whose hash is not known is trusted
at its first fetch (trust on first use): its hash is written beside it, and what is not that file any
more is fetched again and refused if it is another.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rubriclab.datasets.outfiles import write_file
from rubriclab.model import DataError
from rubriclab.model.language import tr

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes read so far and the bytes in all where known."""

CHUNK = 1 << 16
TIMEOUT = 30.0
"""Seconds that a connection, and each answer on it, may take."""
STALL_SECONDS, STALL_BYTES = 30.0, 1 << 17
"""Fewer bytes than this in so much time: given up."""
ATTEMPTS = 3
"""Times a connection that broke is taken up again where it broke."""
MOST_BYTES = 4_000_000_000


class NotThereError(DataError):
    """The source has no file at this address."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file at a public address. ``sha256`` and ``size`` (bytes) are None where not known.

    ``sha256`` is of the uncompressed bytes.
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    size: int | None = None


def cache_folder() -> Path:
    """Where downloads are kept: $RUBRICLAB_CACHE, else the user's cache folder."""
    own = os.environ.get("RUBRICLAB_CACHE")
    return Path(own) if own else Path.home() / ".cache" / "rubriclab"


def held(file: PublicFile, path: Path) -> bool:
    """Whether ``path`` is the whole file: by its known hash, else by that of its first fetch."""
    wanted = file.sha256 or _first_hash(path)
    return wanted is not None and path.is_file() and _hash_of(path) == wanted


def altered(file: PublicFile, path: Path) -> bool:
    """Whether ``path`` is known to be another file: by its known hash, else by that of its first fetch."""
    wanted = file.sha256 or _first_hash(path)
    return wanted is not None and _hash_of(path) != wanted


def fetch(file: PublicFile, path: Path, *, title: str, source: str, progress: Progress | None = None) -> Path:
    """The file at ``path``, fetched where it is not there; nothing half loaded is left under its name.

    Raises DataError for a file without a public address, a fault of the network, or another hash
    than the known one; NotThereError where the source does not have it. ``title`` and ``source``
    say in messages what it is of, and where else to get it.
    """
    if file.sha256 is None and path.is_file() and not _beside(path).is_file():
        _write_hash(path, _hash_of(path))  # kept by a version that wrote no hashes down
    if held(file, path):
        return path
    if file.url is None:
        raise DataError(
            tr(
                "{title}: “{name}” has no fixed public address. Get it from {source} and load it as your own file.",
                title=title,
                name=file.name,
                source=source,
            )
        )
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch_all(file, part, progress)
        _check(file, part, path, title)
        part.replace(path)
    except urllib.error.HTTPError as error:
        error.close()
        kind = NotThereError if error.code in (404, 410) else DataError
        raise kind(_not_fetched(title, file, f"HTTP {error.code} {error.reason}")) from error
    except (OSError, http.client.HTTPException) as error:
        raise DataError(_not_fetched(title, file, str(error))) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _not_fetched(title: str, file: PublicFile, why: str) -> str:
    return tr(
        "{title}: “{name}” could not be downloaded from {url}: {why}. Try again, or load the file as your own.",
        title=title,
        name=file.name,
        url=file.url,
        why=why,
    )


def _check(file: PublicFile, part: Path, path: Path, title: str) -> None:
    """Raises DataError for another hash; writes down that of a first fetch."""
    came, known = _hash_of(part), file.sha256 or _first_hash(path)
    if known is not None and came != known:
        raise DataError(
            tr(
                "{title}: “{name}” has changed at its source (sha256 {came}..., known is {known}...). Load the "
                "file as your own to use it anyway.",
                title=title,
                name=file.name,
                came=came[:12],
                known=known[:12],
            )
        )
    if file.sha256 is None:
        _write_hash(path, came)


def _first_hash(path: Path) -> str | None:
    beside = _beside(path)
    return beside.read_text(encoding="ascii").strip() if beside.is_file() else None


def _write_hash(path: Path, sha256: str) -> None:
    write_file(_beside(path), sha256 + "\n", DataError)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- over the wire


class _BrokenError(OSError):
    """The connection ended before the file did: worth taking up again."""


def _fetch_all(file: PublicFile, part: Path, progress: Progress | None) -> None:
    for attempt in range(ATTEMPTS):
        try:
            _fetch_some(file, part, progress)
            return
        except _BrokenError:
            if attempt == ATTEMPTS - 1:
                raise


def _fetch_some(file: PublicFile, part: Path, progress: Progress | None) -> None:
    """What is missing of ``part``, appended; from the start where the server wants so."""
    begun = part.stat().st_size if part.exists() else 0
    wanted = {"Range": f"bytes={begun}-"} if begun else {}
    request = urllib.request.Request(
        str(file.url), headers={"User-Agent": "rubriclab", "Accept-Encoding": "identity", **wanted}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        goes_on = answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(f"bytes {begun}-")
        done = begun if goes_on else 0
        length = answer.headers.get("Content-Length")
        total = done + int(length) if length and length.isdecimal() else None
        with part.open("ab" if goes_on else "wb") as target:
            since, before = time.monotonic(), done
            while chunk := _read(answer):
                target.write(chunk)
                done += len(chunk)
                if done > MOST_BYTES:
                    raise OSError(tr("it sends more than {size:g} GB", size=MOST_BYTES / 1e9))
                if progress is not None:
                    progress(file.name, done, total)
                if time.monotonic() - since > STALL_SECONDS:
                    if done - before < STALL_BYTES:
                        raise OSError(tr("it sends too slowly"))
                    since, before = time.monotonic(), done
    if total is not None and done != total:
        raise _BrokenError(tr("{done:,} of {total:,} bytes came", done=done, total=total))


def _read(answer: http.client.HTTPResponse) -> bytes:
    """What has come; a connection that breaks is one that can be taken up again."""
    try:
        return answer.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(str(error) or type(error).__name__) from error
