"""Step 4 of Set up: what changes order and how the orders are chosen in; the design of the study out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st
from pydantic import ValidationError

from rubriclab.app.draft import Draft, draft
from rubriclab.app.forms import preset
from rubriclab.app.frame import safe
from rubriclab.model.data import Rubric
from rubriclab.model.orders import ALL_WITHOUT_ASKING, MAX_CALLS, STRATEGIES, Strategy, StrategyKind
from rubriclab.model.study import DesignPart, StrategyPart, problems
from rubriclab.model.text import LabError, count, shorten

REORDER = {"options": "Score options", "criteria": "Criteria"}
ANSWERS = {"score": "The score alone", "feedback": "Feedback first, then the score"}


def summary() -> str:
    """What the closed step says."""
    held = draft()
    if 4 in held.problems:
        return held.problems[4]
    names = [
        STRATEGIES[part.kind].title if part.name in ("", part.kind) else part.name for part in held.design.strategies
    ]
    what = "score options" if held.design.reorder == "options" else "criteria"
    times = {1: "each once", 2: "every order twice"}.get(
        held.design.repeats, f"every order {held.design.repeats} times"
    )
    return f"{', '.join(shorten(name, 30) for name in names)} orders of the {what}, {times}"


def body() -> None:
    """The open step."""
    held = draft()
    rubric = held.rubric
    assert rubric is not None
    held.problems.pop(4, None)
    reorder = _reorder(held, rubric)
    repeats = int(st.session_state.get("orders-repeats", held.design.repeats))
    try:
        strategies = _strategies(rubric, reorder, repeats)
        with st.expander("Repeats, seed and answer format", icon=":material/tune:"):
            left, middle, right = st.columns(3)
            repeats = left.number_input(
                "How often each order is asked", 1, 100, key=preset("orders-repeats", held.design.repeats),
                persist_state="session",
                help="Twice or more: the difference within one order is the judge's own noise.",
            )  # fmt: skip
            seed = middle.number_input(
                "Seed", 0, 2**31, key=preset("orders-seed", held.design.seed), persist_state="session"
            )
            answer = right.selectbox(
                "Answer format", list(ANSWERS), format_func=lambda kind: ANSWERS[kind],
                key=preset("orders-answer", held.design.answer), persist_state="session",
            )  # fmt: skip
        held.design = DesignPart(
            reorder=reorder, strategies=strategies, repeats=int(repeats), answer=answer, seed=int(seed)
        )
    except ValidationError as fault:
        held.problems[4] = problems(fault)
    except LabError as fault:
        held.problems[4] = str(fault)
    if 4 in held.problems:
        st.error(safe(held.problems[4]), icon=":material/error:")


def fill(design: DesignPart) -> None:
    """Put the design of a study file in place of what was chosen."""
    draft().design = design
    st.session_state["orders-reorder"] = design.reorder
    st.session_state["orders-repeats"], st.session_state["orders-seed"] = design.repeats, design.seed
    st.session_state["orders-answer"] = design.answer
    kinds = {part.kind: part for part in design.strategies}
    for kind in STRATEGIES:
        st.session_state[f"orders-{kind}"] = kind in kinds
    for kind in ("custom", "min-bias"):
        if kind in kinds:
            st.session_state[f"orders-{kind}-text"] = "\n".join(" | ".join(map(str, o)) for o in kinds[kind].orders)
    if "random" in kinds and kinds["random"].calls:
        st.session_state["orders-random-calls"] = kinds["random"].calls


def _reorder(held: Draft, rubric: Rubric) -> str:
    """What changes order; what this rubric cannot have is greyed out with the reason."""
    possible = len(rubric.criteria) > 1
    reason = "All criteria in one call." if possible else "Needs two or more criteria: add one in step 2."
    scores = rubric.criteria[0].scores
    if not possible:
        second = '.st-key-orders-reorder [data-testid="stRadioGroup"] > div:nth-child(2) label'
        st.html(f"<style>{second} {{ opacity: 0.5; pointer-events: none; }}</style>")
        if st.session_state.get("orders-reorder") == "criteria":
            st.session_state["orders-reorder"] = "options"
    chosen = st.radio(
        "What changes order?",
        list(REORDER),
        format_func=lambda kind: f"Score options ({scores[0]} to {scores[-1]})" if kind == "options" else REORDER[kind],
        captions=["One criterion a call.", reason],
        key=preset("orders-reorder", held.design.reorder if possible else "options"),
        persist_state="session",
    )
    return chosen if possible and chosen else "options"


def _strategies(rubric: Rubric, reorder: str, repeats: int) -> tuple[StrategyPart, ...]:
    """The chosen strategies, each with its calls beside it. Raises LabError for orders that are none."""
    st.markdown(":small[Ordering strategies]")
    shown = list(rubric.criteria[0].scores) if reorder == "options" else [c.name for c in rubric.criteria]
    parts, fault = [], ""
    for kind, about in STRATEGIES.items():
        recommended = ", every order twice (recommended)" if kind == "balanced" and repeats == 2 else ""
        chosen = st.checkbox(
            f"**{about.title}**{recommended} :gray[· {_calls(kind, shown, repeats)}]", help=about.caption,
            key=preset(f"orders-{kind}", kind in {part.kind for part in draft().design.strategies}),
            persist_state="session",
        )  # fmt: skip
        if not chosen:
            continue
        try:
            parts.append(StrategyPart(kind=kind, **_detail(kind, shown)))
        except LabError as error:
            fault = fault or str(error)
    if fault:
        raise LabError(fault)
    if not parts:
        raise LabError("Choose at least one ordering strategy in step 4.")
    return tuple(parts)


def _detail(kind: StrategyKind, shown: Sequence[int | str]) -> dict[str, Any]:
    """What a strategy needs beside its kind: how many random orders, or the orders themselves."""
    if kind == "random":
        calls = st.number_input(
            "Random orders of an answer, each asked once", 1, 1_000, key=preset("orders-random-calls", 10),
            persist_state="session",
        )  # fmt: skip
        return {"calls": int(calls)}
    if kind == "all" and len(shown) > ALL_WITHOUT_ASKING:
        total = math.factorial(len(shown))
        if total > MAX_CALLS:
            raise LabError(
                f"All orders of {len(shown)} would be {total:,} calls an answer; at most {MAX_CALLS:,} are possible."
            )
        return {"calls": total}
    if kind in ("custom", "min-bias"):
        typed = st.text_area(
            "Orders, one a line" if kind == "custom" else "The order that a probe showed to be least biased",
            key=preset(f"orders-{kind}-text", " | ".join(map(str, reversed(shown))) if kind == "custom" else ""),
            placeholder=" | ".join(map(str, shown)), height=90, max_chars=10_000, persist_state="session",
        )  # fmt: skip
        orders = tuple(tuple(_names(line, shown)) for line in (typed or "").splitlines() if line.strip())
        Strategy(kind, kind, 1, None, orders).asked(list[Any](shown))  # raises for what is no order
        return {"orders": orders}
    return {}


def _names(line: str, shown: Sequence[int | str]) -> list[int | str]:
    """One typed order: what stands between bars, or between blanks and commas for scores."""
    bars = line.split("|") if "|" in line or isinstance(shown[0], str) else line.replace(",", " ").split()
    words = [word.strip() for word in bars if word.strip()]
    if isinstance(shown[0], str):
        return list(words)
    wrong = [word for word in words if not word.lstrip("-").isdigit()]
    if wrong:
        raise LabError(f"“{shorten(wrong[0])}” is no score; expected an order as {' '.join(map(str, shown))}.")
    return [int(word) for word in words]


def _calls(kind: StrategyKind, shown: Sequence[Any], repeats: int) -> str:
    """How many orders, and calls an answer, in words."""
    about = STRATEGIES[kind]
    if about.drawn:
        return f"{st.session_state.get('orders-random-calls', 10)} calls an answer"
    if about.orders is None:
        return "as many as you list"
    orders = about.orders(shown) if kind != "all" or len(shown) <= 6 else []
    if not orders:
        return "too many orders"
    times = 1 if kind == "all" and len(shown) > 4 else repeats
    return f"{count(len(orders), 'order')}, {count(len(orders) * times, 'call')} an answer"
