"""Three or more candidates' answers to one prompt a call; the candidates change places."""

from __future__ import annotations

from typing import ClassVar

from rubriclab.model import Axis, Design
from rubriclab.model.language import msg
from rubriclab.study.protocols.pairwise import Pairwise


class Listwise(Pairwise):
    """As with two candidates, but as many as the design's lists are long."""

    axis: ClassVar[Axis] = "listwise"
    title = msg("Three or more answers")
    about = msg("Which is best? They change places.")
    settings = Pairwise.settings | {"list_size"}

    def suits(self, candidates: int, compared: frozenset[int]) -> bool:
        return compared != {2} if compared else candidates >= 3

    def candidates(self, design: Design) -> int:
        return design.list_size
