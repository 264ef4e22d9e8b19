"""DeepEval: a judge card as a metric, for ``evaluate``, ``assert_test`` and ``deepeval test run``.

    from rubriclab.apply.adapters.deepeval import CardMetric
    assert_test(LLMTestCase(input=…, actual_output=…), [CardMetric("judge.card.json", base_url=…, threshold=0.5)])

DeepEval's scores lie between 0 and 1: the lowest score of the card's scale is 0, its highest 1; ``reason`` has
the score on the card's own scale with its interval over orders, and the verbose logs every prompt and reply.
A case without a judgment raises ``Unjudged``, DeepEval's way to an error: it has no score and is not passed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from rubriclab.apply import Judged, load
from rubriclab.apply.adapters.shared import RECORD, checked, item_of, tokens, verdict
from rubriclab.model import LabError

MakeItem = Callable[[LLMTestCase], Mapping[str, Any]]


class Unjudged(LabError):
    """The judge gave no score for a test case; the message says why."""


class CardMetric(BaseMetric):
    """One judge card, one number a case; ``score_breakdown`` has each criterion's where all are scored in one call.

    ``card``: its path. ``threshold``: from 0 to 1, as DeepEval's; ``item``: what of the item differs from
    ``item_from``; the others as of ``load`` (``served``: the judge's name at the server, where it is another).
    Raises CardError: the card, the address or the key cannot be used.
    """

    score: float | None
    score_breakdown: dict[str, float | None] | None
    reason: str | None
    success: bool | None
    error: str | None
    verbose_logs: str | None

    def __init__(
        self,
        card: str,
        *,
        threshold: float = 0.5,
        base_url: str | None = None,
        key_env: str | None = None,
        served: str | None = None,
        cure: str | None = None,
        criterion: str | None = None,
        value: str = "score",
        item: MakeItem | None = None,
        name: str | None = None,
        client: Any = None,
        async_mode: bool = True,
        verbose_mode: bool = False,
    ) -> None:
        # DeepEval makes copies of a metric from what its instance has under the names of these arguments.
        self.card, self.base_url, self.key_env, self.served, self.cure = card, base_url, key_env, served, cure
        self.criterion, self.value, self.item, self.client = criterion, value, item, client
        self.name = name or criterion or "Judge card"
        self.threshold, self.async_mode, self.verbose_mode = threshold, async_mode, verbose_mode
        self.strict_mode, self.include_reason = False, True
        self.judge = load(card, client=client, base_url=base_url, key_env=key_env, model=served, cure=cure)
        checked(self.judge, value=value, criterion=criterion)
        self.evaluation_model = self.judge.card.judge.name
        self.raw_score: float | None = None

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """From 0 to 1. Raises Unjudged, and ItemError for a case that cannot be asked about."""
        about = self._begun(test_case)
        return self._ended(about, self.judge.score(about))

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The same, the calls about a case side by side."""
        about = self._begun(test_case)
        return self._ended(about, await self.judge.ascore(about))

    def is_successful(self) -> bool:
        """Whether there is a score that reaches the threshold."""
        self.success = self.error is None and self.score is not None and self.score >= self.threshold
        return bool(self.success)

    def item_from(self, test_case: LLMTestCase) -> dict[str, Any]:
        """Input, actual output, expected output (see ``shared.item_of``); metadata as columns."""
        return item_of(
            self.judge.card,
            instruction=test_case.input or "",
            response=test_case.actual_output or "",
            target=test_case.expected_output or "",
            columns=getattr(test_case, "metadata", None) or getattr(test_case, "additional_metadata", None),
            criterion=self.criterion,
        )

    @property
    def __name__(self) -> str:
        return self.name

    def _begun(self, test_case: LLMTestCase) -> dict[str, Any]:
        """Nothing of the case before stays; the item of this one."""
        self.score = self.raw_score = self.reason = self.error = self.success = None
        self.score_breakdown, self.verbose_logs = None, None
        about = self.item_from(test_case)
        return about if self.item is None else about | dict(self.item(test_case))

    def _ended(self, about: Mapping[str, Any], judged: Judged) -> float:
        told = verdict(self.judge, about, judged, value=self.value, criterion=self.criterion)
        self.verbose_logs = f"{told.words}\n{RECORD}: {json.dumps(told.record, ensure_ascii=False)}"
        self.score_breakdown = dict(told.criteria) or None
        self.reason = told.words
        self.input_tokens, self.output_tokens = tokens(told.record)
        if told.share is None:
            self.error = told.why
            self.success = False
            raise Unjudged(told.why)
        self.raw_score, self.score = told.score, told.share
        self.is_successful()
        return told.share
