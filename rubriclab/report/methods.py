"""How the numbers of a report were worked out: the definitions that it needs, with their sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby

from rubriclab.report.definitions import TERMS, Term
from rubriclab.report.references import named_in

_ALWAYS = ("bias", "ordering", "strategy", "arm", "read", "interval", "holm")
_BY_AXIS = {
    "options": ("noise_floor", "visible", "v_noise", "scores_given"),
    "criteria": ("criteria_read",),
    "pairwise": (),
    "listwise": (),
    "batch": ("batch_read",),
}


def method_terms(axes: Iterable[str]) -> set[str]:
    """Terms that every report of runs on these axes needs, whatever else it shows."""
    return set(_ALWAYS).union(*(_BY_AXIS[axis] for axis in axes))


def by_topic(keys: Collection[str]) -> list[tuple[str, list[Term]]]:
    """The terms of these keys by topic, both in the glossary's order."""
    wanted = [term for term in TERMS if term.key in keys]
    return [(topic, list(terms)) for topic, terms in groupby(wanted, key=lambda term: term.topic)]


def references(keys: Collection[str]) -> list[str]:
    """The works that the definitions name as their sources."""
    sources = " ".join(term.source for term in TERMS if term.key in keys)
    return [f"{one.cited[0]}: {one.full}" for one in named_in(sources)]
