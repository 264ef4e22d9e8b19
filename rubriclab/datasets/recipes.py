"""Public data sets as recipes: where each comes from, and how its files become items.

Nothing of these data sets comes with the lab. A recipe downloads its files from the public
place they are published at (checked by hash, kept in a cache), or reads files the user has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rubriclab.datasets import fetching
from rubriclab.datasets.fetching import Progress, PublicFile
from rubriclab.datasets.limits import read_file, reading
from rubriclab.datasets.published import resource
from rubriclab.datasets.recipe_readers import READERS
from rubriclab.datasets.tables import read_table
from rubriclab.model import DataError, Dataset
from rubriclab.model.language import tr


@dataclass(frozen=True, slots=True)
class Recipe:
    """A public data set: ``reader`` names who makes it from its files' tables, in any order.

    ``gold`` names columns that may stand in for human ratings; they are another model's
    scores, so they are left out unless asked for.
    """

    key: str
    title: str
    about: str
    source: str
    licence: str
    files: tuple[PublicFile, ...]
    reader: str
    gold: tuple[str, ...] = ()

    @property
    def downloadable(self) -> bool:
        return all(file.url is not None for file in self.files)


def recipe(key: str) -> Recipe:
    """The recipe of that key. Raises DataError naming the known ones."""
    if key not in RECIPES:
        raise DataError(tr("There is no recipe “{key}”. Recipes: {known}.", key=key, known=", ".join(RECIPES)))
    return RECIPES[key]


def load_recipe(
    key: str,
    *,
    files: Sequence[Path] | None = None,
    gold: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """The data set: from ``files`` the user has, else downloaded into ``cache``.

    Raises DataError for a file that cannot be had or has another format than expected.
    """
    chosen = recipe(key)
    paths = files or download(chosen, cache=cache, progress=progress)
    uploads = [(path.name, read_file(path)) for path in paths]
    return read_files(chosen, uploads, gold=gold)


def read_files(chosen: Recipe, uploads: Sequence[tuple[str, bytes]], *, gold: str | None = None) -> Dataset:
    """The data set from (name, content) pairs, in any order; gzip is fine.

    ``gold`` is one of ``chosen.gold``. Raises DataError where the files are not in the
    format that the recipe knows, naming the file and what is missing.
    """
    if gold is not None and gold not in chosen.gold:
        raise DataError(
            tr(
                "{title} has no scores “{gold}” to take as gold; it has {known}.",
                title=chosen.title,
                gold=gold,
                known=", ".join(chosen.gold),
            )
            if chosen.gold
            else tr("{title} has no scores “{gold}” to take as gold.", title=chosen.title, gold=gold)
        )
    frames = [read_table(name, content, limit_mb=None) for name, content in uploads]
    names = ", ".join(name for name, _ in uploads)
    with reading(names, tr("is not in the format of {title}", title=chosen.title)):
        dataset = READERS[chosen.reader](chosen.title, frames, gold)
    extra = f" {dataset.origin}" if dataset.origin.startswith("(") else ""
    return replace(dataset, origin=f"recipe {chosen.key}: {names}{extra}")


def cache_folder() -> Path:
    """Where the files of recipes are kept."""
    return fetching.cache_folder() / "recipes"


def download(chosen: Recipe, *, cache: Path | None = None, progress: Progress | None = None) -> tuple[Path, ...]:
    """The recipe's files, fetched where the cache has none, checked by hash (``fetching.fetch``).

    Raises DataError for a file without a public address, a fault of the network, or a hash that
    is not the known one.
    """
    folder = (cache or cache_folder()) / chosen.key
    return tuple(
        fetching.fetch(file, folder / file.name, title=chosen.title, source=chosen.source, progress=progress)
        for file in chosen.files
    )


def _recipes() -> dict[str, Recipe]:
    """What recipes.toml says, checked by the names of its keys."""
    known = tomllib.loads(resource("recipes.toml"))
    return {
        key: Recipe(
            key,
            **{
                **value,
                "files": tuple(PublicFile(**file) for file in value["files"]),
                "gold": tuple(value.get("gold", ())),
            },
        )
        for key, value in known.items()
    }


RECIPES: Mapping[str, Recipe] = _recipes()
"""Every recipe by its key."""
