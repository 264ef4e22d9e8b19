"""What a planned study will take, before the first call: part of the data, tokens, time, money.

Nothing here draws a widget. Tokens are an estimate and called one: characters / 4, unless an
earlier run of the same judge on the same data was measured.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rubriclab.findings.planning import cost
from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import Comparison, Dataset, Item, Judge
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.store import RunInfo, Store
from rubriclab.study.plan import Plan
from rubriclab.study.protocols import PROTOCOLS

CHARS_PER_TOKEN = 4.0
ANSWER_TOKENS = {"score": 3.0, "feedback": 200.0}
"""Assumed length of an answer where none was measured."""
TOKENS_A_LINE = 7.0
"""Of a batch's answer, one line a response: “[Response 2] 4” by most tokenizers."""
EMBEDDED_RATE = {"smollm2-135m": 3.0, "qwen2.5-coder-0.5b": 1.4}
"""Calls a second in score mode on two processor cores, as measured for this project."""
OTHER_EMBEDDED_RATE = 1.0
FEEDBACK_SLOWDOWN = 10.0
SERVED_SECONDS = {"score": 1.0, "feedback": 8.0}
"""Assumed seconds an answer of a server takes where none was measured."""
SIMULATED_RATE = 1_000.0
RUNS_LOOKED_AT = 30


SAMPLED_CALLS = 400
"""Of each judge, from the beginning of the plan: its make-up is the same throughout."""


def subset(dataset: Dataset, n: int | None, *, seed: int | None) -> Dataset:
    """The first ``n`` texts of a data set, or with ``seed`` a seeded draw of ``n``.

    Items of one text (block) stay together, or no criterion order could be varied; answers
    to one prompt stay together where candidates are named, or nothing could be compared.
    """
    groups = text_groups(dataset)
    if n is None or n >= len(groups):
        return dataset
    order = list(range(len(groups)))
    if seed is not None:
        order = random.Random(seed).sample(order, len(order))
    kept = sorted(i for g in order[: max(1, n)] for i in groups[g])
    items = tuple(dataset.items[i] for i in kept)
    how = f"random {n:,}, seed {seed}" if seed is not None else f"first {n:,}"
    origin = f"{dataset.origin} ({how} of {len(groups):,})".strip()
    return replace(dataset, items=items, origin=origin)  # type: ignore[arg-type]


def text_groups(dataset: Dataset) -> list[list[int]]:
    """Item numbers that belong together: one prompt's candidates, one block, one comparison."""
    groups: dict[object, list[int]] = {}
    items: Sequence[Item | Comparison] = dataset.items
    for i, item in enumerate(items):
        groups.setdefault(_group(item), []).append(i)
    return list(groups.values())


def group_word(dataset: Dataset) -> str:
    """What ``text_groups`` groups by, in a word."""
    first = dataset.items[0]
    if isinstance(first, Comparison):
        return "comparison"
    return "prompt" if first.candidate is not None and first.prompt is not None else "text"


def _group(item: Item | Comparison) -> object:
    if isinstance(item, Comparison):
        return item.item_id
    if item.candidate is not None and item.prompt is not None:
        return ("prompt", item.prompt)
    return item.block or (item.instruction, item.response)


@dataclass(frozen=True, slots=True)
class Measured:
    """What an earlier run of a judge took, per call; ``tokens_in`` only for the same data."""

    run: str
    seconds: float
    tokens_in: float | None
    tokens_out: float


@dataclass(frozen=True, slots=True)
class JudgeCost:
    """One judge's share of a study. ``money``, ``seconds``: None where nothing is known.

    ``basis`` says in words what was measured and what is assumed.
    """

    judge: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    money: float | None
    longest_prompt: float
    basis: str


def measured(
    store: Store, runs: Sequence[RunInfo], judge: Judge, *, dataset: str, axis: str, answer: str
) -> Measured | None:
    """The latest run of this judge alone, in the same answer mode; None where there is none."""
    wanted = {"name": judge.name, **judge.identity()}
    for info in runs[:RUNS_LOOKED_AT]:
        judges = info.provenance.get("judges", [])
        if info.state == "imported" or not info.done or len(judges) != 1:
            continue
        if {**judges[0], "name": ""} != {**wanted, "name": ""}:
            continue
        used = store.usage(info.run)
        calls = used["calls"]
        mode = "score" if used["tokens_out"] <= 16 * calls else "feedback"
        if not calls or not used["seconds"] or mode != answer:
            continue
        same = info.dataset == dataset and info.axis == axis and used["tokens_in"] > 0
        return Measured(
            run=info.run,
            seconds=used["seconds"] / calls,
            tokens_in=used["tokens_in"] / calls if same else None,
            tokens_out=used["tokens_out"] / calls,
        )
    return None


def estimate(plan: Plan, known: Mapping[str, Measured | None]) -> tuple[JudgeCost, ...]:
    """Tokens, time and money of a plan, judge by judge.

    ``known``: what was measured of a judge, by its name. Time is calls x seconds / calls at
    once, at the judge's own ceiling.
    """
    return tuple(_judge_cost(plan, code, judge, known.get(judge.name)) for code, judge in enumerate(plan.study.judges))


def _judge_cost(plan: Plan, code: int, judge: Judge, earlier: Measured | None) -> JudgeCost:
    arms = [a for a, arm in enumerate(plan.arms) if arm.judge == judge.name]
    calls = sum(plan.planned[a] for a in arms)
    mode = answer_mode(plan)
    prompt, longest = _prompt_chars(plan, code)
    tokens_in = earlier.tokens_in if earlier and earlier.tokens_in else prompt / CHARS_PER_TOKEN
    tokens_out = earlier.tokens_out if earlier else _answer_tokens(plan, mode)
    rate = calls_per_second(judge, mode, earlier)
    expected = cost(
        calls=calls,
        input_tokens_per_call=tokens_in,
        output_tokens_per_call=tokens_out,
        price_input=judge.price_input,
        price_output=judge.price_output,
        calls_per_second=rate,
    )
    free = not JUDGE_KINDS[judge.kind].served
    return JudgeCost(
        judge=judge.name,
        calls=calls,
        tokens_in=expected.input_tokens,
        tokens_out=expected.output_tokens,
        seconds=calls / rate,
        money=0.0 if free and expected.money is None else expected.money,
        longest_prompt=longest / CHARS_PER_TOKEN,
        basis=_basis(judge, earlier, rate),
    )


def _answer_tokens(plan: Plan, mode: str) -> float:
    """Of one answer; a batch is answered with a line for each response, “[Response 2] 4”."""
    if plan.study.design.axis != "batch" or plan.study.prompts:
        return ANSWER_TOKENS[mode]
    shown = sum(calls * arm.n_positions for arm, calls in zip(plan.arms, plan.planned, strict=True))
    return TOKENS_A_LINE * shown / max(1, len(plan))


def same_order_repeats(plan: Plan) -> tuple[int, str]:
    """(about how many calls ask an item again in an order it was asked in, what that buys).

    The same order twice is the control of everything that is said about order: what differs
    between such reads is the judge's own noise. Counted on the first items of the plan.
    """
    judges = range(len(plan.study.judges))
    calls = [call for code in judges for call in islice(plan.calls(code), SAMPLED_CALLS)]
    share = sum(call.repeat > 0 for call in calls) / max(1, len(calls))
    about = round(share * len(plan))
    if about:
        return about, (
            tr(
                "About {n:,} of the {calls} ask an item again in the same order. They show the judge's own "
                "noise, which every change between orders is held against.",
                n=about,
                calls=many(len(plan), "call"),
            )
        )
    return 0, (
        tr(
            "No item is asked twice in the same order, so every change between orders will have the judge's "
            "own noise in it and many verdicts stay open. Add the fixed order with 2 reads ({calls:,} calls "
            "more) to tell the two apart.",
            calls=2 * plan.n_units * len(plan.study.judges),
        )
    )


def answer_mode(plan: Plan) -> str:
    """``score`` or ``feedback``: how long the answers are."""
    if not PROTOCOLS[plan.study.design.axis].one_label:
        return "feedback"
    if plan.study.prompts:
        brief = all(prompt.answer.read == "label" for prompt in plan.study.prompts)
        return "score" if brief else "feedback"
    levels = plan.study.design.factors.get("answer", ())
    return "feedback" if "feedback" in levels else plan.study.design.answer


def calls_per_second(judge: Judge, mode: str, earlier: Measured | None) -> float:
    """Measured where there is a measurement, else stated defaults; never above the judge's rpm."""
    kind = JUDGE_KINDS[judge.kind]
    at_once = max(1, judge.concurrency or kind.concurrency)
    if judge.simulated:
        rate = SIMULATED_RATE
    elif earlier is not None:
        rate = (at_once if kind.served else 1) / max(earlier.seconds, 1e-4)
    elif not kind.served:
        rate = EMBEDDED_RATE.get(judge.model, OTHER_EMBEDDED_RATE)
        rate = rate / FEEDBACK_SLOWDOWN if mode == "feedback" else rate
    else:
        rate = at_once / SERVED_SECONDS[mode]
    return min(rate, judge.rpm / 60) if judge.rpm else rate


def _basis(judge: Judge, earlier: Measured | None, rate: float) -> str:
    if judge.simulated:
        return tr("no tokens, no money: nothing is asked")
    tokens = tr("input tokens: characters / 4")
    if earlier is not None and earlier.tokens_in:
        tokens = tr("tokens as measured in {run}", run=earlier.run)
    speed = (
        tr("{rate:.3g} calls/s as in {run}", rate=rate, run=earlier.run)
        if earlier
        else tr("{rate:.3g} calls/s assumed, not measured", rate=rate)
    )
    return f"{tokens}; {speed}"


def _prompt_chars(plan: Plan, judge: int) -> tuple[float, float]:
    """Mean and greatest length of a prompt: what frames an item's own texts, plus those.

    The frame (task, rubric) is read off a judge's first calls; each item's texts are counted.
    """
    own = [_own_chars(item) for item in plan.study.dataset.items]
    frames, texts = [], []
    for call in islice(plan.calls(judge), 40):
        written = sum(len(message["content"]) for message in call.messages)
        shown = call.items if plan.study.design.axis == "batch" else call.items[:1]
        frames.append(written - sum(own[i] for i in shown))
        texts.append(len(shown))
    if not frames:
        return 0.0, 0.0
    frame = sum(frames) / len(frames)
    own_mean = sum(own) / len(own)
    return frame + sum(texts) / len(texts) * own_mean, max(frames) + max(texts) * max(own)


def _own_chars(item: Item | Comparison) -> int:
    if isinstance(item, Comparison):
        return sum(map(len, item.turns)) + sum(len(t) for turns in item.responses for t in turns)
    return len(item.instruction) + len(item.response)


def price_of_call(store: Store, info: RunInfo, judge: Judge) -> float | None:
    """Money a call, by the tokens that the run's calls took; None where prices or tokens are not known."""
    used: Mapping[str, float] = store.usage(info.run)
    if judge.price_input is None or judge.price_output is None or not used["calls"] or not used["tokens_in"]:
        return None
    return (used["tokens_in"] * judge.price_input + used["tokens_out"] * judge.price_output) / used["calls"] / 1e6
