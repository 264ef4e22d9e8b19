"""The papers and books that methods are from: for readers, and as BibTeX. The list stands in ``references.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from rubriclab.report.latex import latex

_NOT_BIBTEX = ("type", "cited", "eprint")


@dataclass(frozen=True)
class Reference:
    """One work. ``cited``: the names that sources of terms and estimands give it; ``fields``: BibTeX's,
    as plain text, names as “Last, First and Last, First”."""

    key: str
    type: str
    cited: tuple[str, ...]
    fields: Mapping[str, str]

    @property
    def full(self) -> str:
        """For a list that people read: authors, title, where it appeared, year."""
        known = self.fields
        place = " ".join(filter(None, (known.get("journal"), known.get("volume"))))
        place = place or known.get("booktitle") or known.get("publisher") or known.get("institution") or ""
        if not place and "eprint" in known:
            place = f"arXiv {known['eprint']}"
        when = ", ".join(filter(None, (place, known["year"], known.get("note"))))
        stop = "" if known["title"].endswith("?") else "."
        return f"{_people(known['author'])}: {known['title']}{stop} {when}."

    @property
    def bibtex(self) -> str:
        """One entry; the title in braces twice, so that no style takes its capitals away."""
        rows = {name: latex(text).replace("–", "--") for name, text in self.fields.items() if name not in _NOT_BIBTEX}
        rows["title"] = f"{{{rows['title']}}}"
        if "doi" in rows:
            rows["doi"] = self.fields["doi"]
        if number := self.fields.get("eprint"):
            rows |= {"eprint": number, "archiveprefix": "arXiv"}
        body = "".join(f"  {name} = {{{text}}},\n" for name, text in rows.items())
        return f"@{self.type}{{{self.key},\n{body}}}\n"


def _people(authors: str) -> str:
    def short(name: str) -> str:
        last, _, first = name.partition(", ")
        return " ".join([*(f"{part[0]}." for part in first.split()), last])

    return ", ".join(short(name) for name in authors.split(" and "))


def _read() -> Mapping[str, Reference]:
    document = tomllib.loads((files(__package__) / "references.toml").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            key: Reference(
                key,
                entry["type"],
                tuple(entry["cited"]),
                {name: text for name, text in entry.items() if name not in ("type", "cited")},
            )
            for key, entry in document.items()
        }
    )


REFERENCES: Mapping[str, Reference] = _read()
"""By key, those first that the lab is built on, the others by author."""


def named_in(text: str) -> list[Reference]:
    """The works that a source names, in the order of the list."""
    return [one for one in REFERENCES.values() if any(name in text for name in one.cited)]


def bibtex(keys: Collection[str]) -> str:
    """The entries of these keys, in the list's order. Raises KeyError for one that is not in it."""
    for key in keys:
        REFERENCES[key]
    return "\n".join(one.bibtex for key, one in REFERENCES.items() if key in keys)
