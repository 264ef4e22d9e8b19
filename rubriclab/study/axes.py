"""The one list of what a call may ask about: a value of ``[design] reorder`` in, its protocol out."""

from __future__ import annotations

from rubriclab.model.judgment import Reorder
from rubriclab.study.choices import ListsProtocol, PairsProtocol
from rubriclab.study.protocols import BareProtocol, CriteriaProtocol, OptionsProtocol, Protocol
from rubriclab.study.responses import ResponsesProtocol

PROTOCOLS: dict[Reorder, Protocol] = {
    "options": OptionsProtocol(),
    "criteria": CriteriaProtocol(),
    "responses": ResponsesProtocol(),
    "pairs": PairsProtocol(),
    "lists": ListsProtocol(),
    "bare": BareProtocol(),
}
