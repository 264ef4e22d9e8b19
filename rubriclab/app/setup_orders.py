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
from rubriclab.sinks.facts import AXES

CAPTIONS: dict[str, str] = {
    "options": "One criterion a call.",
    "criteria": "All criteria in one call.",
    "responses": "Each answer is scored alone besides, to tell what company does.",
    "pairs": "Which of two candidates' answers is better?",
    "lists": "Which of several candidates' answers is best?",
    "bare": "A score without a list of options: nothing is reordered.",
}
TEMPLATES = {
    "": "The letter alone; MT-Bench where feedback is asked for",
    "brief": "The letter alone",
    "mtbench": "MT-Bench (two turns, reference answers for mathematics)",
    "devbench": "DevBench",
}
ANSWERS = {"score": "The score alone", "feedback": "Feedback first, then the score"}


def summary() -> str:
    """What the closed step says."""
    held = draft()
    if 4 in held.problems:
        return held.problems[4]
    names = [
        STRATEGIES[part.kind].title if part.name in ("", part.kind) else part.name for part in held.design.strategies
    ]
    if held.design.axes[0] == "bare":
        return f"A bare score, asked {count(held.design.repeats, 'time')}"
    what = AXES[held.design.axes[0]].lower().replace("two answers", "pairs")
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
        more = _comparison(held, reorder)
        listed = _listed(rubric, reorder, more.get("k", 4))
        strategies = _strategies(listed, reorder, repeats) if listed else (StrategyPart(kind="fixed"),)
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
        chosen = {
            "reorder": reorder,
            "strategies": strategies,
            "repeats": int(repeats),
            "answer": answer,
            "seed": int(seed),
        }
        held.design = DesignPart(**chosen, **more)
    except ValidationError as fault:
        held.problems[4] = problems(fault)
    except LabError as fault:
        held.problems[4] = str(fault)
    if 4 in held.problems:
        st.error(safe(held.problems[4]), icon=":material/error:")


def fill(design: DesignPart) -> None:
    """Put the design of a study file in place of what was chosen."""
    draft().design = design
    st.session_state["orders-reorder"] = design.axes[0]
    st.session_state["orders-repeats"], st.session_state["orders-seed"] = design.repeats, design.seed
    st.session_state["orders-answer"], st.session_state["orders-k"] = design.answer, design.k
    st.session_state["orders-tie"], st.session_state["orders-baseline"] = design.tie, design.baseline
    st.session_state["orders-template"] = design.template
    kinds = {part.kind: part for part in design.strategies}
    for kind in STRATEGIES:
        st.session_state[f"orders-{kind}"] = kind in kinds
    for kind in ("custom", "min-bias"):
        if kind in kinds:
            st.session_state[f"orders-{kind}-text"] = "\n".join(" | ".join(map(str, o)) for o in kinds[kind].orders)
    if "random" in kinds and kinds["random"].calls:
        st.session_state["orders-random-calls"] = kinds["random"].calls


def _reorder(held: Draft, rubric: Rubric) -> str:
    """What a call lists; what this rubric or these data cannot have is greyed out with the reason."""
    reasons = _impossible(held, rubric)
    for number, kind in enumerate(CAPTIONS, 1):
        if kind in reasons:
            label = f'.st-key-orders-reorder [data-testid="stRadioGroup"] > div:nth-child({number}) label'
            st.html(f"<style>{label} {{ opacity: 0.5; pointer-events: none; }}</style>")
    if st.session_state.get("orders-reorder") in reasons:
        st.session_state["orders-reorder"] = "options"
    scores = rubric.criteria[0].scores
    own = held.design.axes[0]
    chosen = st.radio(
        "What changes order?",
        list(CAPTIONS),
        format_func=lambda kind: f"Score options ({scores[0]} to {scores[-1]})" if kind == "options" else AXES[kind],
        captions=[reasons.get(kind, caption) for kind, caption in CAPTIONS.items()],
        key=preset("orders-reorder", "options" if own in reasons else own),
        persist_state="session",
    )
    return str(chosen) if chosen and chosen not in reasons else "options"


def _impossible(held: Draft, rubric: Rubric) -> dict[str, str]:
    """Axis -> why it cannot be chosen: what is missing, and the step that adds it."""
    reasons = {} if len(rubric.criteria) > 1 else {"criteria": "Needs two or more criteria: add one in step 2."}
    if held.dataset is not None and len(held.dataset.items) < 2:
        reasons["responses"] = "Needs two answers or more: add them in step 1."
    most = len(_candidates(held)[1])
    for kind, needed in (("pairs", 2), ("lists", 3)):
        if held.dataset is not None and most < needed:
            words = "two" if needed == 2 else "three"
            reasons[kind] = f"Needs answers of {words} candidates to one instruction: name their column in step 1."
    return reasons


def _candidates(held: Draft) -> tuple[list[str], set[str]]:
    """(all candidates, those of the instruction that has most of them)."""
    groups: dict[str, set[str]] = {}
    for item in held.dataset.items if held.dataset else ():
        if item.candidate:
            groups.setdefault(item.prompt or item.instruction, set()).add(item.candidate)
    return sorted(set().union(*groups.values())), max(groups.values(), key=len, default=set())


def _comparison(held: Draft, reorder: str) -> dict[str, Any]:
    """What a call that shows several answers needs besides: how many, ties, a baseline, the prompt."""
    more: dict[str, Any] = {}
    if reorder in ("lists", "responses"):
        most = len(_candidates(held)[1]) if reorder == "lists" and held.dataset else 20
        least = 3 if reorder == "lists" else 2
        key = preset("orders-k", min(held.design.k, max(least, most)))
        st.session_state[key] = min(max(st.session_state[key], least), max(least, most))
        more["k"] = int(st.number_input("Answers in a call", least, max(least, most), key=key, persist_state="session"))
    if reorder in ("pairs", "lists"):
        left, middle, right = st.columns([1, 1.2, 1.6], vertical_alignment="bottom")
        more["tie"] = left.checkbox("A tie may be answered", key=preset("orders-tie", True), persist_state="session")
        names = ["", *_candidates(held)[0]]
        if st.session_state.get("orders-baseline", "") not in names:
            st.session_state["orders-baseline"] = ""
        more["baseline"] = middle.selectbox(
            "Compare only with", names, format_func=lambda name: shorten(name, 40) or "all with all",
            key=preset("orders-baseline", held.design.baseline), persist_state="session",
        )  # fmt: skip
        more["template"] = right.selectbox(
            "Prompt", list(TEMPLATES), format_func=TEMPLATES.__getitem__,
            key=preset("orders-template", held.design.template),
            persist_state="session",
        )  # fmt: skip
    return more


def _listed(rubric: Rubric, reorder: str, k: int) -> list[int | str]:
    """What a call lists, for counting orders and reading typed ones; candidates and answers by their rank."""
    if reorder == "options":
        return list(rubric.criteria[0].scores)
    if reorder == "criteria":
        return [criterion.name for criterion in rubric.criteria]
    return [] if reorder == "bare" else list(range(1, (2 if reorder == "pairs" else k) + 1))


def _strategies(shown: list[int | str], reorder: str, repeats: int) -> tuple[StrategyPart, ...]:
    """The chosen strategies, each with its calls beside it. Raises LabError for orders that are none."""
    st.markdown(":small[Ordering strategies]")
    parts, fault = [], ""
    for kind, about in STRATEGIES.items():
        recommended = ", every order twice (recommended)" if kind == "balanced" and repeats == 2 else ""
        chosen = st.checkbox(
            f"**{about.title}**{recommended} :gray[· {_calls(kind, shown, repeats, reorder)}]", help=about.caption,
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


def _calls(kind: StrategyKind, shown: Sequence[Any], repeats: int, reorder: str) -> str:
    """How many orders, and calls an answer, in words."""
    about = STRATEGIES[kind]
    if about.drawn:
        return f"{st.session_state.get('orders-random-calls', 10)} calls an answer"
    if about.orders is None:
        return "as many as you list"
    if kind == "balanced" and reorder in ("pairs", "lists"):  # the rotations alone (study/choices.py)
        return f"{count(len(shown), 'order')}, {count(len(shown) * repeats, 'call')} a comparison"
    orders = about.orders(shown) if kind != "all" or len(shown) <= 6 else []
    if not orders:
        return "too many orders"
    times = 1 if kind == "all" and len(shown) > 4 else repeats
    return f"{count(len(orders), 'order')}, {count(len(orders) * times, 'call')} an answer"
