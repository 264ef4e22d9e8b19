"""A folder that is whole or not there, and a ZIP with the same inside: both are written file by file."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rubriclab.datasets.outfiles import whole_file
from rubriclab.model import LabError
from rubriclab.model.language import tr

_EPOCH = (1980, 1, 1, 0, 0, 0)
_PACKED = (".parquet", ".png", ".pdf")
"""Files that are packed by themselves."""


class Sink(Protocol):
    """Where files go, one after the other."""

    def file(self, path: str) -> AbstractContextManager[BinaryIO]: ...


class Written:
    """A file on its way out, counted and hashed; what a writer of Parquet asks of a file."""

    closed = False

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.size, self._hash = raw, 0, hashlib.sha256()

    def write(self, content: bytes) -> int:
        self._raw.write(content)
        self._hash.update(content)
        self.size += memoryview(content).nbytes
        return memoryview(content).nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing is held back."""

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


class Manifest:
    """Files that go to a sink, and the list of them that makes the folder known as the lab's own.

    ``files``: by path (size in bytes, sha256).
    """

    def __init__(self, sink: Sink, name: str) -> None:
        self._sink, self._name = sink, name
        self.files: dict[str, tuple[int, str]] = {}

    @contextmanager
    def file(self, path: str) -> Iterator[Written]:
        with self._sink.file(path) as raw:
            made = Written(raw)
            yield made
        self.files[path] = (made.size, made.sha256)

    def put(self, path: str, content: bytes | str) -> None:
        with self.file(path) as out:
            out.write(content.encode() if isinstance(content, str) else content)

    def close(self, **about: Any) -> None:
        """Write the list itself, last: a folder without it is not whole."""
        listed = {path: {"bytes": size, "sha256": sha} for path, (size, sha) in sorted(self.files.items())}
        with self._sink.file(self._name) as out:
            out.write((json.dumps({**about, "files": listed}, ensure_ascii=False, indent=1) + "\n").encode())


class _Folder:
    def __init__(self, place: Path) -> None:
        self._place = place

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        target = self._place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())  # on the disk before the folder takes its name


class Zip:
    """Files into one ZIP, the same bytes for the same files."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        entry = zipfile.ZipInfo(path, _EPOCH)
        entry.external_attr = 0o644 << 16
        entry.compress_type = zipfile.ZIP_STORED if path.endswith(_PACKED) else zipfile.ZIP_DEFLATED
        with self._archive.open(entry, "w") as out:
            yield out  # type: ignore[misc]


@contextmanager
def whole_zip(path: Path) -> Iterator[Zip]:
    """A ZIP that takes its name when it is whole. Raises LabError where it cannot be written."""
    with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        yield Zip(archive)


@contextmanager
def whole_folder(path: Path, manifest: str) -> Iterator[Sink]:
    """A folder that takes its name when all of its files are written.

    What stood at ``path`` is replaced only if it is empty or such a folder itself: ``manifest`` names the list of
    its files, and nothing else is in it. A fault on the way leaves what was there. Raises LabError for a folder
    that holds something else, or where nothing can be written.
    """
    try:
        target = path.expanduser().resolve()
        _check_free(path, target, manifest)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.parent / f".{secrets.token_hex(8)}.part"
        part.mkdir()
    except OSError as fault:
        raise _unwritten(path, fault) from fault
    try:
        yield _Folder(part)
        _check_free(path, target, manifest)  # it took a while: somebody may have put something there
        _take_place(part, target)
    except OSError as fault:
        raise _unwritten(path, fault) from fault
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _take_place(part: Path, target: Path) -> None:
    """Two renames; should the second fail, the first is taken back."""
    if not target.exists():
        part.rename(target)
        return
    before = target.parent / f".{secrets.token_hex(8)}.part"
    target.rename(before)
    try:
        part.rename(target)
    except OSError:
        before.rename(target)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _check_free(path: Path, target: Path, manifest: str) -> None:
    """Raises LabError where the folder holds what the lab has not written there."""
    if not target.exists():
        return
    advice = tr("Name a new folder, or move that one away first. Nothing was changed.")
    if not target.is_dir():
        raise LabError(tr("{path} is a file, and a folder was expected. {advice}", path=path, advice=advice))
    inside = {one.relative_to(target).as_posix() for one in target.rglob("*") if one.is_symlink() or not one.is_dir()}
    foreign = sorted(inside - set(_listed(target / manifest)) - {manifest}) if inside else []
    if inside and manifest not in inside:
        raise LabError(
            tr(
                "{path} holds something else ({file}) and is no folder that was shared before. {advice}",
                path=path,
                file=foreign[0],
                advice=advice,
            )
        )
    if foreign:
        raise LabError(
            tr(
                "{path} holds a file that was not written by the lab ({file}). {advice}",
                path=path,
                file=foreign[0],
                advice=advice,
            )
        )


def _listed(manifest: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        read = json.loads(manifest.read_text(encoding="utf-8"))
        if isinstance(read, dict) and isinstance(read.get("files"), dict):
            return dict(read["files"])
    return {}


def _unwritten(path: Path, fault: OSError) -> LabError:
    return LabError(
        tr(
            "{path} cannot be written: {why}. What was there before is as it was.",
            path=path,
            why=fault.strerror or fault,
        )
    )
