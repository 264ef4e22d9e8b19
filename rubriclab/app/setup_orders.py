"""Step 4 of Set up: what changes order and how the orders are chosen in; the design of the study
out.
"""

import itertools
import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

import streamlit as st

from rubriclab.app import setup_references
from rubriclab.app.draft import Draft, changed, written
from rubriclab.app.forms import SETUP, ask, field, form
from rubriclab.app.frame import fold, safe
from rubriclab.app.setup_rubric import rubric_file
from rubriclab.model.data import Rubric
from rubriclab.model.judge_options import Packing
from rubriclab.model.orders import ALL_WITHOUT_ASKING, RANDOM_CALLS, STRATEGIES, Strategy
from rubriclab.model.study import DesignPart, IdStyle, StrategyPart, VaryPart, validated
from rubriclab.model.text import LabError, count, shorten
from rubriclab.study.options import FACTORS
from rubriclab.study.parts import deterministic
from rubriclab.words.phrases import readable
from rubriclab.words.subject import AXES

WORDS = SETUP["orders"]
CAPTIONS = WORDS["axes"]


def factor_label(name: str) -> str:
    """How a factor is called; a field of the request by its own name."""
    return name if name.startswith("extra.") else WORDS["factors"].get(name) or readable(name)


def summary(held: Draft) -> str:
    design = held.study.design
    names = [
        STRATEGIES[part.kind].title if part.name in ("", part.kind) else part.name
        for part in design.strategies
    ]
    factors = ", ".join(factor_label(name).lower() for name in design.vary.factors())
    varied = f"; varied: {factors}" if factors else ""
    if design.axes == ("bare",):
        return f"A bare score, asked {count(design.repeats, 'time')}{varied}"
    what = " and ".join(
        AXES[axis].lower().replace("two answers", "pairs") for axis in design.axes if axis != "bare"
    )
    what += ", and bare scores" * ("bare" in design.axes)
    said = f"{', '.join(shorten(name, 30) for name in names)} orders of the {what}"
    sure = design.repeats > 1 and all(deterministic(judge) for judge in held.study.judges)
    if sure and all(part.calls is None for part in design.strategies):
        return f"{said}, each once or twice{varied}"
    times = {1: "each once", 2: "every order twice"}.get(
        design.repeats, f"every order {design.repeats} times"
    )
    return f"{said}, {times}{varied}"


def body(held: Draft) -> None:
    design, rubric = held.study.design, held.rubric()
    axes = _axes(held, rubric)
    values: dict[str, Any] = {"reorder": axes} | _comparison(held, axes)
    shape = next((axis for axis in axes if axis != "bare"), "bare")
    shown = _listed(rubric, shape, values.get("k", design.k))
    if shown:
        values["strategies"] = _strategies(design, shown, shape)
    with st.expander("Repeats, seed and answer format", icon=":material/tune:"):
        fields = WORDS["fields"]
        answer = fields["answer"] | {"format_func": WORDS["answers"].__getitem__}
        values |= form(design, fields | {"answer": answer}, columns=2, key="orders")
    values["vary"] = _vary(held, rubric, axes)
    held.change(design=changed(design, **values))
    if held.study.data:
        draw = partial(setup_references.body, held)
        fold("Reference answers of each score", draw, icon="edit_note", key="orders-references")


def _axes(held: Draft, rubric: Rubric) -> list[str]:
    """What a call lists, once or several times; what this rubric or these data cannot have is
    greyed out with the reason.
    """
    reasons = _impossible(held, rubric)
    for number, kind in enumerate(CAPTIONS, 1):
        if kind in reasons:
            label = (
                f'.st-key-orders-axis [data-testid="stRadioGroup"] > div:nth-child({number}) label'
            )
            st.html(f"<style>{label} {{ opacity: 0.65; pointer-events: none; }}</style>")
    scores, own = rubric.criteria[0].scores, held.study.design.axes
    titles = AXES | {"options": f"Score options ({scores[0]} to {scores[-1]})"}
    first = ask(
        st.radio,
        "What changes order?",
        list(CAPTIONS),
        key="orders-axis",
        start=own[0],
        format_func=titles.__getitem__,
        captions=[reasons.get(kind, caption) for kind, caption in CAPTIONS.items()],
    )
    others = [kind for kind in CAPTIONS if kind != first and (kind not in reasons or kind in own)]
    st.session_state["orders-also"] = [
        kind for kind in st.session_state.get("orders-also", own[1:]) if kind in others
    ]
    also = ask(
        st.multiselect,
        "On the same answers also",
        others,
        key="orders-also",
        start=[],
        format_func=AXES.__getitem__,
        placeholder="nothing else",
    )
    for axis in (first, *also):
        if axis in reasons:
            raise LabError(reasons[axis])
    return [first, *also]


def _impossible(held: Draft, rubric: Rubric) -> dict[str, str]:
    """Axis -> why it cannot be chosen: what is missing, and the step that adds it."""
    reasons = (
        {}
        if len(rubric.criteria) > 1
        else {"criteria": "Needs two or more criteria: add one in step 2."}
    )
    if held.study.data and len(held.dataset().items) < 2:
        reasons["responses"] = "Needs two answers or more: add them in step 1."
    if held.study.data and not held.study.data[0].sample:
        most = len(_candidates(held)[1])
        for kind, needed, words in (("pairs", 2, "two"), ("lists", 3, "three")):
            if most < needed:
                cure = "name their column in step 1."
                reasons[kind] = f"Needs answers of {words} candidates to one instruction: {cure}"
    return reasons


def _candidates(held: Draft) -> tuple[list[str], set[str]]:
    """(all candidates, those of the instruction that has most of them), of the first data set."""
    groups: dict[str, set[str]] = {}
    for item in held.dataset().items if held.study.data else ():
        if item.candidate:
            groups.setdefault(item.prompt or item.instruction, set()).add(item.candidate)
    return sorted(set().union(*groups.values())), max(groups.values(), key=len, default=set())


def _comparison(held: Draft, axes: Sequence[str]) -> dict[str, Any]:
    """What a call that shows several answers needs besides: how many, ties, a baseline, the
    prompt.
    """
    design, more = held.study.design, dict[str, Any]()
    if {"lists", "responses"} & {*axes}:
        least = 3 if "lists" in axes else 2
        most = max(least, len(_candidates(held)[1])) if "lists" in axes and held.study.data else 20
        st.session_state["orders-k"] = min(
            max(st.session_state.get("orders-k", design.k), least), most
        )
        more["k"] = field(
            design, "k", "Answers in a call", key="orders", min_value=least, max_value=most
        )
    if {"pairs", "lists"} & {*axes}:
        left, middle, right = st.columns([1, 1.2, 1.6], vertical_alignment="bottom")
        more["tie"] = field(design, "tie", "Ties allowed", left, key="orders")
        more["baseline"] = field(
            design,
            "baseline",
            "Compare only with",
            middle,
            key="orders",
            options=["", *_candidates(held)[0]],
            format_func=lambda name: shorten(name, 40) or "all with all",
        )
        title = WORDS["templates"].__getitem__
        more["template"] = field(
            design, "template", "Prompt", right, key="orders", format_func=title
        )
    return more


def _listed(rubric: Rubric, reorder: str, k: int) -> list[int | str]:
    """What a call lists, for counting orders and reading typed ones; candidates and answers by
    their rank.
    """
    if reorder == "options":
        return list(rubric.criteria[0].scores)
    if reorder == "criteria":
        return [criterion.name for criterion in rubric.criteria]
    return [] if reorder == "bare" else list(range(1, (2 if reorder == "pairs" else k) + 1))


def _strategies(design: DesignPart, shown: list[int | str], axis: str) -> tuple[StrategyPart, ...]:
    """The chosen strategies, each with its calls beside it. Raises LabError for orders that are
    none.
    """
    st.markdown(":small[Ordering strategies]")
    parts: list[StrategyPart] = []
    faults: list[LabError] = []
    repeats = int(st.session_state.get("orders-repeats", design.repeats))
    for kind, about in STRATEGIES.items():
        first, *more = [part for part in design.strategies if part.kind == kind] or [
            StrategyPart(kind=kind)
        ]
        recommended = (
            ", every order twice (recommended)" if kind == "balanced" and repeats == 2 else ""
        )
        left, right = st.columns([4.6, 1], vertical_alignment="center")
        label = f"**{about.title}**{recommended} :gray[· {_calls(first, shown, repeats, axis)}]"
        start = first in design.strategies
        if not ask(left.checkbox, label, key=f"orders-{kind}", start=start, help=about.caption):
            continue
        try:
            calls = field(
                first,
                "calls",
                f"Calls of {about.title}",
                right,
                key=f"orders-{kind}",
                placeholder="calls",
                label_visibility="collapsed",
            )
            parts.append(changed(first, **{"calls": calls} | _detail(first, shown)))
        except LabError as fault:
            faults.append(fault)
        for part in more:
            st.caption(
                f"and as the study file says: {safe(part.name, 60)}, "
                f"{count(part.calls or 0, 'call')}"
            )
        parts += more
    if not parts:
        faults.append(LabError("Choose at least one ordering strategy in step 4."))
    if faults:
        raise faults[0]
    ranks = [part.name or part.kind for part in (*design.strategies, *parts)]
    # Factors are asked under the first.
    return tuple(sorted(parts, key=lambda part: ranks.index(part.name or part.kind)))


def _detail(part: StrategyPart, shown: Sequence[int | str]) -> dict[str, Any]:
    """What a strategy needs beside its kind and calls: the orders themselves, a number of calls
    where they are many.
    """
    if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING:
        return {"calls": math.factorial(len(shown))}  # more than are possible are refused
    if not STRATEGIES[part.kind].listed:
        return {}
    before = "\n".join(" | ".join(map(str, order)) for order in part.orders)
    label, default = "The order that a probe showed to be least biased", ""
    if part.kind == "custom":
        label, default = "Orders, one a line", " | ".join(map(str, reversed(shown)))
    typed = ask(
        st.text_area,
        label,
        key=f"orders-{part.kind}-text",
        start=before or default,
        height=90,
        max_chars=10_000,
        placeholder=" | ".join(map(str, shown)),
    )
    if typed == before and part.orders:
        return {}
    orders = tuple(typed_order(line, shown) for line in (typed or "").splitlines() if line.strip())
    Strategy(part.kind, part.kind, 1, None, orders).asked(
        list[Any](shown)
    )  # raises for what is no order
    return {"orders": orders}


def typed_order(line: str, shown: Sequence[int | str]) -> tuple[int | str, ...]:
    """One typed order: what stands between bars, or between blanks and commas for scores."""
    numbers = {str(option): option for option in shown}
    bars = (
        line.split("|")
        if "|" in line or isinstance(shown[0], str)
        else line.replace(",", " ").split()
    )
    return tuple(numbers.get(word.strip(), word.strip()) for word in bars if word.strip())


def _calls(part: StrategyPart, shown: Sequence[Any], repeats: int, axis: str) -> str:
    """How many orders and calls an answer has, in words."""
    about, choices = STRATEGIES[part.kind], axis in ("pairs", "lists")
    subject = "a comparison" if choices else "an answer"
    if part.calls or about.drawn:
        return f"{count(part.calls or RANDOM_CALLS, 'call')} {subject}"
    if about.orders is None:
        return "as many as you list"
    if part.kind == "all" and len(shown) > 6:
        return "too many orders"
    orders = len(
        shown if part.kind == "balanced" and choices else about.orders(shown)
    )  # of candidates, rotations
    calls = orders * (1 if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING else repeats)
    return f"{count(orders, 'order')}, {count(calls, 'call')} {subject}"


# ---------------------------------------------------------------- factors


def _vary(held: Draft, rubric: Rubric, axes: Sequence[str]) -> VaryPart:
    """The factors of the study, the levels of each; the first level is the baseline."""
    vary = held.study.design.vary
    with st.expander(
        "Vary", icon=":material/alt_route:", key="orders-vary", expanded=bool(vary.factors())
    ):
        st.caption(
            "Two levels or more of what you vary. The first is the baseline; type a level that is "
            "not listed."
        )
        efforts = SETUP["judge"]["fields"]["reasoning_effort"]["options"]
        known: dict[str, Sequence[Any]] = {
            "ids": get_args(IdStyle),
            "reference": [0, *rubric.criteria[0].scores],
            "scale": range(2, 11),
            "wording": _wordings(held, rubric),
            "temperature": [0.0, 0.3, 0.6, 1.0],
            "reasoning_effort": efforts,
        }
        if vary.packing or any(judge.about.typed_questions for judge in held.study.judges):
            known["packing"] = get_args(Packing)
        values: dict[str, Any] = {"prompt": vary.prompt}
        columns = itertools.cycle(st.columns(2))
        for (name, levels), column in zip(known.items(), columns, strict=False):
            if getattr(vary, name) or set(FACTORS.get(name, axes)) & {*axes}:
                with column:
                    values[name] = _levels(name, getattr(vary, name), levels)
        fields = ask(
            st.multiselect,
            "Fields of the request",
            list(vary.extra),
            key="orders-extra",
            start=list(vary.extra),
            accept_new_options=True,
            placeholder="chat_template_kwargs.enable_thinking",
            help="Sent to a server with every call; dots lead into a field. Of its levels true and "
            "false switch it.",
        )
        values["extra"] = {
            name: _levels(f"extra.{name}", vary.extra.get(name, ()), [True, False])
            for name in fields
        }
        values["crossed"] = field(
            vary, "crossed", "All combinations of the levels", key="orders-vary"
        )
    own = held.study.rubric
    if own is not None and own.name in values.get("wording", ()):
        held.change(rubrics=held.study.rubrics | {own.name: own})
    return validated(VaryPart, {name: value for name, value in values.items() if value})


def _levels(name: str, before: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
    """The levels of one factor as they were chosen or typed. Raises LabError for a single one."""
    text = lambda level: json.dumps(level) if isinstance(level, bool) else shorten(str(level), 40)  # noqa: E731
    chosen = ask(
        st.multiselect,
        factor_label(name),
        list(dict.fromkeys([*before, *known])),
        key=f"orders-vary-{name}",
        start=list(before),
        format_func=text,
        accept_new_options=True,
        placeholder="not varied",
    )
    if len(chosen) == 1 or (name.startswith("extra.") and not chosen):
        raise LabError(
            f"{shorten(factor_label(name))}: choose two levels or more; the first is the baseline."
        )
    return tuple(
        _level(level) if isinstance(level, str) and level not in known else level
        for level in chosen
    )


def _level(typed: str) -> Any:
    """What was typed as a level: a number, true or false, else a word."""
    try:
        value = json.loads(typed.strip())
    except ValueError:
        return typed
    return value if isinstance(value, bool | int | float) else typed


def _wordings(held: Draft, rubric: Rubric) -> list[str]:
    """Names of the rubrics that can be varied: the study's own first, then uploaded ones, kept in
    the study itself.
    """
    study = held.study
    if (file := rubric_file("Another wording of the rubric", held, "wording")) is not None:
        held.change(rubrics=study.rubrics | {file[0]: written(file[1])})
        st.rerun()
    own = study.rubric.file or study.rubric.name if study.rubric else rubric.name
    return list(dict.fromkeys([*study.design.vary.wording, own, *study.rubrics]))
