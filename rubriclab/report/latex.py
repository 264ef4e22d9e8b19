"""Text of unknown origin as LaTeX that prints it and does nothing else."""

from __future__ import annotations

import re
import unicodedata

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "`": r"\textasciigrave{}",
    "'": "'",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"\textperiodcentered{}",
    "×": r"\ensuremath{\times}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "≥": r"\ensuremath{\ge}",
    "≤": r"\ensuremath{\le}",
    "→": r"\ensuremath{\to}",
    "Δ": r"\ensuremath{\Delta}",
    "ε": r"\ensuremath{\varepsilon}",
    "²": r"\textsuperscript{2}",
}
LAST_LATIN, NOT_SET_UP = 0x17F, "ĦħĸĿŀŉŦŧſ"
"""Letters up to here are in the fonts that pdfLaTeX has of itself, but for these (tried)."""


def latex(text: str, *, ends: bool = False) -> str:
    """``text`` as LaTeX: no sign of it commands anything, and every sign of it prints. ``ends``: white
    space at its ends is kept, of a part of a sentence.

    Letters that pdfLaTeX has no font for (scripts other than Latin, pictures) are written as their
    code points, as U+4E2D: a document of names from anywhere compiles.
    """
    flat = " ".join(text.split())
    if ends:
        flat = f"{' ' * text[:1].isspace()}{flat}{' ' * (text[-1:].isspace() and bool(flat))}"
    out = []
    for sign in unicodedata.normalize("NFC", flat):
        if sign in _SIGNS:
            out.append(_SIGNS[sign])
        elif sign.isprintable() and (
            ord(sign) < 0x7F or (0xA1 <= ord(sign) <= LAST_LATIN and sign.isalpha() and sign not in NOT_SET_UP)
        ):
            out.append(sign)
        else:
            out.append(f"U+{ord(sign):04X}")
    return "".join(out)


def markdown(text: str) -> str:
    """``text`` as Markdown that prints it, inside a line: no markup, link, HTML, formula or citation in it."""
    flat = "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
    marked = re.sub(r"[\\`*_{}\[\]<>#|~$@^&!]", r"\\\g<0>", flat)
    return re.sub(r"(?i)(:)(?=//)|(?<=\bwww)(\.)", r"\\\g<0>", marked)  # what some renderers make links of
