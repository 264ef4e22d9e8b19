"""How a judge is asked, one object each: units, orderings, prompt, reading of replies.

The plan goes through these without knowing which is which. A new one is a file here and a line
in ``PROTOCOLS``, and a word in ``model.Axis``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.model import Axis
from rubriclab.study.protocols.base import Prompt, Protocol, Unit
from rubriclab.study.protocols.batch import Batch
from rubriclab.study.protocols.criteria import Criteria
from rubriclab.study.protocols.listwise import Listwise
from rubriclab.study.protocols.options import Options
from rubriclab.study.protocols.pairwise import Pairwise

__all__ = ["PROTOCOLS", "Prompt", "Protocol", "Unit"]

PROTOCOLS: Mapping[Axis, Protocol] = {
    protocol.axis: protocol for protocol in (Options(), Criteria(), Pairwise(), Listwise(), Batch())
}
