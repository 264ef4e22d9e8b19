"""Any GGUF file of Hugging Face by its name: ``hf:owner/repo/file.gguf``.

Through the lab's own ``hub``, which asks for the hash before a byte is fetched, shows progress, goes
on where a download broke and has bounds of time and size; huggingface_hub would bring a cache of
its own and a dozen packages for this one file.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from rubriclab.judges.hub import HubError, HubFile, fetch_from_hub, first_bytes, offered_by_hub
from rubriclab.judges.serving import local_only
from rubriclab.judges.weights import Progress, cache_folder, check_space, file_sha256, filling, reporter
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr

PREFIX = "hf:"
GGUF_HEAD = struct.Struct("<4sIQQ")
"""How a GGUF file begins: magic, version, number of tensors, number of metadata entries."""
_EXAMPLE = msg(
    "Write it as hf:owner/repo/file.gguf; a revision goes behind the repository, as hf:owner/repo@revision/file.gguf."
)
_NAME = re.compile(
    r"hf:(?P<repository>[\w-][\w.-]*/[\w-][\w.-]*)(@(?P<revision>[\w-][\w.-]*))?/(?P<file>([\w-][\w.+-]*/)*[\w-][\w.+-]*\.gguf)",
    re.ASCII | re.IGNORECASE,
)
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


def hub_file(name: str) -> HubFile:
    """The file that ``hf:…`` names. Raises LabError for what is no such name."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise LabError(
            tr("“{name}” names no GGUF file of Hugging Face. {example}", name=name[:120], example=tr(_EXAMPLE))
        )
    if _PART.search(match["file"]):
        raise LabError(tr("{name} is one part of a model that is split; choose a file that is whole.", name=name))
    return HubFile(match["repository"], match["file"], match["revision"] or "main")


def hub_model_path(name: str) -> Path:
    """Where the file lies once it has been fetched. Raises LabError for what is no such name."""
    source = hub_file(name)
    return cache_folder() / "weights" / "hf" / source.repository / source.revision / source.file


def ensure_hub_model(name: str, *, progress: Progress | None = None, sha256: str | None = None) -> Path:
    """The path of the file, fetched first if it is not in the cache; then it stays as it is.

    Only a file of the hash that the hub names (and ``sha256``, where one is wanted) ever has the
    final name; it is looked at before all of it is fetched, and one in the cache is checked again.

    Raises LabError saying what to do: no such name or file, no network, no space, no GGUF, another
    hash than wanted.
    """
    local_only(tr("Fetching a model from Hugging Face"))
    path = hub_model_path(name)
    try:
        with filling(path, name):
            if not _whole(path):
                _fetch(name, path, progress, sha256)
    except HubError as fault:
        raise LabError(
            tr(
                "Hugging Face did not give {name}: {fault}. Check the name and the network; of a repository that "
                "is not public fetch the file yourself and give its path.",
                name=name,
                fault=fault,
            )
        ) from fault
    return path


def _whole(path: Path) -> bool:
    """Whether the file is there with the hash that was written down when it came."""
    said = _hash_file(path)
    return path.is_file() and said.is_file() and said.read_text(encoding="ascii").strip() == file_sha256(path)


def _hash_file(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _fetch(name: str, path: Path, progress: Progress | None, wanted: str | None) -> None:
    source = hub_file(name)
    offered, size = offered_by_hub(source)
    if not offered or size is None:
        raise HubError(tr("it did not say which size and sha256 the file has"))
    if wanted and offered != wanted:
        raise LabError(
            tr(
                "{name} has the sha256 {offered} now, not {wanted}, which its judge asks for.",
                name=name,
                offered=offered,
                wanted=wanted,
            )
        )
    check_gguf(first_bytes(source, GGUF_HEAD.size), name, size)
    check_space(name, path.parent, size)
    report = reporter(progress, 0, size, f"Hugging Face ({source.repository})")
    report(0)
    part = path.with_suffix(".hub")
    fetch_from_hub(source, part, size=size, sha256=offered, report=report)
    _hash_file(path).write_text(offered, encoding="ascii")
    part.replace(path)


def check_gguf(head: bytes, name: str, size: int) -> None:
    """Raises LabError where a file of ``size`` bytes that begins with ``head`` is no whole GGUF file."""
    if head[:4] != b"GGUF":
        raise LabError(
            tr(
                "{name} is no GGUF file (it does not begin with “GGUF”). Give a GGUF file; other formats have to "
                "be converted first.",
                name=name,
            )
        )
    _, _, tensors, entries = GGUF_HEAD.unpack(head.ljust(GGUF_HEAD.size, b"\0")[: GGUF_HEAD.size])
    # An entry takes at least 12 bytes, the description of a tensor 24.
    if not tensors or not entries or size < GGUF_HEAD.size + 24 * tensors + 12 * entries:
        raise LabError(
            tr(
                "{name} is cut short: it has {size:,} bytes and says that it holds {tensors:,} tensors. Fetch it "
                "again.",
                name=name,
                size=size,
                tensors=tensors,
            )
        )
