"""The definitions: found by words, the one asked for first, the others by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr
from rubriclab.report.definitions import TERMS, TOPICS, WHERE, Term, formula_said
from rubriclab.report.references import REFERENCES

SYMBOLS = msg(
    "In the formulas n is the number of score options (and so of positions), p a position, s a "
    "score, N the number of readable judgments, m the number of items (or texts), K the number of "
    "reads an item gets."
)


def matching(words: str) -> tuple[Term, ...]:
    """The terms that have every one of the ``words``, those with a hit in the name first."""
    wanted = words.casefold().split()
    hits = [term for term in TERMS if all(word in _text(term) for word in wanted)]
    named = [t for t in hits if all(word in f"{t.name} {tr(t.name)} {t.key}".casefold() for word in wanted)]
    return (*named, *(term for term in hits if term not in named))


def asked_for(key: str | None) -> Term | None:
    """The term that a link names, if there is one."""
    return next((term for term in TERMS if term.key == key), None)


def asked(term: Term) -> None:
    """The term a link led to: alone in a frame, above all the others."""
    with st.container(border=True, key="definitions-asked"):
        st.caption(tr("{topic} · the definition you asked for", topic=ui.plain(tr(term.topic))))
        _entry(term, anchor=False)


def topic_of(term: Term | None) -> str:
    """The topic shown: the one chosen, at first that of the term a link led to."""
    return ui.choose(
        tr("Topic"),
        list(TOPICS),
        key="definitions-topic",
        address="topic",
        default=term.topic if term is not None else WHERE,
        name=tr,
        segments=True,
    )


def of_topic(topic: str, *, but: Term | None = None) -> None:
    """All terms of one topic, ``but`` the one that stands above them already."""
    st.header(tr(topic), anchor=False, divider="gray")
    listed([term for term in TERMS if term.topic == topic and term is not but])


def references() -> None:
    """The works that the sources name."""
    with st.expander(tr("The papers")):
        st.markdown("\n".join(f"- **{ui.plain(one.cited[0])}** {ui.plain(one.full)}" for one in REFERENCES.values()))


def listed(terms: Sequence[Term]) -> None:
    for start in range(0, len(terms), 2):
        row = terms[start : start + 2]
        for place, term in zip(st.columns(2, gap="large"), row, strict=False):
            with place:
                _entry(term, anchor=term.key)


def _entry(term: Term, *, anchor: str | Literal[False]) -> None:
    st.subheader(ui.plain(tr(term.name)), anchor=anchor)
    st.markdown(f"**{ui.plain(tr(term.sentence))}**")
    st.markdown(ui.plain(tr(term.definition)))
    if term.formula:
        st.latex(formula_said(term.formula))
    st.caption(tr("Source: {source}", source=ui.plain(tr(term.source))))


def _text(term: Term) -> str:
    """All that is said of a term, in English and as the reader sees it: either is looked for."""
    parts = (term.key, term.name, term.sentence, term.definition, term.source, term.topic)
    return " ".join((*parts, *map(tr, parts[1:]))).casefold()
