"""From a logged prompt and its reply to the judgment: which options or candidates stood where, what was chosen.

One core for every log that keeps the judge's words. Which of a prompt's lists is the one that changes places
is told from many prompts at once: entries that come again, in other orders, are options; texts under labels
that come again are candidates. So the first LEARNT exchanges are held until it is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from rubriclab.datasets.logs.exchange import NO_PROMPT, NO_REPLY, Exchange, Messages
from rubriclab.datasets.logs.forms import SURE, Form, forms_of
from rubriclab.datasets.logs.listed import FormKey, Listed, lists_of
from rubriclab.datasets.logs.log import LONGEST_ID, Logged, Records, Unread
from rubriclab.datasets.logs.replies import place_of
from rubriclab.datasets.logs.verdicts import names_by_text
from rubriclab.model import Axis
from rubriclab.model.language import msg

LEARNT = 300
"""Exchanges from which it is learnt what a log's prompts have in common."""
MAX_PROMPT = 300_000
NO_LIST = msg("its prompt holds no list of score options or candidates")
UNSURE = msg("little says which list in its prompt is the one of options or candidates")
SEVERAL = msg("its prompt holds several lists of options alike: which of them the reply answers is not told")
NO_SCORES = msg("it cannot be told which of the options in its prompt is which score")
TOO_LONG = msg("its prompt has more than 300,000 signs")
SAME = msg("two candidates in its prompt have the same text")
ORDER_FROM = msg("the logged prompt")


def judgments(exchanges: Iterable[Exchange | Logged | Unread]) -> Records:
    """Each exchange as a judgment, or why it gives none; as many as there are exchanges. A judgment stays one."""
    rest = iter(exchanges)
    first = list(islice(rest, LEARNT))
    reader = ListReader([one.messages for one in first if isinstance(one, Exchange) and _whole(one) is None])
    for one in chain(first, rest):
        yield reader.judgment(one) if isinstance(one, Exchange) else one


def _whole(exchange: Exchange) -> str | None:
    """Why an exchange cannot be read, None where nothing is missing."""
    if (why := no_prompt(exchange.messages)) is not None:
        return why
    return None if exchange.reply.strip() or exchange.verdict else NO_REPLY


def no_prompt(messages: Messages) -> str | None:
    """Why there is no prompt to look into, None where there is one."""
    if not messages:
        return NO_PROMPT
    return TOO_LONG if sum(len(text) for _, text in messages) > MAX_PROMPT else None


class ListReader:
    """What was learnt of a log's prompts, and the reading of the next one by it."""

    def __init__(self, sample: Sequence[Messages]) -> None:
        self._forms = forms_of(sample)
        self._last: FormKey | None = None

    def judgment(self, exchange: Exchange) -> Logged | Unread:
        if (why := _whole(exchange)) is not None:
            return Unread(exchange.line, why)
        return self.shown(exchange)

    def shown(self, exchange: Exchange) -> Logged | Unread:
        """What a prompt shows, and what the reply says where there is one."""
        texts = tuple(text for _, text in exchange.messages)
        form, found = self.listed(exchange.messages)
        if form is None or found is None:
            return Unread(exchange.line, NO_LIST if found is None else UNSURE)
        if form.rivalled:
            return Unread(exchange.line, SEVERAL)
        if form.key.kind == "options":
            return _options(exchange, form, found, texts)
        return _candidates(exchange, form, found, texts)

    def listed(self, messages: Messages) -> tuple[Form | None, Listed | None]:
        """The prompt's list, by the form of the last one where it fits, else by looking for all lists."""
        texts = tuple(text for _, text in messages)
        likely = [self._forms[self._last]] if self._last is not None else []
        for form in (*likely, *(one for key, one in self._forms.items() if key != self._last)):
            found = form.quick(texts)
            if found is not None:
                self._last = form.key
                return form, found
        lists = lists_of(messages)
        ranked = [(self._forms[one.key], one) for one in lists if one.key in self._forms]
        if ranked:
            form, one = max(ranked, key=lambda pair: pair[0].rank)
            return form, form.fitted(one, texts[one.key.message])
        alone = max(lists, key=lambda one: one.weight, default=None)
        if alone is None or alone.weight < SURE:
            return None, alone
        return Form(alone.key), alone


# ---------------------------------------------------------------- judgments


def _options(exchange: Exchange, form: Form, found: Listed, texts: Sequence[str]) -> Logged | Unread:
    scores = form.scores(found)
    if scores is None:
        return Unread(exchange.line, NO_SCORES)
    return _logged(exchange, form, found, texts, "options", tuple(map(str, scores)))


def _candidates(exchange: Exchange, form: Form, found: Listed, texts: Sequence[str]) -> Logged | Unread:
    answers = found.texts
    if len(set(answers)) < len(answers):
        return Unread(exchange.line, SAME)
    axis: Axis = "pairwise" if len(answers) == 2 else "listwise"
    return _logged(exchange, form, found, texts, axis, names_by_text(*answers), answers)


def _logged(
    exchange: Exchange,
    form: Form,
    found: Listed,
    texts: Sequence[str],
    axis: Axis,
    shown: tuple[str, ...],
    answers: tuple[str, ...] = (),
) -> Logged:
    blank = found.blanked(texts)
    own = form.own_words(blank)
    return Logged(
        axis=axis,
        judge=exchange.judge or "judge",
        line=exchange.line,
        question=_item(blank, own, answers),
        shown=shown,
        chosen=_chosen(exchange, form, found),
        task=exchange.task,
        dataset=exchange.dataset,
        prompt=exchange.prompt,
        reply=exchange.reply,
        instruction=own,
        responses=answers,
        asked=exchange.asked,
        order_from=ORDER_FROM,
    )


def _chosen(exchange: Exchange, form: Form, found: Listed) -> int | None:
    for labels in found.answers:
        for text in (exchange.reply, exchange.verdict):
            place = place_of(text, labels, rule=form.rule, ties=form.ties) if text else None
            if place is not None:
                return place
    return None


def _item(blank: str, own: str, answers: Sequence[str]) -> str:
    """What was judged, the same in every order: its own words, and a hash of the prompt without its list."""
    whole = "\0".join([" ".join(blank.split()), *sorted(answers)])
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{' '.join(own.split())[: LONGEST_ID - 10]} {digest}".strip()
