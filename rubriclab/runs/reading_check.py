"""Check how a judge's replies are parsed, before a run spends money and while it goes on.

``check_requests`` chooses the few calls that are asked first. ``runner.py`` asks them, and
``reading_check`` says what their replies show: it asks nothing and changes nothing. The command
line and the pages show its lines unchanged. The sentences are in ``reading_check.toml``. A new
warning is a sentence there and a function here; whether it holds up a run is decided by HOLDING.
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
from rubriclab.model.looks import Scope
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
"""What a run does with the check of its judges' first replies.

off: there is no check. stop: pause if the check has a reason to stop (the command line, which asks
nobody). hold: pause also at the warnings in HOLDING, for judges that cost money (the pages, where
somebody can click)."""
Read = Callable[[Call, Reply], Sequence[Outcome]]
"""How a reply is parsed, as ``Plan.parse`` does."""

CHECKED = 8
"""Calls of each judge that are asked before all others. If a third of all replies is lost, 96 of
100 such checks show at least one of them: 1 - (2/3)^8."""
CALLS_A_UNIT = 2
"""Calls about each answer in the check, so that eight calls show four different answers."""
LAST_CALLS, MOST_LOST = 100, 20
"""While a run goes on, a judge is paused if more than MOST_LOST of its LAST_CALLS replies could not
be parsed, which is more than 20%. Before it has made that many calls, the same number is needed, so
that a few bad replies at the beginning do not pause it. If 10% of all replies are lost in truth,
1 of 1,200 windows of 100 calls has more than 20 lost."""
LOOK_EVERY = 25
"""While a run goes on, its prompt tokens are looked at after every 25 calls. Each look covers
LAST_CALLS prompts, so that each prompt is looked at four times."""

TOKENS_FOR_TEXT, TOKENS_FOR_REASONING = 512, 2_048
"""The max_tokens that we advise, for a judge that writes a few sentences and for one that
reasons."""
SPARE_TOKENS, TOKENS_PER_CHARACTER = 32, 3
"""A reply's text takes at most TOKENS_PER_CHARACTER tokens for each character, and SPARE_TOKENS in
addition. If the server counted more, the judge was reasoning."""
REASONING = (
    *(mark for pair in FORMS["reasoning"]["pairs"] for mark in pair),
    FORMS["reasoning"]["channel"] + "analysis",
    "<reasoning>",
)
"""Marks of reasoning in a reply, in lower case: those that ``study/own_words.py`` takes out, and
“<reasoning>”."""

MOST_NAME, MOST_ERROR, MOST_WHY, MOST_GIVEN = 80, 200, 120, 40
"""Max characters of other people's text in a line: of a model's name, of an error in a warning, of
the reason behind a reply, and of what was parsed."""
NAMES_LISTED = 3
"""Max models that a warning names."""
NOTHING = "–"
"""What a line shows in place of a score that was not found."""

CHECKS = "reading_checks"
"""The key of a run's ``made_with`` that keeps its reading checks. For each judge there are lists of
texts.

calls: the keys of the calls that were checked.
adapted: the parts of the request that the server refused.
warned, paused: the kinds of warnings so far, and of reasons for which the run has paused.
reason: why it paused the last time.
"""
WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""The sentences of the check, by table and kind."""
HOLDING = frozenset(
    {
        "unparsed",
        "partly",
        "cut",
        "cut_by_server",
        "refused",
        "error",
        "unlike",
        "tokens",
        "reasoning",
    }
)
"""Warnings at which a page waits for a click, because the run would lose replies or money. The
others are only shown."""

FOR_NEXT_RUN = frozenset({"two_scores"})
"""Warnings that say what to change in the next run. While a run goes on nobody can act on them."""


@dataclass(frozen=True)
class Remark:
    """A warning or a reason to stop. ``kind``: its key in reading_check.toml."""

    kind: str
    text: str

    @property
    def for_next_run(self) -> bool:
        return self.kind in FOR_NEXT_RUN


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

    asked, parsed: the number of replies, and of those that gave a score.
    stop: why the run must not go on without a change; None if it may.
    mass: the probability of all labels together at the first token of the answer, from 0 to 1
        (the median over calls); None without log-probabilities.
    cut: keys of the calls whose prompts the server cut.
    spent: what the calls cost, at the prices in the study.
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

    @property
    def urgent(self) -> tuple[Remark, ...]:
        """The reason to stop and the warnings that a user can act on while the run goes on."""
        stop = () if self.stop is None else (self.stop,)
        return (*stop, *(remark for remark in self.warnings if not remark.for_next_run))

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
        """Return the whole check, line by line, as it is shown while the run goes on."""
        lines = [self.title(), *(line.text() for line in self.lines)]
        urgent = {remark.text for remark in self.urgent}
        lines += [f"{'!' if remark in urgent else '·'} {remark}" for remark in self.remarks()]
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

    There are CALLS_A_UNIT calls about each of the first few answers. If the study has several data
    sets or axes, the answers come from each in turn. The first answer is asked twice in the same
    order, if the study has repeats. The others are asked in two different orders. For even numbers,
    the calls for a smaller ``number`` are the first ones of those for a larger ``number``.

    ``skip``: keys of calls to leave out.
    """
    by_scope = [_units(plan, judge, scope, skip) for scope in plan.scopes]
    in_turn = (unit for turn in zip_longest(*by_scope) for unit in turn if unit is not None)
    wanted = max(1, -(-number // CALLS_A_UNIT))  # rounded up
    units = [_ordered(unit, twice=index == 0) for index, unit in enumerate(islice(in_turn, wanted))]
    # Two requests about each answer come before any third one. A request may hold several calls,
    # so there may be enough calls before all of these are needed.
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
    plan: Plan, judge: str, scope: Scope, skip: frozenset[str]
) -> Iterator[list[list[Call]]]:
    """Yield the requests about one answer after the other, of a data set and axis (``scope``).

    For criteria or pairs it is one text or comparison after the other.
    """
    for _, calls in groupby(plan.calls(judge, scope), key=lambda call: call.items):
        requests = [request for request in packs(calls, skip) if request]
        if requests:
            yield requests


def _ordered(requests: list[list[Call]], *, twice: bool) -> list[list[Call]]:
    """Return the requests about one answer, with a fitting one moved to the second position.

    It fits if it repeats the first request's order (``twice``), or else if it has another order. If
    none fits, the requests are returned unchanged.
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
        asked: the judge's calls so far, each with its reply.
        read: how a reply is parsed, as ``Plan.parse`` does.
        planned: the number of the judge's calls in the whole run.
        adapted: parts of the request that the server refused, so that they were left out.
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
    """Yield the warnings in the order in which they are shown: lost replies first.

    What ``stop`` says already is not a warning too.
    """
    lost = sum(judgment.status != Status.OK for judgment in asked)
    if lost and not (stop and stop.kind == "unparsed"):
        yield _warning(
            "unparsed",
            lost=lost,
            asked=len(asked),
            of_run=f"{round(planned * lost / len(asked)):,}",
            planned=f"{planned:,}",
        )
    yield from causes(settings, asked)
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

    A constraint turns every reply into a label, also that of a judge which has no score to give.
    Such a judge guesses, and then looks free of position bias. So we advise a constraint only if
    the judge mostly gives a label without one.
    """
    if not settings.about.constraints or settings.constrain != "free" or not masses:
        return
    mass = median(masses)
    kind = "guess"
    if mass >= LEAST_FREE_MASS:
        kind = "constrain_small" if settings.about.small_model else "constrain"
    yield _warning(kind, mass=f"{mass:.2f}")


def helped_by_grammar(settings: JudgeSettings, lost: int, mass: float) -> bool:
    """Return whether a small model lost replies that a grammar would have made labels.

    ``lost``: how many. ``mass``: the median probability that it gives to the labels by itself.
    """
    advice = _constraint_advice(settings, [mass])
    return lost > 0 and any(remark.kind == "constrain_small" for remark in advice)


def too_many_lost(settings: JudgeSettings, recent: Sequence[Judgment]) -> Remark | None:
    """Return why to pause a judge that lost more than MOST_LOST of its recent replies, or None.

    The reason ends with what to do. ``recent``: at most its last LAST_CALLS calls.
    """
    lost = sum(judgment.status != Status.OK for judgment in recent)
    if lost <= MOST_LOST:
        return None
    parts = [_say("stop", "watch", lost=lost, asked=len(recent))]
    advice = _constraint_advice(settings, _masses(recent))
    parts += [remark.text for remark in (*causes(settings, recent), *advice)]
    return Remark("unparsed", " ".join(parts))


def spends(settings: JudgeSettings) -> bool:
    """Return whether a judge's calls cost money, or may do so: they leave the local network."""
    if settings.price_input or settings.price_output:
        return True
    if not settings.served:
        return False
    if not settings.addresses:
        return True  # nobody knows where it would ask
    return not all(_near(urlsplit(url).hostname or "") for url in settings.addresses)


def _near(host: str) -> bool:
    """Return whether a host is this machine, or another one in its own network."""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    return in_figures(host) is not None and not is_public(host)


def _warning(kind: str, **values: Any) -> Remark:
    return Remark(kind, _say("warning", kind, **values))


def causes(settings: JudgeSettings, asked: Sequence[Judgment]) -> list[Remark]:
    """Return why replies gave no score, a sentence for each cause."""
    by_why: dict[str, list[Judgment]] = {}
    for judgment in asked:
        if judgment.status != Status.OK:
            kind = _why_kind(judgment)
            label_alone = judgment.call.begun and judgment.call.max_tokens < SPARE_TOKENS
            if kind == "cut" and settings.about.small_model and label_alone:
                kind = "cut_small"
            by_why.setdefault(kind, []).append(judgment)
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
    if kind in ("cut", "cut_small", "cut_by_server"):
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
    """Return why a reply gave no score: a key of [why] in the texts."""
    reply = judgment.reply
    if judgment.status == Status.TRUNCATED:
        # A reply shorter than our limit, by more than a token, was cut by a limit of the server's.
        limit = judgment.call.max_tokens - 1
        stopped_early = reply.tokens_out is not None and 0 < reply.tokens_out < limit
        return "cut_by_server" if stopped_early else "cut"
    kinds = {Status.REFUSED: "refused", Status.ERROR: "error"}
    return kinds.get(judgment.status, "unparsed")


def _advised_tokens(cut: Sequence[Judgment]) -> int:
    """Return the max_tokens that we advise after these replies were cut.

    It is the usual value, or twice the present limit if that is not below the usual value.
    """
    limit = max(judgment.call.max_tokens for judgment in cut)
    reasons = any(_reasoned(judgment) for judgment in cut)
    wanted = TOKENS_FOR_REASONING if reasons else TOKENS_FOR_TEXT
    return wanted if limit < wanted else 2 * limit


def _served_as(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
    """Warn if the server names its model a little differently than the study does.

    A reply from a clearly different model counts as a failed call, so it never gets here.
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

    It did if the reply has a mark of reasoning, or more tokens than its text can have.
    """
    reply = judgment.reply
    text = reply.text[:LONGEST_MARKED].lower()
    if any(mark in text for mark in REASONING):
        return True
    if judgment.call.pack:  # the server counts the tokens of the whole request, with several calls
        return False
    most = SPARE_TOKENS + TOKENS_PER_CHARACTER * len(reply.text)
    return reply.tokens_out is not None and reply.tokens_out > most


def _reasoning(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
    """Warn if the judge reasons although the study does not ask for it."""
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
    """Warn if all replies give the same score, and if a repeat of an order gives another one."""
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
    """Warn if the server's counts of prompt tokens cannot be right, without proof that it cuts.

    Either all prompts have the same count although their lengths differ, or a count is far too low.
    """
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
    """Return where in the reply the words are that gave these outcomes, as far as that is clear.

    A call may score several criteria, so ``slot`` is the outcome's index in what ``read`` returns.
    """
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
    """Return why a reply gave no score: the parser's own reason, or else that of the status."""
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
    if call.scale and outcome.score in call.scores:
        return call.scale[call.scores.index(int(outcome.score))]
    labels, position = call.ordering.labels, outcome.position
    if len(call.items) == 1 and position and position <= len(labels):
        shown = call.ordering.shown[position - 1]
        if outcome.score is None or shown == outcome.score:
            return labels[position - 1]
    return "" if outcome.score is None else level_text(outcome.score)


# ---------------------------------------------------------------- checks of stored runs


def kept_checks(made_with: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a run keeps of its checks, by judge. See CHECKS.

    A run from somebody else's file may have anything there, so all but lists is left out.
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
    """Return the latest reading check of each judge, computed again from its stored replies."""
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

    If these are the calls that a check chooses, they come in the order of the check.
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
