"""Check how a judge's replies are read before a run spends money, and again over the last calls
while it goes on.

``reading_check`` is a pure function over calls that were asked. What it says is in
``reading_check.toml``; the command line and the pages show its lines as they are. A reply is a
stranger's text: every line here is plain text without control characters, and whoever shows it must
not read it as markup.
"""

import re
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
from rubriclab.model.text import count, shorten, without_invisible
from rubriclab.runs.forecast import SIGNS_PER_TOKEN, price_of_reply
from rubriclab.store.read import Reader
from rubriclab.study.decisions import packs
from rubriclab.study.own_words import FORMS
from rubriclab.study.plan import Plan

Checking = Literal["off", "stop", "hold"]
"""What a session does with its judges' first replies: nothing; pause where the check stops (the
command line never asks back); pause at warnings too, for judges that cost money (the pages, where
somebody can click)."""
Read = Callable[[Call, Reply], Sequence[Outcome]]

CHECKED = 8
"""Calls of each judge that are asked before all others. Where a third of all replies is lost, 96 of
100 such checks show at least one of them: 1 - (2/3)^8."""
CALLS_A_UNIT = 2
"""Calls about each answer in the check, so that eight calls show four different answers."""
LAST_CALLS, MOST_LOST = 100, 20
"""While a run goes on, a judge pauses with more than MOST_LOST unparsed replies in its LAST_CALLS,
which is more than 20%. The count is absolute: after few calls it takes more than a few bad ones.
With a true share of 10% more than 20 of 100 come in 1 of 1,200 windows."""
LOOK_EVERY = 25
"""Calls between two looks at the prompt tokens while a run goes on."""

SMALLEST_CONTEXT = 256
"""Tokens. No server has a smaller context, so a lower count is a wrong count and not a cut
prompt."""
SIGNS_A_TOKEN = {"latin": (SIGNS_PER_TOKEN, 6.5), "wide": (1.5, 3.0), "other": (3.0, 5.5)}
"""Characters of a token by script: what is usual (for Latin, what every estimate counts with), and
more than any prose has. Prompts of fewer tokens than by the second number were cut. Wide are
Chinese, Japanese and Korean characters. Of 562 English prompts of the recorded examples two
tokenizers counted 0.93 to 1.17 times the usual number, and never fewer than 1.5 times the second
one."""
FEWER = 0.8
"""Equal counts of unlike prompts mean a cut context where they are below this share of the usual
number of tokens."""
FEW = 0.75
"""Counts below this share of the usual number are worth a warning: more than 5.3 letters a token
are rare in any prose."""
UNLIKE = 1.05
"""Ratio of two lengths from which on two prompts are of unlike length."""

TOKENS_FOR_TEXT, TOKENS_FOR_REASONING = 512, 2_048
"""Values of max_tokens that are advised: for a judge that writes a few sentences, and for one that
reasons."""
SPARE_TOKENS, TOKENS_A_SIGN = 32, 3
"""A reply takes at most TOKENS_A_SIGN tokens a character, and SPARE_TOKENS around it; more tokens
were reasoning."""
REASONING = (
    *(mark for pair in FORMS["reasoning"]["pairs"] for mark in pair),
    FORMS["reasoning"]["channel"] + "analysis",
    "<reasoning>",
)
"""Marks of reasoning in a reply, in small letters, as the reader of replies knows them."""

SHOWN = 96
"""Characters of a reply in one line."""
LONGEST_MARKED = 20_000
"""Characters of a reply in which marks of reasoning and the part that was read are looked for: a
reader takes up to a second for the longest."""
TRIED_LABELS = 12
"""Places of a label in a reply, from its end, of which one is marked as the part that was read."""
OPEN, CLOSE, BREAK, NOTHING = "»", "«", " ⏎ ", "–"
MASK = "\u25a1"

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
    """One reply as one line: ``read`` is the score (or what is preferred), ``shown`` the reply with
    the part that was read between » and «, ``why`` the reason why it gave no score."""

    read: str
    shown: str
    why: str = ""

    def text(self) -> str:
        return f"{self.read:>4}  {self.shown}" + (f"  ({self.why})" if self.why else "")


@dataclass(frozen=True)
class ReadingCheck:
    """What a judge's first replies show. ``stop``: why nothing more may be asked as things are;
    None where it may.

    ``asked`` replies, ``parsed`` of them gave a score. ``mass``: median probability on labels at
    the first answer token, None without log-probabilities. ``cut``: keys of the calls whose prompts
    the server cut. ``spent``: money.
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
        """Whether replies or money would be lost if the run went on."""
        return self.stop is not None or any(remark.kind in HOLDING for remark in self.warnings)

    def title(self) -> str:
        title = _say("check", "title", judge=self.judge, parsed=self.parsed, asked=self.asked)
        if self.spent:
            title += f" · {_say('check', 'spent', money=f'{self.spent:.4g}')}"
        return title

    def remarks(self) -> list[str]:
        """The reason to stop, then the warnings; for a clean check what it could have shown."""
        said = [self.stop.text] if self.stop else []
        said += [remark.text for remark in self.warnings]
        if not said and self.asked >= CHECKED:
            said.append(_say("check", "clean"))
        return said

    def text(self) -> list[str]:
        """The whole check, line by line."""
        lines = [f"{self.title()}", *(line.text() for line in self.lines)]
        mark = "!" if self.stop or self.warnings else "·"
        lines += [f"{mark} {remark}" for remark in self.remarks()]
        if self.mass is not None:
            lines.append(f"· {_say('check', 'mass', mass=f'{self.mass:.2f}')}")
        return lines

    def reason(self) -> str:
        """Why the run pauses at this check: the stop with its causes, else the warnings that hold
        it."""
        held = [remark.text for remark in self.warnings if remark.kind in HOLDING]
        return " ".join([self.stop.text, *held] if self.stop else [*held, _say("check", "goes_on")])

    def document(self) -> dict[str, Any]:
        """As JSON values."""
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
    """The requests of a judge that are asked first: ``number`` calls, CALLS_A_UNIT about each of
    the first answers.

    Answers come in the plan's order, in turn from each data set and axis. About the first answer
    the same order is asked twice where the plan does so, about the others two different ones.
    ``skip``: keys of calls that are not wanted. The calls of a smaller ``number`` are the beginning
    of those of a larger one, as far as both are even.
    """
    scopes = dict.fromkeys(part.scope for part in plan.parts)
    by_scope = [_units(plan, judge, scope, skip) for scope in scopes]
    in_turn = (unit for turn in zip_longest(*by_scope) for unit in turn if unit is not None)
    units = list(islice(in_turn, max(1, -(-number // CALLS_A_UNIT))))
    ordered = [_ordered(unit, twice=place == 0) for place, unit in enumerate(units)]
    requests = [request for unit in ordered for request in unit[:CALLS_A_UNIT]]
    requests += [request for unit in ordered for request in unit[CALLS_A_UNIT:]]
    chosen: list[list[Call]] = []
    while requests and sum(map(len, chosen)) < number:
        chosen.append(requests.pop(0))
    return chosen


def _units(
    plan: Plan, judge: str, scope: tuple[str, ...], skip: frozenset[str]
) -> Iterator[list[list[Call]]]:
    """The requests about each answer (or text, or comparison) of a data set and axis."""
    for _, calls in groupby(plan.calls(judge, scope), key=lambda call: call.items):
        requests = [request for request in packs(calls, skip) if request]
        if requests:
            yield requests


def _ordered(requests: list[list[Call]], *, twice: bool) -> list[list[Call]]:
    """The requests with the second one chosen: the first one's order again (``twice``), else
    another order."""
    first, rest = requests[0], requests[1:]
    orders = [call.ordering for call in first], first[0].condition

    def fits(request: list[Call]) -> bool:
        same = ([call.ordering for call in request], request[0].condition) == orders
        return same if twice else request[0].ordering != first[0].ordering

    second = next((request for request in rest if fits(request)), None)
    if second is None:
        return requests
    return [first, second, *(request for request in rest if request is not second)]


# ---------------------------------------------------------------- the check


def reading_check(
    settings: JudgeSettings,
    asked: Sequence[Judgment],
    read: Read,
    *,
    planned: int,
    adapted: Sequence[str] = (),
) -> ReadingCheck:
    """What these calls of one judge show about reading all others.

    ``read``: how a reply is read, as ``Plan.parse``; ``planned``: calls of the judge in the whole
    run; ``adapted``: parts of the request that its server refused, so that they were left out.
    """
    lost = [judgment for judgment in asked if judgment.status != Status.OK]
    sizes = [size for judgment in asked if (size := PromptSize.of(judgment)) is not None]
    context, cut = cut_context(sizes)
    stop: Remark | None = context
    if context is None and asked and len(lost) == len(asked):
        stop = Remark("unparsed", _say("stop", "unparsed", asked=len(asked)))
    warnings: list[Remark] = []
    if lost and not (stop and stop.kind == "unparsed"):
        of_run = round(planned * len(lost) / len(asked))
        words = {"of_run": f"{of_run:,}", "planned": f"{planned:,}"}
        warnings.append(_warning("unparsed", lost=len(lost), asked=len(asked), **words))
    warnings += causes(asked)
    if context is None:
        warnings += _wrong_counts(sizes)
    warnings += [*_served_as(settings, asked), *_reasoning(settings, asked)]
    warnings += [*_scores_seen(asked)]
    masses = [
        outcome.mass
        for judgment in asked
        for outcome in judgment.outcomes
        if outcome.mass is not None
    ]
    if lost:
        warnings += _constraint_advice(settings, masses)
    if adapted:
        warnings.append(_warning("adapted", parts="; ".join(adapted)))
    return ReadingCheck(
        judge=settings.name,
        asked=len(asked),
        parsed=len(asked) - len(lost),
        lines=tuple(_line(judgment, read) for judgment in asked),
        warnings=tuple(warnings),
        stop=stop,
        mass=median(masses) if masses else None,
        cut=cut,
        spent=sum(price_of_reply(settings, each.call, each.reply) for each in asked),
    )


def _constraint_advice(settings: JudgeSettings, masses: Sequence[float]) -> Iterator[Remark]:
    """Whether to hold a judge that loses replies to the labels.

    A constraint makes every reply readable, also that of a judge which would give no score at all
    and then looks fair. So it is offered only where the judge, left free, mostly gives a label.
    """
    if not settings.about.constraints or settings.constrain != "free" or not masses:
        return
    mass = median(masses)
    kind = "constrain" if mass >= LEAST_FREE_MASS else "guess"
    yield _warning(kind, mass=f"{mass:.2f}")


def too_many_lost(recent: Sequence[Judgment]) -> Remark | None:
    """The reason to pause a judge whose last LAST_CALLS calls lost more than MOST_LOST replies;
    None where they did not."""
    lost = sum(judgment.status != Status.OK for judgment in recent)
    if lost <= MOST_LOST:
        return None
    said = [_say("stop", "watch", lost=lost, asked=len(recent))]
    said += [remark.text for remark in causes(recent)]
    return Remark("unparsed", " ".join(said))


def spends(settings: JudgeSettings) -> bool:
    """Whether calls of a judge cost money or leave this machine and its network."""
    if settings.price_input or settings.price_output:
        return True
    if not settings.served:
        return False
    if not settings.addresses:
        return True  # nobody knows where it would ask
    return not all(_near(urlsplit(url).hostname or "") for url in settings.addresses)


def _near(host: str) -> bool:
    """Whether a host is this machine or one of its network."""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    return in_figures(host) is not None and not is_public(host)


def _warning(kind: str, **values: Any) -> Remark:
    return Remark(kind, _say("warning", kind, **values))


def causes(asked: Sequence[Judgment]) -> list[Remark]:
    """Why replies gave no score, a sentence for each cause."""
    said: list[Remark] = []
    by_why: dict[str, list[Judgment]] = {}
    for judgment in asked:
        if judgment.status != Status.OK:
            by_why.setdefault(_why_kind(judgment), []).append(judgment)
        elif any(outcome.status != Status.OK for outcome in judgment.outcomes):
            by_why.setdefault("partly", []).append(judgment)
    for kind, lost in by_why.items():
        call, reply = lost[-1].call, lost[-1].reply
        words: dict[str, Any] = {"lost": len(lost), "asked": len(asked)}
        if kind == "unparsed":
            first = lost[0].reply.text
            said.append(_warning("unlike", reply=shorten(_plain(first), 80)))
            continue
        if kind in ("cut", "cut_by_server"):
            words |= {"limit": f"{call.max_tokens:,}", "tokens": reply.tokens_out}
            words["more"] = f"{_advised_tokens(lost)}"
        if kind == "error":
            words["error"] = _failure(lost[-1], 200).rstrip(".")
        said.append(_warning(kind, **words))
    return said


def _failure(judgment: Judgment, most: int) -> str:
    """Return the error of a failed call, or how the server ended its reply."""
    return shorten(_plain(judgment.reply.error or judgment.outcomes[0].why), most)


def _why_kind(judgment: Judgment) -> str:
    """Why a reply gave no score: a key of [why]."""
    reply = judgment.reply
    if judgment.status == Status.TRUNCATED:
        # The server's own limit where it stopped well before ours.
        own = reply.tokens_out is not None and 0 < reply.tokens_out < judgment.call.max_tokens - 1
        return "cut_by_server" if own else "cut"
    kinds = {Status.REFUSED: "refused", Status.ERROR: "error"}
    return kinds.get(judgment.status, "unparsed")


def _advised_tokens(cut: Sequence[Judgment]) -> int:
    """The max_tokens that replies which were cut should get."""
    limit = max(judgment.call.max_tokens for judgment in cut)
    reasons = any(_reasoned(judgment) for judgment in cut)
    wanted = TOKENS_FOR_REASONING if reasons else TOKENS_FOR_TEXT
    return wanted if limit < wanted else 2 * limit


def _served_as(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
    """A served model whose name is not quite the one that was asked for; another model is a fault
    of the call."""
    if not settings.served or settings.options.get("served_model") == "*":
        return
    meant = {settings.model, settings.options.get("served_model")}
    names = dict.fromkeys(judgment.reply.model for judgment in asked if judgment.reply.model)
    others = [name for name in names if name not in meant]
    if others:
        listed = ", ".join(f"“{shorten(_plain(name), 80)}”" for name in others[:3])
        yield _warning("model", names=listed, model=settings.model)


def _reasoned(judgment: Judgment) -> bool:
    """Whether the judge reasoned before it answered: by its marks, or by tokens that its text
    cannot have taken."""
    reply = judgment.reply
    text = reply.text[:LONGEST_MARKED].lower()
    if any(mark in text for mark in REASONING):
        return True
    if judgment.call.pack:  # the count is of all replies to the request
        return False
    most = SPARE_TOKENS + TOKENS_A_SIGN * len(reply.text)
    return reply.tokens_out is not None and reply.tokens_out > most


def _reasoning(settings: JudgeSettings, asked: Sequence[Judgment]) -> Iterator[Remark]:
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
    """One score in all replies, or two scores in the same order."""
    scores = [
        outcome.score
        for judgment in asked
        for outcome in judgment.outcomes
        if outcome.score is not None
    ]
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


@dataclass(frozen=True)
class PromptSize:
    """One prompt: ``counted`` tokens by the server, ``usual`` by its characters, ``fewest`` that it
    can have."""

    key: str
    unit: tuple[int, ...]
    counted: int
    usual: float
    fewest: float

    @classmethod
    def of(cls, judgment: Judgment) -> "PromptSize | None":
        """The size of a call's prompt; None where the server counts nothing, or counts several
        calls together."""
        call, reply = judgment.call, judgment.reply
        if not reply.tokens_in or call.pack:
            return None
        # A server that leaves cached tokens out of its count has more of them than others.
        cached = reply.cached or 0
        counted = reply.tokens_in + (cached if cached > reply.tokens_in else 0)
        usual, fewest = tokens_of("\n".join(message["content"] for message in call.messages))
        return cls(call.key, call.items, counted, usual, fewest)


_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LATIN = re.compile("[\x00-\u024f\u2000-\u206f]")
_RUNS = re.compile(r"(\W)\1{3,}|(\w)\2{7,}")
"""Runs of one character, of which a tokenizer makes few tokens."""


def tokens_of(text: str) -> tuple[float, float]:
    """(usual, fewest) tokens of a text by its characters, whatever the tokenizer."""
    text = _RUNS.sub(lambda run: run[0][:3], text)
    wide, latin = len(_WIDE.findall(text)), len(_LATIN.findall(text))
    signs = {"latin": latin, "wide": wide, "other": len(text) - latin - wide}
    usual = sum(number / SIGNS_A_TOKEN[script][0] for script, number in signs.items())
    fewest = sum(number / SIGNS_A_TOKEN[script][1] for script, number in signs.items())
    return usual, fewest


def cut_context(sizes: Sequence[PromptSize]) -> tuple[Remark | None, frozenset[str]]:
    """(why a server is known to cut prompts, keys of the calls that it cut); (None, none) where it
    is not known.

    It is known where a prompt has fewer tokens than its characters can make up, or where prompts of
    unlike length all end at one number of tokens that is well below the usual. Of each answer the
    highest count holds: a server may leave out of its count what it had cached.
    """
    by_unit = _largest(sizes)
    if not by_unit:
        return None, frozenset()
    most = max(size.counted for size in by_unit)
    if most < SMALLEST_CONTEXT:
        return None, frozenset()
    at_limit = [size for size in by_unit if size.counted >= most - max(2, most // 100)]
    full = [size for size in at_limit if size.counted < FEWER * size.usual]
    unlike = len(full) > 1 and _spread(full) >= UNLIKE
    short = [size for size in by_unit if size.counted < size.fewest]
    if not (unlike or short):
        return None, frozenset()
    cut = {size.unit for size in (*short, *(full if unlike else ()))}
    keys = frozenset(size.key for size in sizes if size.unit in cut)
    sent = round(max(size.usual for size in by_unit if size.unit in cut), -1)
    same = len({size.counted for size in sizes}) == 1
    words = {"tokens": f"{most:,}", "most": f"{sent:,.0f}"}
    return Remark("context", _say("stop", "context" if same else "context_some", **words)), keys


def _wrong_counts(sizes: Sequence[PromptSize]) -> Iterator[Remark]:
    """Counts of prompt tokens that cannot be right, without being proof of a cut context."""
    by_unit = _largest(sizes)
    if not by_unit:
        return
    usual = [size.usual for size in by_unit]
    words = {
        "tokens": f"{max(size.counted for size in by_unit):,}",
        "least": f"{round(min(usual), -1):,.0f}",
        "most": f"{round(max(usual), -1):,.0f}",
    }
    if len({size.counted for size in sizes}) == 1 and _spread(by_unit) >= UNLIKE:
        yield _warning("tokens", asked=len(sizes), **words)
    elif any(size.counted < FEW * size.usual for size in by_unit):
        yield _warning("few_tokens", **words)


def _largest(sizes: Sequence[PromptSize]) -> list[PromptSize]:
    """The prompt with the highest count of each answer."""
    by_unit: dict[tuple[int, ...], PromptSize] = {}
    for size in sizes:
        known = by_unit.get(size.unit)
        if known is None or size.counted > known.counted:
            by_unit[size.unit] = size
    return list(by_unit.values())


def _spread(sizes: Sequence[PromptSize]) -> float:
    usual = [size.usual for size in sizes]
    return max(usual) / max(min(usual), 1.0)


# ---------------------------------------------------------------- one reply as one line


def read_part(
    text: str, outcome: Outcome, label: str, read: Callable[[str], Outcome]
) -> tuple[int, int] | None:
    """Where in a reply the words stand that ``outcome`` was read from; None where that cannot be
    told.

    Each place of ``label`` is tried alone, from the last one on: the part is one from which the
    reader reads the same with all other places masked.
    """
    if not label or len(text) > LONGEST_MARKED:
        return None
    word = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)", re.IGNORECASE)
    places = [match.span() for match in word.finditer(text)]
    for kept in places[::-1][:TRIED_LABELS]:
        masked = list(text)
        for start, end in places:
            if (start, end) != kept:
                masked[start:end] = MASK * (end - start)
        alone = read("".join(masked))
        if (alone.status, alone.score, alone.position) == (
            outcome.status,
            outcome.score,
            outcome.position,
        ):
            return kept
    return None


def _line(judgment: Judgment, read: Read) -> CheckedReply:
    call, reply = judgment.call, judgment.reply
    # Read again: outcomes from the store do not say where they were read.
    fresh = list(read(call, replace(reply, error="")))
    spans: list[tuple[int, int]] = []
    for slot, outcome in enumerate(fresh):
        if outcome.status != Status.OK:
            continue

        def again(masked: str, slot: int = slot) -> Outcome:
            return read(call, replace(reply, text=masked, error=""))[slot]

        span = read_part(reply.text, outcome, _label_of(call, outcome), again)
        if span is not None:
            spans.append(span)
    readings = [
        _reading_of(call, outcome) if outcome.status == Status.OK else NOTHING
        for outcome in judgment.outcomes
    ]
    why = ""
    if judgment.status != Status.OK:
        why = _why(judgment, fresh[0])
    given = " ".join(readings) if judgment.status == Status.OK else NOTHING
    return CheckedReply(shorten(given, 40), shown_reply(reply.text, spans), why)


def _why(judgment: Judgment, outcome: Outcome) -> str:
    """The reader's own reason, where it gives one, else that of the status."""
    reply, kind = judgment.reply, _why_kind(judgment)
    if kind == "unparsed" and outcome.why:
        return shorten(_plain(outcome.why), 120)
    error = _failure(judgment, 120)
    return _say("why", kind, limit=judgment.call.max_tokens, tokens=reply.tokens_out, error=error)


def _reading_of(call: Call, outcome: Outcome) -> str:
    """What was read, in a word: a score, or the candidate that is preferred."""
    if outcome.score is not None:
        return level_text(outcome.score)
    if outcome.position == 0:
        return "tie"
    return _label_of(call, outcome) or NOTHING


def _label_of(call: Call, outcome: Outcome) -> str:
    """The word that stands in the reply for what was read; empty where it has none of its own (a
    tie)."""
    labels, position = call.ordering.labels, outcome.position
    if len(call.items) == 1 and position and position <= len(labels):
        shown = call.ordering.shown[position - 1]
        if outcome.score is None or shown == outcome.score:
            return labels[position - 1]
    return "" if outcome.score is None else level_text(outcome.score)


def shown_reply(text: str, spans: Sequence[tuple[int, int]] = (), most: int = SHOWN) -> str:
    """A reply as one line of plain text of about ``most`` characters, the parts at ``spans``
    between » and «.

    What is far from the first part that was read is left out; marks of the reply's own become ‹ and
    ›.
    """
    if not text:
        return "(empty)"
    if spans:
        first, last = min(spans)[0], max(end for _, end in spans)
        start = max(0, min(first - most // 3, len(text) - most))
        end = max(start + most, min(last, start + 2 * most))
    else:
        start, end = 0, most
    pieces = ["… "] if start else []
    position = start
    for span_start, span_end in sorted(set(spans)):
        if span_start < position or span_end > end:
            continue
        pieces += [
            _plain(text[position:span_start]),
            OPEN,
            _plain(text[span_start:span_end]),
            CLOSE,
        ]
        position = span_end
    pieces.append(_plain(text[position:end]))
    if end < len(text):
        pieces.append(" …")
    return " ".join("".join(pieces).split())


def _plain(text: str) -> str:
    """A stranger's text without line breaks, invisible or control characters, and marks that look
    like ours."""
    text = without_invisible(text).replace(OPEN, "›").replace(CLOSE, "‹")
    return re.sub(r"\s*[\n\r\u2028\u2029]+\s*", BREAK, text)


# ---------------------------------------------------------------- checks of stored runs


def kept_checks(made_with: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """What a run keeps of its checks, by judge; what has another form, as a stranger's file may, is
    left out."""
    kept = made_with.get(CHECKS)
    known: dict[str, dict[str, list[str]]] = {}
    for judge, facts in kept.items() if isinstance(kept, dict) else ():
        if isinstance(facts, dict):
            known[str(judge)] = {
                str(name): [str(value) for value in values]
                for name, values in facts.items()
                if isinstance(values, list)
            }
    return known


def stored_checks(store: Reader, plan: Plan, id: str) -> list[ReadingCheck]:
    """The latest reading check of each judge of a run, made again from the replies that the store
    keeps."""
    made = []
    for judge, facts in kept_checks(store.made_with(id)).items():
        settings = next((known for known in plan.study.judges if known.name == judge), None)
        keys = set(facts.get("calls", ()))
        if settings is None or not keys:
            continue
        calls = _calls_of(plan, judge, keys)
        asked = judged_again(calls, store.answers(id, sorted(keys), errors=True))
        if asked:
            planned, adapted = planned_of(plan, judge), facts.get("adapted", ())
            check = reading_check(settings, asked, plan.parse, planned=planned, adapted=adapted)
            made.append(check)
    return made


def _calls_of(plan: Plan, judge: str, keys: set[str]) -> list[Call]:
    """The calls of a judge with these keys, in the order of a check where they are its first
    ones."""
    first = [call for request in check_requests(plan, judge, len(keys)) for call in request]
    if {call.key for call in first} == keys:
        return first
    return list(islice((call for call in plan.calls(judge) if call.key in keys), len(keys)))


def judged_again(
    calls: Sequence[Call], answers: Mapping[str, tuple[Reply, Sequence[Outcome]]]
) -> list[Judgment]:
    """The calls that have an answer in the store, as judgments, in the order of ``calls``."""
    return [
        Judgment(call, answers[call.key][0], tuple(answers[call.key][1]))
        for call in calls
        if call.key in answers
    ]


def planned_of(plan: Plan, judge: str) -> int:
    """The calls of a judge in the whole run."""
    return sum(
        number
        for condition, number in zip(plan.conditions, plan.planned, strict=True)
        if condition.judge == judge
    )


def waiting_words(number: int, judge: str) -> str:
    """What a run is doing while its first replies are looked at."""
    return f"checking the first {count(number, 'reply', 'replies')} of {judge}"
