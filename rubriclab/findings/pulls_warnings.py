"""What a reader of “What pulls?” must know before believing it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.pulls_reads import ArmReads
from rubriclab.model.language import tr
from rubriclab.model.wording import listed, many
from rubriclab.stats.screening import Screened


def pulls_warnings(found: ArmReads, order: Screened, unread: int, calls: int) -> Iterator[str]:
    """``unread`` of all ``calls`` gave no score."""
    if unread:
        worst = int(np.argmax(found.unread))
        most = (
            tr("; most under {changes}", changes=", ".join(found.made[worst]) or tr("the rubric as it is"))
            if found.unread[worst]
            else ""
        )
        yield tr("{replies} of {calls:,} gave no score{most}.", replies=many(unread, "reply"), calls=calls, most=most)
    if found.silent:
        yield tr(
            "{more_arms} of changes together left out: replies there gave no score, or no token probabilities.",
            more_arms=many(found.silent, "more arm"),
        )
    if order.spare < 4:
        yield tr(
            "{spare_arms}: too few to see whether changes add up, so that what two of them do only together "
            "may pass for the effect of a third.",
            spare_arms=many(order.spare, "spare arm"),
        )
    if found.spread is None:
        yield tr(
            "No order was asked twice, so what the order does to single items is not told from the judge's own noise."
        )
    if lost := [found.keys[k] for k in np.flatnonzero(~np.isfinite(order.estimate))]:
        yield tr("Not told apart from the other changes: {lost}.", lost=listed(lost))
        if found.unanswered:
            yield tr(
                "What the judge does not answer under took too many arms along; ask again with the others alone "
                "({keys}).",
                keys=", ".join(found.keys),
            )
    if found.outcome == "score" and found.some_expected:
        yield tr("Token probabilities were given in some arms only, so that all are read by the scores.")
