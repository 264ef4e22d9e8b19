"""The catalogue of each other language: whole, up to date, and made of the same pieces as the English texts."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from string import Formatter

import pytest
from streamlit.string_util import clean_text

from rubriclab.app.ui.language import Awaited
from rubriclab.model.language import (
    LANGUAGES,
    SOURCE,
    Counted,
    catalogue,
    figure,
    language,
    msg,
    separators,
    speaking,
    tr,
)
from rubriclab.model.wording import THINGS, interval, listed, many, number, p_value
from rubriclab.stats.inference import Note
from tests.languages.catalogue import forms_of, path_of, read, renewed

OTHERS = [code for code in LANGUAGES if code != SOURCE]
MARKS = re.compile(r"\*\*|`[^`]*`|:material/\w+:|:[a-z-]+\[|\]\([^)]*\)|\n|<[a-z/][^>]*>")
"""What Markdown, HTML and Streamlit read, whatever the language."""
NUMERIC = re.compile(r"[+,.]?\d*[,.]?\d*[deEfgGn%]?|,")


def texts(code: str) -> list[tuple[str, str]]:
    """Pairs of an English text and its translation; of nouns both forms."""
    found = []
    for one in read(code):
        if one.id:
            ids = one.id if isinstance(one.id, tuple) else (one.id,)
            found += list(zip(ids, forms_of(one), strict=True))
    return found


def fields(text: str) -> list[tuple[str, str]]:
    return [(name, form or "") for _, name, form, _ in Formatter().parse(text) if name is not None]


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_has_its_translation_and_no_translation_is_left_over(code: str) -> None:
    assert path_of(code).read_bytes() == renewed(code), "run: python -m tests.languages.catalogue"
    missing = [english for english, said in texts(code) if not said]
    assert not missing, f"{len(missing)} texts are not translated, the first: {missing[:3]}"


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_has_the_values_of_its_text(code: str) -> None:
    """No value is lost, none asked for that is not given; only counts are bent, and only by known forms."""
    wrong = []
    for english, said in texts(code):
        try:
            asked, given = fields(said), dict(fields(english))
        except ValueError:
            if fields_or_none(english) is not None:
                wrong.append((english, said, "no format"))
            continue
        if {name for name, _ in asked} != set(given):
            wrong.append((english, said, "other values"))
        bent = [form for name, form in asked if form != given.get(name, form) and form != "dat" and "|" not in form]
        if bent and not all(NUMERIC.fullmatch(form) for form in bent):
            wrong.append((english, said, f"forms {bent}"))
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"


def fields_or_none(text: str) -> list[tuple[str, str]] | None:
    try:
        return fields(text)
    except ValueError:
        return None


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_has_the_marks_and_the_edges_of_its_text(code: str) -> None:
    wrong = []
    for english, said in texts(code):
        marks = Counter(MARKS.findall(english)), Counter(MARKS.findall(said))
        edges = [(t[: len(t) - len(t.lstrip())], t[len(t.rstrip()) :]) for t in (english, said)]
        if marks[0] != marks[1] or edges[0] != edges[1]:
            wrong.append((english, said))
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"


@pytest.mark.parametrize("code", OTHERS)
def test_whatever_is_counted_has_a_noun_in_every_language(code: str) -> None:
    assert set(THINGS) <= {one for one, said in catalogue(code).items() if isinstance(said, tuple)}


# ---------------------------------------------------------------- how a language speaks


def test_english_is_spoken_where_nobody_chose() -> None:
    assert language() == SOURCE
    assert tr("{n:,} of {share:.1%}", n=1200, share=0.123) == "1,200 of 12.3%"
    assert tr("braces {stay}") == "braces {stay}"


def test_german_writes_numbers_its_way() -> None:
    with speaking("de"):
        assert number(1234.5, ",.2f") == "1.234,50"
        assert number(0.54, ".0%") == "54\u00a0%"
        assert interval((-0.1, 0.25), "+.2f", brackets=True) == "[-0,10; +0,25]"
        assert interval((0.1, 0.25), ".2f") == "0,10 bis 0,25"
        assert p_value(0.0123) == "p = 0,012"
        assert p_value(0.0001) == "p < 0,001"
        assert tr("{n:,} of {share:.1%}", n=1200, share=0.123) == "1.200 of 12,3\u00a0%"
        assert tr("{flag} {word}", flag=True, word="1,5") == "True 1,5", "texts and truths are no numbers"
        assert separators() == ",."
        assert listed(["a", "b", "c"]) == "a, b und c"
    assert number(1234.5, ",.2f") == "1,234.50"
    assert separators() == ".,"


def test_a_count_bends() -> None:
    with speaking("de"):
        one, several = many(1, "judgment"), many(2_000, "judgment")
        assert (one, several) == ("1 Urteil", "2.000 Urteile")
        assert f"{one:dat} {several:dat}" == "1 Urteil 2.000 Urteilen"
        assert f"{one:fehlt|fehlen} {several:fehlt|fehlen}" == "fehlt fehlen"
        assert many(3, "item", "are") == "3 Items", "a verb is the catalogue's"
    assert many(3, "item", "are") == "3 items are"
    assert f"{Counted(1, '1 item'):>8}" == "  1 item"


def test_a_language_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(ValueError, match="“xx” is no language of the lab; it speaks en, de"), speaking("xx"):
        pass


def test_what_is_inside_is_said_in_its_language_only() -> None:
    with speaking("de"):
        with speaking(SOURCE):
            assert figure(0.5, ".1f") == "0.5"
        assert figure(0.5, ".1f") == "0,5"
    assert figure(0.5, ".1f") == "0.5"


def test_a_note_with_numbers_is_made_again_in_the_reader_s_language() -> None:
    note = Note.of("V is known to within {reach:.3f} (asked: {target:.3f}).", reach=0.0125, target=0.02)
    assert note == "V is known to within 0.013 (asked: 0.020)."
    assert tr(note) == note
    with speaking("de"):
        assert tr(note) == "V ist auf 0,013 genau bekannt (verlangt: 0,020)."
        assert tr(pickle.loads(pickle.dumps(note))) == tr(note), "as caches and threads hand it on"
        doubled = "p is doubled: two tests, since a position's share never varies."
        both = Note.of(
            "{note} {doubled}", note=Note.of("Only {rank} of {n} directions ever varied.", rank=1, n=2), doubled=doubled
        )
        assert tr(both).startswith("Nur 1 von 2 Richtungen schwankten überhaupt. p ist verdoppelt")


def test_what_a_cache_says_is_said_when_it_works() -> None:
    waiting = Awaited(msg("Reading judgments …"))
    assert f"{waiting!s}" == "Reading judgments …"
    with speaking("de"):
        assert clean_text(waiting) == "Urteile werden gelesen …", "as Streamlit asks for it"
