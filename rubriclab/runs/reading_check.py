"""Check how a judge's replies are parsed, before a run spends money and while it goes on.

``reading_check`` is a pure function of calls that were asked. Its texts are in
``reading_check.toml``; the command line and the pages show its lines as they are. The run that asks
the first calls and pauses is in ``runner.py``.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, zip_longest
from pathlib import Path
from statistics import median
from typing import Any, Literal
from urllib.parse import urlsplit

from rubriclab.core.fairness import LEAST_FREE_MASS
from rubriclab.judges.served import in_figures, is_public
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Judgment, Outcome, Reply, Status, level_text
from rubriclab.model.text import count, shorten
from rubriclab.runs.forecast import price_of_reply
from rubriclab.runs.prompt_size import (
    FEW,
    UNLIKE,
    PromptSize,
    cut_prompts,
    largest_by_unit,
    sizes_of,
    spread,
)
from rubriclab.runs.reply_line import LONGEST_MARKED, Span, plain, read_part, shown_reply
from rubriclab.store.read import Reader
from rubriclab.study.decisions import packs
from rubriclab.study.own_words import FORMS
from rubriclab.study.plan import Plan

Checking = Literal["off", "stop", "hold"]
"""What a session does with its judges' first replies.

off: nothing. stop: pause if the check stops (the command line never asks back). hold: pause at
warnings too, for judges that cost money (the pages, where somebody can click)."""
Read = Callable[[Call, Reply], Sequence[Outcome]]
"""How a reply is parsed, as ``Plan.parse`` does."""

CHECKED = 8
"""Calls of each judge that are asked before all others. If a third of all replies is lost, 96 of
100 such checks show at least one of them: 1 - (2/3)^8."""
CALLS_A_UNIT = 2
"""Calls about each answer in the check, so that eight calls show four different answers."""
LAST_CALLS, MOST_LOST = 100, 20
"""While a run goes on, a judge pauses with more than MOST_LOST unparsed replies in its LAST_CALLS,
which is more than 20%. The count is absolute: after few calls it takes more than a few bad ones.
With a true share of 10% more than 20 of 100 come in 1 of 1,200 windows."""
LOOK_EVERY = 25
"""Calls between two looks at the prompt tokens while a run goes on. A look goes through LAST_CALLS
prompts, so that each is looked at four times."""

TOKENS_FOR_TEXT, TOKENS_FOR_REASONING = 512, 2_048
"""Values of max_tokens that are advised: for a judge that writes a few sentences, and for one that
reasons."""
SPARE_TOKENS, TOKENS_A_SIGN = 32, 3
"""A reply takes at most TOKENS_A_SIGN tokens per character, and SPARE_TOKENS around it. More tokens
were reasoning."""
REASONING = (
    *(mark for pair in FORMS["reasoning"]["pairs"] for mark in pair),
    FORMS["reasoning"]["channel"] + "analysis",
    "<reasoning>",
)
"""Marks of reasoning in a reply, in small letters, as the reader of replies knows them."""

MOST_NAME, MOST_ERROR, MOST_WHY, MOST_GIVEN = 80, 200, 120, 40
"""Characters of a stranger's text in a line: a model's name, an error in a warning, a reason behind
a reply, and what was parsed."""
NAMES_LISTED = 3
NOTHING = "–"

CHECKS = "reading_checks"
"""Where a run's ``made_with`` keeps its reading checks, by judge: the keys of the ``calls``, what
the server ``adapted``, the kinds of warnings (``warned``) and of reasons for which the run has
``paused``, and the last such ``reason``."""
WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Kinds of judges behind an address."""
HOLDING = frozenset({"unparsed", "partly", "cut", "cut_by_server", "refused", "error"}) | frozenset(
    {"unlike", "tokens", "reasoning"}
)
"""Warnings for which a page waits for a click: the run would lose replies or money. The others are
only shown."""


@dataclass(frozen=True)
class Remark:
    """One thing that the check says. ``kind``: a key of reading_check.toml."""

    kind: str
    text: str


@dataclass(frozen=True)
class CheckedReply:
    """One reply as one line.

    read: the score, or what is preferred.
    shown: the reply, with the part that was parsed between » and «.
    why: the reason why it gave no score.
    """

    read: str
    shown: str
    why: str = ""

    def text(self) -> str:
        line = f"{self.read:>4}  {self.shown}"
        return f"{line}  ({self.why})" if self.why else line


@dataclass(frozen=True)
class ReadingCheck:
    """What a judge's first replies show.

    asked, parsed: replies, and those of them that gave a score.
    stop: why nothing more may be asked as things are; None if more may.
    mass: median probability on labels at the first answer token; None without log-probabilities.
    cut: keys of the calls whose prompts the server cut.
    spent: money.
    """

    judge: str
    asked: int
    parsed: int
    lines: tuple[CheckedReply, ...]
    warnings: tuple[Remark, ...]
    stop: Remark | None
    mass: float | None = None
    cut: frozenset[str] = frozenset()
    spent: float = 0.0

    @property
    def holds(self) -> bool:
        """Return whether replies or money would be lost if the run went on."""
        return self.stop is not None or bool(self._held())

    def _held(self) -> list[str]:
        return [remark.text for remark in self.warnings if remark.kind in HOLDING]

    def title(self) -> str:
        title = _say("check", "title", judge=self.judge, parsed=self.parsed, asked=self.asked)
        if self.spent:
            title += f" · {_say('check', 'spent', money=f'{self.spent:.4g}')}"
        return title

    def remarks(self) -> list[str]:
        """Return the reason to stop, then the warnings.

        A clean check says what it could have shown.
        """
        remarks = [remark.text for remark in self.warnings]
        if self.stop is not None:
            remarks.insert(0, self.stop.text)
        if not remarks and self.asked >= CHECKED:
            remarks.append(_say("check", "clean"))
        return remarks

    def text(self) -> list[str]:
        """Return the whole check, line by line."""
        lines = [self.title(), *(line.text() for line in self.lines)]
        mark = "!" if self.stop or self.warnings else "·"
        lines += [f"{mark} {remark}" for remark in self.remarks()]
        if self.mass is not None:
            lines.append(f"· {_say('check', 'mass', mass=f'{self.mass:.2f}')}")
        return lines

    def reason(self) -> str:
        """Return why the run pauses at this check."""
        if self.stop is not None:
            return " ".join([self.stop.text, *self._held()])
        return " ".join([*self._held(), _say("check", "goes_on")])

    def document(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return {
            "judge": self.judge,
            "asked": self.asked,
            "parsed": self.parsed,
            "replies": [
                {"read": line.read, "reply": line.shown, "why": line.why} for line in self.lines
            ],
            "warnings": [{"kind": remark.kind, "message": remark.text} for remark in self.warnings],
            "stop": self.stop and {"kind": self.stop.kind, "message": self.stop.text},
            "mass": self.mass,
        }


def _say(part: str, kind: str, **values: Any) -> str:
    return str(WORDS[part][kind]).format(**values)


# ---------------------------------------------------------------- which calls


def check_requests(
    plan: Plan, judge: str, number: int = CHECKED, skip: frozenset[str] = frozenset()
) -> list[list[Call]]:
    """Return the requests of a judge that are asked first, with ``number`` calls together.

    There are CALLS_A_UNIT calls about each of the first answers, which come in the plan's order, in
    turn from each data set and axis. About the first answer the same order is asked twice if the
    plan does so, about the others two different ones. For even numbers the calls of a smaller
    ``number`` are the beginning of those of a larger one.

    ``skip``: keys of calls that are not wanted.
    """
    scopes = dict.fromkeys(part.scope for part in plan.parts)
    by_scope = [_units(plan, judge, scope, skip) for scope in scopes]
    in_turn = (unit for turn in zip_longest(*by_scope) for unit in turn if unit is not None)
    wanted = max(1, -(-number // CALLS_A_UNIT))  # rounded up
    units = [_ordered(unit, twice=first == 0) for first, unit in enumerate(islice(in_turn, wanted))]
    # The first calls about all answers, then the others: a request may hold several calls, so that
    # the first few can be all that is needed.
    requests = [request for unit in units for request in unit[:CALLS_A_UNIT]]
    requests += [request for unit in units for request in unit[CALLS_A_UNIT:]]
    chosen: list[list[Call]] = []
    calls = 0
    for request in requests:
        if calls >= number:
            break
        chosen.append(request)
        calls += len(request)
    return chosen


def _units(
    plan: Plan, judge: str, scope: tuple[str, ...], skip: frozenset[str]
) -> Iterator[list[list[Call]]]:
    """Yield the requests about each answer (or text, or comparison) of a data set and axis."""
    for _, calls in groupby(plan.calls(judge, scope), key=lambda call: call.items):
        requests = [request for request in packs(calls, skip) if request]
        if requests:
            yield requests


def _ordered(requests: list[list[Call]], *, twice: bool) -> list[list[Call]]:
    """Return the requests with another one second.

    It has the first one's order again (``twice``), or else another order. If there is none, the
    requests stay as they are.
    """
    first, rest = requests[0], requests[1:]
    for second in rest:
        fits = _same_order(first, second) if twice else second[0].ordering != first[0].ordering
        if fits:
            return [first, second, *(request for request in rest if request is not second)]
    return requests


def _same_order(first: list[Call], second: list[Call]) -> bool:
    if first[0].condition != second[0].condition:
        return False
    return [call.ordering for call in first] == [call.ordering for call in second]


# ---------------------------------------------------------------- the check


def reading_check(
    settings: JudgeSettings,
    asked: Sequence[Judgment],
    read: Read,
    *,
    planned: int,
    adapted: Sequence[str] = (),
) -> ReadingCheck:
    """Return what these calls of one judge show about parsing all others.

    Args:
        read: how a reply is parsed, as ``Plan.parse`` does.
        planned: calls of the judge in the whole run.
        adapted: parts of the request that its server refused, so that they were left out.
    """
    lost = [judgment for judgment in asked if judgment.status != Status.OK]
    masses = _masses(asked)
    stop, cut = cut_context(sizes_of(asked))
    if stop is None and asked and len(lost) == len(asked):
        stop = Remark("unparsed", _say("stop", "unparsed", asked=len(asked)))
    return ReadingCheck(
        judge=settings.name,
        asked=len(asked),
        parsed=len(asked) - len(lost),
        lines=tuple(_line(judgment, read) for judgment in asked),
        warnings=tuple(_warnings(settings, asked, stop, masses, planned, adapted)),
        stop=stop,
        mass=median(masses) if masses else None,
        cut=cut,
        spent=sum(price_of_reply(settings, each.call, each.reply) for each in asked),
    )


def _masses(asked: Sequence[Judgment]) -> list[float]:
    """Return the probability on labels of each judgment that knows it."""
    outcomes = [outcome for judgment in asked for outcome in judgment.outcomes]
    return [outcome.mass for outcome in outcomes if outcome.mass is not None]


def _warnings(
    settings: JudgeSettings,
    asked: Sequence[Judgment],
    stop: Remark | None,
    masses: Sequence[float],
    planned: int,
    adapted: Sequence[str],
) -> Iterator[Remark]:
    """Yield the warnings in the order in which they are shown: lost replies first."""
    lost = sum(judgment.status != Status.OK for judgment in asked)
    if lost and not (stop and stop.kind == "unparsed"):
        yield _warning(
            "unparsed",
            lost=lost,
            asked=len(asked),
            of_run=f"{round(planned * lost / len(asked)):,}",
            planned=f"{planned:,}",
        )
    yield from causes(asked)
    if not (stop and stop.kind == "context"):
        yield from _wrong_counts(sizes_of(asked))
    yield from _served_as(settings, asked)
    yield from _reasoning(settings, asked)
    yield from _scores_seen(asked)
    if lost:
        yield from _constraint_advice(settings, masses)
    if adapted:
        yield _warning("adapted", parts="; ".join(adapted))


def _constraint_advice(settings: JudgeSettings, masses: Sequence[float]) -> Iterator[Remark]:
    """Advise whether to constrain a judge that loses replies.

    A constraint makes every reply readable, also that of a judge which would give no score at all
    and then looks fair. So it is offered only where the judge, left free, mostly gives a label.
    """
    if not settings.about.constraints or settings.constrain != "free" or not masses:
        return
    mass = median(masses)
    kind = "constrain" if mass >= LEAST_FREE_MASS else "guess"
    yield _warning(kind, mass=f"{mass:.2f}")


def too_many_lost(recent: Sequence[Judgment]) -> Remark | None:
    """Return why to pause a judge whose last LAST_CALLS calls lost more than MOST_LOST replies."""
    lost = sum(judgment.status != Status.OK for judgment in recent)
    if lost <= MOST_LOST:
        return None
    parts = [_say("stop", "watch", lost=lost, asked=len(recent))]
    parts += [remark.text for remark in causes(recent)]
    return Remark("unparsed", " ".join(parts))


def spends(settings: JudgeSettings) -> bool:
    """Return whether calls of a judge cost money or leave this machine and its network."""
    if settings.price_input or settings.price_output:
        return True
    if not settings.served:
        return False
    if not settings.addresses:
        return True  # nobody knows where it would ask
    return not all(_near(urlsplit(url).hostname or "") for url in settings.addresses)


def _near(host: str) -> bool:
    """Return whether a host is this machine or one of its network."""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    return in_figures(host) is not None and not is_public(host)


def _warning(kind: str, **values: Any) -> Remark:
    return Remark(kind, _say("warning", kind, **values))


def causes(asked: Sequence[Judgment]) -> list[Remark]:
    """Return why replies gave no score, a sentence for each cause."""
    by_why: dict[str, list[Judgment]] = {}
    for judgment in asked:
        if judgment.status != Status.OK:
            by_why.setdefault(_why_kind(judgment), []).append(judgment)
        elif any(outcome.status != Status.OK for outcome in judgment.outcomes):
            by_why.setdefault("partly", []).append(judgment)
    return [_cause(kind, lost, len(asked)) for kind, lost in by_why.items()]


def _cause(kind: str, lost: Sequence[Judgment], asked: int) -> Remark:
    """Return the sentence for one cause and the judgments that were lost to it."""
    if kind == "unparsed":
        first = lost[0].reply.text
        return _warning("unlike", reply=shorten(plain(first), MOST_NAME))
    last = lost[-1]
    words: dict[str, Any] = {"lost": len(lost), "asked": asked}
    if kind in ("cut", "cut_by_server"):
        words["limit"] = f"{last.call.max_tokens:,}"
        words["tokens"] = last.reply.tokens_out
        words["more"] = f"{_advised_tokens(lost)}"
    if kind == "error":
        words["error"] = _failure(last, MOST_ERROR).rstrip(".")
    return _warning(kind, **words)


def _failure(judgment: Judgment, most: int) -> str:
    """Return the error of a failed call, or how the server ended its reply."""
    return shorten(plain(judgment.reply.error or judgment.outcomes[0].why), most)


def _why_kind(judgment: Judgment) -> str:
    """Return why a reply gave no score: a key of [why]."""
    reply = judgment.reply
    if judgment.status == Status.TRUNCATED:
        # The server's own limit, if it stopped well before ours.
        own = reply.tokens_out is not None and 0 < reply.tokens_out < judgment.call.max_tokens - 1
        return "cut_by_server" if own else "cut"
    kinds = {Status.REFUSED: "refused", Status.ERROR: "error"}
    return kinds.get(judgment.status, "unparsed")


def _advised_tokens(cut: Sequence[Judgment]) -> int:
    """Return the max_tokens that replies which were cut should get."""
    limit = max(judgment.call.max_tokens for judgment in cut)
    reasons = any(_reasoned(judgment) for judgment in cut)
    wanted = TOKENS_FOR_REASONING if reasons else TOKENS_FOR_TEXT
    return wanted if limit < wanted else 2 * limit


def _served_as(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
    """Warn of a served model whose name is not quite the one that was asked for.

    Another model altogether is a fault of the call, and never gets here.
    """
    if not settings.served or settings.options.get("served_model") == "*":
        return
    meant = {settings.model, settings.options.get("served_model")}
    names = dict.fromkeys(judgment.reply.model for judgment in asked if judgment.reply.model)
    others = [name for name in names if name not in meant]
    if others:
        listed = [f"“{shorten(plain(name), MOST_NAME)}”" for name in others[:NAMES_LISTED]]
        yield _warning("model", names=", ".join(listed), model=settings.model)


def _reasoned(judgment: Judgment) -> bool:
    """Return whether the judge reasoned before it answered.

    Its marks say so, or tokens that its text cannot have taken.
    """
    reply = judgment.reply
    text = reply.text[:LONGEST_MARKED].lower()
    if any(mark in text for mark in REASONING):
        return True
    if judgment.call.pack:  # the count is of all replies to the request
        return False
    most = SPARE_TOKENS + TOKENS_A_SIGN * len(reply.text)
    return reply.tokens_out is not None and reply.tokens_out > most


def _reasoning(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
    """Warn of reasoning that nobody has asked for."""
    if settings.reasoning_effort is not None or settings.simulated:
        return
    reasoned = [judgment for judgment in asked if _reasoned(judgment)]
    if reasoned:
        tokens = max(judgment.reply.tokens_out or 0 for judgment in reasoned)
        yield _warning(
            "reasoning",
            lost=len(reasoned),
            asked=len(asked),
            tokens=f"{tokens:,}" if tokens else "an unknown number of",
            limit=f"{reasoned[0].call.max_tokens:,}",
            more=_advised_tokens(reasoned),
        )


def _scores_seen(asked: Sequence[Judgment]) -> Iterator[Remark]:
    """Warn of one score in all replies, and of two scores in the same order."""
    outcomes = [outcome for judgment in asked for outcome in judgment.outcomes]
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    replies = sum(judgment.outcomes[0].score is not None for judgment in asked)
    if replies >= CHECKED and replies == len(asked) and len(set(scores)) == 1:
        yield _warning("same_score", asked=len(asked), score=level_text(scores[0]))
    seen: dict[Any, tuple[str, ...]] = {}
    for judgment in asked:
        if judgment.status != Status.OK:
            continue
        call = judgment.call
        given = tuple(_reading_of(call, outcome) for outcome in judgment.outcomes)
        before = seen.setdefault((call.condition, call.items, call.ordering), given)
        if before != given:
            yield _warning("two_scores", first=", ".join(before), second=", ".join(given))
            return


# ---------------------------------------------------------------- how many tokens the server saw


def cut_context(sizes: Sequence[PromptSize]) -> tuple[Remark | None, frozenset[str]]:
    """Return why a server is known to cut prompts, and the keys of the calls that it cut."""
    cut = cut_prompts(sizes)
    if cut is None:
        return None, frozenset()
    kind = "context" if cut.same else "context_some"
    text = _say("stop", kind, tokens=f"{cut.most:,}", most=f"{round(cut.sent, -1):,.0f}")
    return Remark("context", text), cut.keys


def _wrong_counts(sizes: Sequence[PromptSize]) -> Iterator[Remark]:
    """Warn of prompt tokens that cannot be right, without being proof of a cut context."""
    by_unit = largest_by_unit(sizes)
    if not by_unit:
        return
    usual = [size.usual for size in by_unit]
    words = {
        "tokens": f"{max(size.counted for size in by_unit):,}",
        "least": f"{round(min(usual), -1):,.0f}",
        "most": f"{round(max(usual), -1):,.0f}",
    }
    if len({size.counted for size in sizes}) == 1 and spread(by_unit) >= UNLIKE:
        yield _warning("tokens", asked=len(sizes), **words)
    elif any(size.counted < FEW * size.usual for size in by_unit):
        yield _warning("few_tokens", **words)


# ---------------------------------------------------------------- one reply as one line


def _line(judgment: Judgment, read: Read) -> CheckedReply:
    """Return a reply as one line, with the part that was parsed marked."""
    call, reply = judgment.call, judgment.reply
    # Parsed again: outcomes from the store do not say which words gave them.
    fresh = list(read(call, replace(reply, error="")))
    shown = shown_reply(reply.text, _parsed_parts(call, reply, fresh, read))
    if judgment.status != Status.OK:
        return CheckedReply(NOTHING, shown, _why(judgment, fresh[0]))
    given = [
        _reading_of(call, outcome) if outcome.status == Status.OK else NOTHING
        for outcome in judgment.outcomes
    ]
    return CheckedReply(shorten(" ".join(given), MOST_GIVEN), shown)


def _parsed_parts(call: Call, reply: Reply, outcomes: Sequence[Outcome], read: Read) -> list[Span]:
    """Return where the words are that these outcomes were parsed from, as far as that is clear."""
    spans = []
    for slot, outcome in enumerate(outcomes):
        if outcome.status != Status.OK:
            continue

        def again(masked: str, slot: int = slot) -> Outcome:
            return read(call, replace(reply, text=masked, error=""))[slot]

        span = read_part(reply.text, outcome, _label_of(call, outcome), again)
        if span is not None:
            spans.append(span)
    return spans


def _why(judgment: Judgment, outcome: Outcome) -> str:
    """Return the reader's own reason, if it gives one, else that of the status."""
    reply, kind = judgment.reply, _why_kind(judgment)
    if kind == "unparsed" and outcome.why:
        return shorten(plain(outcome.why), MOST_WHY)
    error = _failure(judgment, MOST_WHY)
    return _say("why", kind, limit=judgment.call.max_tokens, tokens=reply.tokens_out, error=error)


def _reading_of(call: Call, outcome: Outcome) -> str:
    """Return what was parsed: a score, or the candidate that is preferred."""
    if outcome.score is not None:
        return level_text(outcome.score)
    if outcome.position == 0:
        return "tie"
    return _label_of(call, outcome) or NOTHING


def _label_of(call: Call, outcome: Outcome) -> str:
    """Return the word in the reply for what was parsed; empty if it has none (a tie)."""
    labels, position = call.ordering.labels, outcome.position
    if len(call.items) == 1 and position and position <= len(labels):
        shown = call.ordering.shown[position - 1]
        if outcome.score is None or shown == outcome.score:
            return labels[position - 1]
    return "" if outcome.score is None else level_text(outcome.score)


# ---------------------------------------------------------------- checks of stored runs


def kept_checks(made_with: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a run keeps of its checks, by judge.

    A stranger's file may have anything there. What has another form is left out.
    """
    kept = made_with.get(CHECKS)
    if not isinstance(kept, dict):
        return {}
    known: dict[str, dict[str, list[str]]] = {}
    for judge, facts in kept.items():
        if isinstance(facts, dict):
            known[str(judge)] = {
                str(name): [str(value) for value in values]
                for name, values in facts.items()
                if isinstance(values, list)
            }
    return known


def stored_checks(store: Reader, plan: Plan, id: str) -> list[ReadingCheck]:
    """Return the latest reading check of each judge, made from its stored replies again."""
    settings_of = {judge.name: judge for judge in plan.study.judges}
    made = []
    for judge, facts in kept_checks(store.made_with(id)).items():
        keys = set(facts.get("calls", ()))
        if judge not in settings_of or not keys:
            continue
        calls = _calls_of(plan, judge, keys)
        asked = judged_again(calls, store.answers(id, sorted(keys), errors=True))
        if asked:
            check = reading_check(
                settings_of[judge],
                asked,
                plan.parse,
                planned=planned_of(plan, judge),
                adapted=facts.get("adapted", ()),
            )
            made.append(check)
    return made


def _calls_of(plan: Plan, judge: str, keys: set[str]) -> list[Call]:
    """Return the calls of a judge with these keys.

    If they are its first calls, they come in the order of a check.
    """
    first = [call for request in check_requests(plan, judge, len(keys)) for call in request]
    if {call.key for call in first} == keys:
        return first
    return list(islice((call for call in plan.calls(judge) if call.key in keys), len(keys)))


def judged_again(
    calls: Sequence[Call], answers: Mapping[str, tuple[Reply, Sequence[Outcome]]]
) -> list[Judgment]:
    """Return the calls that have a reply in the store as judgments, in the order of ``calls``."""
    judgments = []
    for call in calls:
        if call.key in answers:
            reply, outcomes = answers[call.key]
            judgments.append(Judgment(call, reply, tuple(outcomes)))
    return judgments


def planned_of(plan: Plan, judge: str) -> int:
    """Return the number of a judge's calls in the whole run."""
    return sum(
        number
        for condition, number in zip(plan.conditions, plan.planned, strict=True)
        if condition.judge == judge
    )


def waiting_words(number: int, judge: str) -> str:
    """Return what a run is doing while its first replies are checked."""
    return f"checking the first {count(number, 'reply', 'replies')} of {judge}"
