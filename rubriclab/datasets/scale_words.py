"""Words of rating scales, in the languages that prompts are most often written in."""

from __future__ import annotations

import re
from functools import lru_cache

UNIT = (
    r"points?|pts?\.?|stars?|marks?|Punkte?n?|Sterne?|Noten?|étoiles?|puntos?|punti|pontos?|estrellas?|"
    r"balls?|баллов|балла|балл|分|点|점"
)
"""What a score is counted in."""

_SCALES = """
unacceptable|terrible|awful|horrible|worst|useless|fail|none|never|inakzeptabel|ungenügend|nutzlos|nie
very poor|very bad|very low|strongly disagree|sehr schlecht|mangelhaft|sehr niedrig|très mauvais|muy malo|pessimo
poor|bad|weak|low|wrong|incorrect|disagree|no|rarely|schlecht|schwach|niedrig|falsch|mauvais|malo|cattivo|ruim
insufficient|inadequate|below average|limited|partial|partially correct|ungenau|unzureichend|insuffisant|insuficiente
fair|average|mediocre|acceptable|adequate|moderate|medium|neutral|okay|ok|sometimes|mittel|mäßig|ausreichend|passable
satisfactory|sufficient|above average|befriedigend|genügend|assez bien|aceptable|sufficiente
good|high|strong|correct|right|agree|yes|often|gut|hoch|richtig|bien|bon|bueno|buono|bom
very good|very high|strongly agree|sehr gut|sehr hoch|très bien|très bon|muy bueno|ottimo|muito bom
excellent|outstanding|exceptional|perfect|best|always|ausgezeichnet|hervorragend|exzellent|excelente|eccellente|parfait
"""
"""From the worst to the best, those of about one rank in a line."""
_RANKS = {word: rank for rank, row in enumerate(_SCALES.split("\n")) for word in row.split("|") if word}
_ANY = re.compile(
    r"(?<!\w)(" + "|".join(sorted(map(re.escape, _RANKS), key=len, reverse=True)) + r")(?!\w)", re.IGNORECASE
)
_NOT = re.compile(r"(?:\b(?:not|no|n't|without|nicht|kein\w*|pas|non|sin)\s+(?:\w+\s+)?)$", re.IGNORECASE)


def rank_of(label: str) -> int | None:
    """The rank of a word of a scale, higher is better; None for any other word."""
    return _RANKS.get(label.strip().casefold())


def quality(text: str) -> float | None:
    """How good a description says its option is, by the first scale words in it; None where it has none."""
    return _quality(text[:400])


@lru_cache(maxsize=512)
def _quality(text: str) -> float | None:
    """Kept, since the options of a rubric come again in every prompt."""
    found = []
    for match in _ANY.finditer(text):
        rank = _RANKS[match[1].casefold()]
        found.append(float(9 - rank if _NOT.search(text[max(0, match.start() - 20) : match.start()]) else rank))
        if len(found) == 3:
            break
    return sum(found) / len(found) if found else None


def rises(texts: list[str]) -> bool | None:
    """True where descriptions go from worse to better, False the other way, None where neither can be told."""
    known = [(place, value) for place, text in enumerate(texts) if (value := quality(text)) is not None]
    if len(known) < 2:
        return None
    pairs = [(b - a) for i, (_, a) in enumerate(known) for _, b in known[i + 1 :] if a != b]
    up = sum(step > 0 for step in pairs)
    if not pairs or 0 < up < len(pairs):
        return None
    return up == len(pairs)
