"""Step 4 of Set up: what changes order and how the orders are chosen in; the design of the study out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, get_args

import streamlit as st

from rubriclab.app import setup_references
from rubriclab.app.draft import Draft, changed, made, written
from rubriclab.app.forms import ask, field, form
from rubriclab.app.frame import safe
from rubriclab.app.setup_judge import EFFORTS
from rubriclab.app.setup_rubric import rubric_file
from rubriclab.model.data import Rubric
from rubriclab.model.orders import ALL_WITHOUT_ASKING, RANDOM_CALLS, STRATEGIES, Strategy
from rubriclab.model.study import DesignPart, IdStyle, StrategyPart, VaryPart
from rubriclab.model.text import LabError, count, shorten
from rubriclab.sinks.facts import AXES
from rubriclab.study.options import FACTORS

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


def summary(held: Draft) -> str:
    """What the closed step says."""
    design = held.study.design
    names = [STRATEGIES[part.kind].title if part.name in ("", part.kind) else part.name for part in design.strategies]
    factors = ", ".join(FACTOR_LABELS.get(name, name).lower() for name in design.vary.factors())
    varied = f"; varied: {factors}" if factors else ""
    if design.axes == ("bare",):
        return f"A bare score, asked {count(design.repeats, 'time')}{varied}"
    what = " and ".join(AXES[axis].lower().replace("two answers", "pairs") for axis in design.axes if axis != "bare")
    what += ", and bare scores" * ("bare" in design.axes)
    times = {1: "each once", 2: "every order twice"}.get(design.repeats, f"every order {design.repeats} times")
    return f"{', '.join(shorten(name, 30) for name in names)} orders of the {what}, {times}{varied}"


def body(held: Draft) -> None:
    """The open step."""
    design, rubric = held.study.design, held.rubric()
    axes = _axes(held, rubric)
    values: dict[str, Any] = {"reorder": axes[0] if len(axes) == 1 else axes} | _comparison(held, axes)
    shape = next((axis for axis in axes if axis != "bare"), "bare")
    listed = _listed(rubric, shape, values.get("k", design.k))
    if listed:
        values["strategies"] = _strategies(design, listed, shape)
    values |= _repeats(design)
    values["vary"] = _vary(held, rubric, axes)
    held.change(design=changed(design, **values))
    if held.study.data:
        setup_references.fold(held)


def _repeats(design: DesignPart) -> dict[str, Any]:
    about = "Twice or more: the difference within one order is the judge's own noise."
    part = "A share below 1, or so many questions of each task; the others are asked once in each order."
    fields: dict[str, tuple[str, dict[str, Any]]] = {
        "repeats": ("How often each order is asked", {"help": about}),
        "repeats_on": ("Repeats only on", {"help": part, "placeholder": "all questions"}),
        "answer": ("Answer format", {"format_func": ANSWERS.__getitem__}),
        "seed": ("Seed", {}),
    }
    with st.expander("Repeats, seed and answer format", icon=":material/tune:"):
        return form(design, fields, columns=2, key="orders")


def _axes(held: Draft, rubric: Rubric) -> list[str]:
    """What a call lists, once or several times; what this rubric or these data cannot have is greyed out with the reason."""
    reasons = _impossible(held, rubric)
    for number, kind in enumerate(CAPTIONS, 1):
        if kind in reasons:
            label = f'.st-key-orders-axis [data-testid="stRadioGroup"] > div:nth-child({number}) label'
            st.html(f"<style>{label} {{ opacity: 0.5; pointer-events: none; }}</style>")
    scores, own = rubric.criteria[0].scores, held.study.design.axes
    titles = AXES | {"options": f"Score options ({scores[0]} to {scores[-1]})"}
    first = ask(
        st.radio, "What changes order?", list(CAPTIONS), key="orders-axis", start=own[0], format_func=titles.__getitem__,
        captions=[reasons.get(kind, caption) for kind, caption in CAPTIONS.items()],
    )  # fmt: skip
    others = [kind for kind in CAPTIONS if kind != first and (kind not in reasons or kind in own)]
    st.session_state["orders-also"] = [kind for kind in st.session_state.get("orders-also", own[1:]) if kind in others]
    also = ask(
        st.multiselect, "On the same answers also", others, key="orders-also", start=[], format_func=AXES.__getitem__,
        placeholder="nothing else",
    )  # fmt: skip
    for axis in (first, *also):
        if axis in reasons:
            raise LabError(reasons[axis])
    return [first, *also]


def _impossible(held: Draft, rubric: Rubric) -> dict[str, str]:
    """Axis -> why it cannot be chosen: what is missing, and the step that adds it."""
    reasons = {} if len(rubric.criteria) > 1 else {"criteria": "Needs two or more criteria: add one in step 2."}
    if not held.study.data:
        return reasons
    if len(held.dataset().items) < 2:
        reasons["responses"] = "Needs two answers or more: add them in step 1."
    most = len(_candidates(held)[1])
    for kind, needed in (("pairs", 2), ("lists", 3)):
        if most < needed and not held.study.data[0].sample:
            words = "two" if needed == 2 else "three"
            reasons[kind] = f"Needs answers of {words} candidates to one instruction: name their column in step 1."
    return reasons


def _candidates(held: Draft) -> tuple[list[str], set[str]]:
    """(all candidates, those of the instruction that has most of them), of the first data set."""
    groups: dict[str, set[str]] = {}
    for item in held.dataset().items if held.study.data else ():
        if item.candidate:
            groups.setdefault(item.prompt or item.instruction, set()).add(item.candidate)
    return sorted(set().union(*groups.values())), max(groups.values(), key=len, default=set())


def _comparison(held: Draft, axes: Sequence[str]) -> dict[str, Any]:
    """What a call that shows several answers needs besides: how many, ties, a baseline, the prompt."""
    design, more = held.study.design, dict[str, Any]()
    if {"lists", "responses"} & {*axes}:
        least = 3 if "lists" in axes else 2
        most = max(least, len(_candidates(held)[1])) if "lists" in axes and held.study.data else 20
        st.session_state["orders-k"] = min(max(st.session_state.get("orders-k", design.k), least), most)
        more["k"] = field(design, "k", "Answers in a call", key="orders", min_value=least, max_value=most)
    if {"pairs", "lists"} & {*axes}:
        left, middle, right = st.columns([1, 1.2, 1.6], vertical_alignment="bottom")
        more["tie"] = field(design, "tie", "A tie may be answered", left, key="orders")
        more["baseline"] = field(
            design, "baseline", "Compare only with", middle, key="orders", options=["", *_candidates(held)[0]],
            format_func=lambda name: shorten(name, 40) or "all with all",
        )  # fmt: skip
        title = TEMPLATES.__getitem__
        more["template"] = field(design, "template", "Prompt", right, key="orders", format_func=title)
    return more


def _listed(rubric: Rubric, reorder: str, k: int) -> list[int | str]:
    """What a call lists, for counting orders and reading typed ones; candidates and answers by their rank."""
    if reorder == "options":
        return list(rubric.criteria[0].scores)
    if reorder == "criteria":
        return [criterion.name for criterion in rubric.criteria]
    return [] if reorder == "bare" else list(range(1, (2 if reorder == "pairs" else k) + 1))


def _strategies(design: DesignPart, shown: list[int | str], axis: str) -> tuple[StrategyPart, ...]:
    """The chosen strategies, each with its calls beside it. Raises LabError for orders that are none."""
    st.markdown(":small[Ordering strategies]")
    parts: list[StrategyPart] = []
    fault = ""
    repeats = int(st.session_state.get("orders-repeats", design.repeats))
    for kind, about in STRATEGIES.items():
        same = [part for part in design.strategies if part.kind == kind] or [StrategyPart(kind=kind)]
        recommended = ", every order twice (recommended)" if kind == "balanced" and repeats == 2 else ""
        left, right = st.columns([4.6, 1], vertical_alignment="center")
        label = f"**{about.title}**{recommended} :gray[· {_calls(same[0], shown, repeats, axis)}]"
        start = same[0] in design.strategies
        chosen = ask(left.checkbox, label, key=f"orders-{kind}", start=start, help=about.caption)
        if not chosen:
            continue
        try:
            calls = field(
                same[0], "calls", f"Calls of {about.title}", right, key=f"orders-{kind}", placeholder="calls",
                label_visibility="collapsed",
            )  # fmt: skip
            parts.append(changed(same[0], **{"calls": calls} | _detail(same[0], shown)))
        except LabError as error:
            fault = fault or str(error)
        parts += same[1:]
        for part in same[1:]:
            st.caption(f"and as the study file says: {safe(part.name, 60)}, {count(part.calls or 0, 'call')}")
    if fault:
        raise LabError(fault)
    if not parts:
        raise LabError("Choose at least one ordering strategy in step 4.")
    before = [part.name or part.kind for part in design.strategies]
    ranks = {name: rank for rank, name in enumerate(before)}  # the first is the one that factors are asked under
    return tuple(sorted(parts, key=lambda part: ranks.get(part.name or part.kind, len(ranks))))


def _detail(part: StrategyPart, shown: Sequence[int | str]) -> dict[str, Any]:
    """What a strategy needs beside its kind and calls: the orders themselves, a number of calls where they are many."""
    if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING:
        return {"calls": math.factorial(len(shown))}  # more than are possible are refused
    if part.kind not in ("custom", "min-bias"):
        return {}
    before = "\n".join(" | ".join(map(str, order)) for order in part.orders)
    default = " | ".join(map(str, reversed(shown))) if part.kind == "custom" else ""
    typed = ask(
        st.text_area, "Orders, one a line" if part.kind == "custom" else "The order that a probe showed to be least biased",
        key=f"orders-{part.kind}-text", start=before or default, placeholder=" | ".join(map(str, shown)), height=90,
        max_chars=10_000,
    )  # fmt: skip
    if typed == before and part.orders:
        return {}
    orders = tuple(tuple(_names(line, shown)) for line in (typed or "").splitlines() if line.strip())
    Strategy(part.kind, part.kind, 1, None, orders).asked(list[Any](shown))  # raises for what is no order
    return {"orders": orders}


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


def _calls(part: StrategyPart, shown: Sequence[Any], repeats: int, axis: str) -> str:
    """How many orders and calls an answer has, in words."""
    about, what = STRATEGIES[part.kind], "comparison" if axis in ("pairs", "lists") else "answer"
    if part.calls or about.orders is None:
        most = part.calls or RANDOM_CALLS
        return (
            f"{count(most, 'call')} a{'n' * (what == 'answer')} {what}"
            if about.drawn or part.calls
            else "as many as you list"
        )
    if part.kind == "all" and len(shown) > 6:
        return "too many orders"
    orders = (
        len(about.orders(shown)) if part.kind != "balanced" or what == "answer" else len(shown)
    )  # of these, rotations
    calls = orders * (1 if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING else repeats)
    return f"{count(orders, 'order')}, {count(calls, 'call')} a{'n' * (what == 'answer')} {what}"


# ---------------------------------------------------------------- factors


FACTOR_LABELS = {
    "ids": "Score labels",
    "reference": "Reference answer shown",
    "scale": "Number of scores",
    "wording": "Wording of the rubric",
    "temperature": "Temperature",
    "reasoning_effort": "Reasoning effort",
}


def _vary(held: Draft, rubric: Rubric, axes: Sequence[str]) -> VaryPart:
    """The factors of the study, the levels of each; the first level is the baseline."""
    vary = held.study.design.vary
    fold = st.expander("Vary", icon=":material/alt_route:", key="orders-vary", expanded=bool(vary.factors()))
    with fold:
        st.caption("Two levels or more of what you vary. The first is the baseline; type a level that is not listed.")
        wordings = _wordings(held, rubric)
        known: dict[str, Sequence[Any]] = {
            "ids": get_args(IdStyle),
            "reference": [0, *rubric.criteria[0].scores],
            "scale": range(2, 11),
            "wording": wordings,
            "temperature": [0.0, 0.3, 0.6, 1.0],
            "reasoning_effort": EFFORTS,
        }
        values: dict[str, Any] = {}
        columns = st.columns(2)
        for number, (name, levels) in enumerate(known.items()):
            if getattr(vary, name) or set(FACTORS.get(name, axes)) & {*axes}:
                with columns[number % 2]:
                    values[name] = _levels(name, getattr(vary, name), levels)
        fields = ask(
            st.multiselect, "Fields of the request", list(vary.extra), key="orders-extra", start=list(vary.extra),
            accept_new_options=True, placeholder="chat_template_kwargs.enable_thinking",
            help="Sent to a server with every call; dots lead into a field. Of its levels true and false switch it.",
        )  # fmt: skip
        values["extra"] = {name: _levels(f"extra.{name}", vary.extra.get(name, ()), [True, False]) for name in fields}
        values["crossed"] = field(vary, "crossed", "All combinations of the levels", key="orders-vary")
    own = held.study.rubric
    if own is not None and own.name in values.get("wording", ()):
        held.change(rubrics=held.study.rubrics | {own.name: own})
    return made(VaryPart, {name: value for name, value in values.items() if value})


def _levels(name: str, before: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
    """The levels of one factor as they were chosen or typed. Raises LabError for a single one."""
    label, key = FACTOR_LABELS.get(name, name), f"orders-vary-{name}"
    text = lambda level: json.dumps(level) if isinstance(level, bool) else shorten(str(level), 40)  # noqa: E731
    chosen = ask(
        st.multiselect, label, list(dict.fromkeys([*before, *known])), key=key, start=list(before), format_func=text,
        accept_new_options=True, placeholder="not varied",
    )  # fmt: skip
    if len(chosen) == 1 or (name.startswith("extra.") and not chosen):
        raise LabError(f"{shorten(label)}: choose two levels or more; the first is the baseline.")
    return tuple(_level(level) if isinstance(level, str) and level not in known else level for level in chosen)


def _level(typed: str) -> Any:
    """What was typed as a level: a number, true or false, else a word."""
    try:
        value = json.loads(typed.strip())
    except ValueError:
        return typed
    return value if isinstance(value, bool | int | float) else typed


def _wordings(held: Draft, rubric: Rubric) -> list[str]:
    """Names of the rubrics that can be varied: the study's own first, then uploaded ones, kept in the study itself."""
    study = held.study
    if (file := rubric_file("Another wording of the rubric", held, "wording")) is not None:
        held.change(rubrics=study.rubrics | {file[0]: written(file[1])})
        st.rerun()
    own = study.rubric.file or study.rubric.name if study.rubric else rubric.name
    return list(dict.fromkeys([*study.design.vary.wording, own, *study.rubrics]))
