"""What a run was made with: versions, hashes, seed, revision. Enough to make it again."""

from __future__ import annotations

import hashlib
import io
import platform
import subprocess
import sys
from importlib import metadata
from typing import IO, Any

from rubriclab import __version__
from rubriclab.datasets.rubrics import rubric_to_value
from rubriclab.model.places import HOME, INSTALLED
from rubriclab.study.plan import Plan
from rubriclab.study.prompts.files import template_to_value

PACKAGES = (
    "streamlit",
    "plotly",
    "openai",
    "aiohttp",
    "pandas",
    "numpy",
    "scipy",
    "duckdb",
    "statsmodels",
    "xllamacpp",
    "vllm",
    "ray",
)


def provenance(plan: Plan) -> dict[str, Any]:
    """Plain JSON values; no secret is read for it. ``judges`` name model and endpoint."""
    study = plan.study
    return {
        "rubriclab": __version__,
        "python": sys.version.split()[0],
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": _versions(),
        "revision": _revision(),
        "dataset": study.dataset.id,
        "rubric": study.rubric.id if study.rubric else None,
        "study": study.id,
        "seed": study.design.seed,
        "judges": [{"name": judge.name, **judge.identity()} for judge in study.judges],
        "notes": list(plan.notes),
        **({"prompts": [{"id": p.id, **template_to_value(p)} for p in study.prompts]} if study.prompts else {}),
        **({"rubrics": [{"id": one.id, **rubric_to_value(one)} for one in study.rubrics]} if study.rubrics else {}),
    }


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _revision() -> str | None:
    """The git revision of the lab itself, with a mark where files were changed; None without git.

    An installed lab has none: a repository around it is somebody else's.
    """
    if INSTALLED:
        return None
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=HOME,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def import_provenance(name: str, content: bytes | IO[bytes]) -> dict[str, Any]:
    """Where imported judgments came from: the file's name and hash, and what read it."""
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    return {
        "rubriclab": __version__,
        "python": sys.version.split()[0],
        "packages": _versions(),
        "file": name,
        "sha256": hashlib.file_digest(file, "sha256").hexdigest(),  # type: ignore[arg-type]
    }
