"""Draw step 4 of Set up: what changes order, in which orders it is asked, and what else varies."""

import itertools
import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

import pandas as pd
import streamlit as st

from rubriclab.app import setup_examples, setup_references
from rubriclab.app.draft import Draft, changed, written
from rubriclab.app.forms import SETUP, ask, field, form
from rubriclab.app.frame import fold, safe
from rubriclab.app.setup_rubric import rubric_file
from rubriclab.model.data import Rubric
from rubriclab.model.judge_options import Packing
from rubriclab.model.orders import (
    ALL_WITHOUT_ASKING,
    RANDOM_CALLS,
    STRATEGIES,
    Strategy,
    orders_of_examples,
)
from rubriclab.model.study import (
    AnswerFormat,
    DesignPart,
    IdStyle,
    StrategyPart,
    VaryPart,
    validated,
)
from rubriclab.model.text import LabError, count, shorten
from rubriclab.study.options import FACTORS
from rubriclab.study.parts import deterministic
from rubriclab.words.phrases import readable
from rubriclab.words.subject import AXES

WORDS = SETUP["orders"]
MOST_EXPOSED = 12
"""Options of a table of exposure: a longer one would not be read."""
CAPTIONS = WORDS["axes"]
WIDE = ("answer", "sections")
"""Factors whose levels are too long for half of the page's width."""


def factor_label(name: str) -> str:
    """Return the name of a factor on the page; a field of the request has its own name."""
    return name if name.startswith("extra.") else WORDS["factors"].get(name) or readable(name)


def summary(held: Draft) -> str:
    """Return what the closed step says."""
    design = held.study.design
    factors = ", ".join(factor_label(name).lower() for name in design.vary.factors())
    varied = f"; varied: {factors}" if factors else ""
    if design.axes == ("bare",):
        return f"A bare score, asked {count(design.repeats, 'time')}{varied}"
    names = [
        STRATEGIES[part.kind].title if part.name in ("", part.kind) else part.name
        for part in design.strategies
    ]
    reordered = [AXES[axis].lower() for axis in design.axes if axis != "bare"]
    what = " and ".join(reordered).replace("two answers", "pairs")
    if "bare" in design.axes:
        what += ", and bare scores"
    orders = f"{', '.join(shorten(name, 30) for name in names)} orders of the {what}"
    alone = "; each criterion by itself too" if design.alone else ""
    return f"{orders}, {_how_often(held)}{alone}{varied}"


def _how_often(held: Draft) -> str:
    """Say how often each order is asked."""
    design = held.study.design
    # A judge whose replies repeat exactly is asked twice only for a sample of its answers.
    exact = design.repeats > 1 and all(deterministic(judge) for judge in held.study.judges)
    if exact and all(part.calls is None for part in design.strategies):
        return "each once or twice"
    if design.repeats == 1:
        return "each once"
    if design.repeats == 2:
        return "every order twice"
    return f"every order {design.repeats} times"


def body(held: Draft) -> None:
    """Draw the open step, and change the draft's design. Raises LabError for an invalid choice."""
    design, rubric = held.study.design, held.rubric()
    axes = _axes(held, rubric)
    values: dict[str, Any] = {"reorder": axes} | _comparison(held, axes)
    behind_examples = axes == ["examples"]
    if behind_examples:
        setup_examples.body(held)
    elif held.study.examples is not None:
        held.change(examples=None)
    reordered = [axis for axis in axes if axis != "bare"]
    first = reordered[0] if reordered else "bare"
    shown = _listed(held, rubric, first, values.get("k", design.k))
    if shown:
        values["strategies"] = _strategies(design, shown, first)
        if first in ("options", "criteria", "responses", "examples"):
            _exposure(values["strategies"], shown, first)
    values["alone"] = _alone(held, rubric, axes)
    with st.expander("Repeats, seed and answer format", icon=":material/tune:"):
        fields = WORDS["fields"]
        answer = fields["answer"] | {"format_func": WORDS["answers"].__getitem__}
        values |= form(design, fields | {"answer": answer}, columns=2, key="orders")
    if behind_examples:
        # No results are known for examples with these.
        values |= {"vary": VaryPart(), "stop": None}
    else:
        values["vary"] = _vary(held, rubric, axes)
    held.change(design=changed(design, **values))
    if behind_examples:
        _refuse_examples(held)
    if held.study.data:
        draw = partial(setup_references.body, held)
        fold("Reference answers for each score", draw, icon="edit_note", key="orders-references")


def _refuse_examples(held: Draft) -> None:
    """Raise LabError if examples are missing, or their orders would be drawn."""
    part = held.study.examples
    if part is None or part.file:
        raise LabError(setup_examples.NOT_HERE)
    if any(STRATEGIES[strategy.kind].drawn for strategy in held.study.design.strategies):
        raise LabError("Examples need the same orders for all answers. Choose balanced orders.")


def _axes(held: Draft, rubric: Rubric) -> list[str]:
    """Ask what changes order, once or several times.

    What this rubric or these data make impossible is greyed out with the reason. Streamlit cannot
    disable a single choice, so a style does that, and a typed one is refused below.
    """
    reasons = _impossible(held, rubric)
    for number, kind in enumerate(CAPTIONS, 1):
        if kind in reasons:
            choice = '.st-key-orders-axis [data-testid="stRadioGroup"] > div'
            label = f"{choice}:nth-child({number}) label"
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
    others = [
        kind
        for kind in CAPTIONS
        if kind not in (first, "examples")
        and first != "examples"
        and (kind not in reasons or kind in own)
    ]
    # A chosen axis that is no longer offered would be an error in the widget.
    st.session_state["orders-also"] = [
        kind for kind in st.session_state.get("orders-also", own[1:]) if kind in others
    ]
    also = ask(
        st.multiselect,
        "Also reorder, for the same answers",
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
    """Return why an axis cannot be chosen, by axis: what is missing, and which step adds it."""
    reasons = {}
    if len(rubric.criteria) < 2:
        reasons["criteria"] = "Needs two or more criteria. Add one in step 2."
    if not held.study.data:
        return reasons
    if len(held.dataset().items) < 2:
        reasons["responses"] = "Needs two or more answers. Add them in step 1."
    if not held.study.data[0].sample:  # the sample has drafts of several candidates
        most = len(_candidates(held)[1])
        for kind, needed, words in (("pairs", 2, "two"), ("lists", 3, "three")):
            if most < needed:
                reasons[kind] = (
                    f"Needs answers of {words} candidates to one prompt. Choose the column "
                    "that names the candidates in step 1."
                )
    return reasons


def _candidates(held: Draft) -> tuple[list[str], set[str]]:
    """Return all candidates of the first data set, and those of the prompt that has most."""
    by_prompt: dict[str, set[str]] = {}
    if held.study.data:
        for item in held.dataset().items:
            if item.candidate:
                by_prompt.setdefault(item.prompt or item.instruction, set()).add(item.candidate)
    every = sorted(set().union(*by_prompt.values()))
    return every, max(by_prompt.values(), key=len, default=set())


def _comparison(held: Draft, axes: Sequence[str]) -> dict[str, Any]:
    """Ask what a call needs that shows several answers: how many, ties, a baseline, the prompt."""
    design, values = held.study.design, dict[str, Any]()
    if {"lists", "responses"} & {*axes}:
        least, most = 2, 20
        if "lists" in axes:
            least = 3
            if held.study.data:  # no prompt has answers of more candidates
                most = max(least, len(_candidates(held)[1]))
        k = st.session_state.get("orders-k", design.k)
        st.session_state["orders-k"] = min(max(k, least), most)
        values["k"] = field(
            design, "k", "Answers per call", key="orders", min_value=least, max_value=most
        )
    if {"pairs", "lists"} & {*axes}:
        left, middle, right = st.columns([1, 1.2, 1.6], vertical_alignment="bottom")
        values["tie"] = field(design, "tie", "Allow ties", left, key="orders")
        values["baseline"] = field(
            design,
            "baseline",
            "Compare only with",
            middle,
            key="orders",
            options=["", *_candidates(held)[0]],
            format_func=lambda name: shorten(name, 40) or "all with all",
        )
        title = WORDS["templates"].__getitem__
        values["template"] = field(
            design, "template", "Judge prompt", right, key="orders", format_func=title
        )
    return values


def _alone(held: Draft, rubric: Rubric, axes: Sequence[str]) -> bool:
    """Ask whether each criterion is also asked by itself; False where that is not possible.

    A prompt of the user's own and factors rule it out.
    """
    study = held.study
    design = study.design
    own = bool(study.prompt)
    if list(axes) != ["criteria"] or own or design.vary.factors():
        return False
    label = WORDS["alone"]["label"]
    if study.data:
        repeats = int(st.session_state.get("orders-repeats", design.repeats))
        calls = _calls_alone(held, len(rubric.criteria), repeats)
        about = "about " if any(map(deterministic, study.judges)) else ""
        label += f": {about}{count(calls, 'more call')}"
    return bool(
        ask(
            st.checkbox,
            label,
            key="orders-alone",
            start=design.alone,
            help=WORDS["alone"]["help"],
        )
    )


def _calls_alone(held: Draft, criteria: int, repeats: int) -> int:
    """Return how many calls ask each criterion of each answer by itself.

    A judge whose replies repeat exactly is asked again about few answers; that is left out.
    """
    texts = len(held.dataset().items)
    calls = 0
    for judge in held.study.judges:
        calls += texts * criteria * (1 if deterministic(judge) else max(2, repeats))
    return calls


def _listed(held: Draft, rubric: Rubric, reorder: str, k: int) -> list[int | str]:
    """Return what a call lists, to count orders and to read typed ones.

    Candidates, answers and examples are named by their rank.
    """
    if reorder == "examples":
        part = held.study.examples
        return list(range(1, len(part.shown) + 1)) if part is not None else []
    if reorder == "options":
        return list(rubric.criteria[0].scores)
    if reorder == "criteria":
        return [criterion.name for criterion in rubric.criteria]
    if reorder == "bare":
        return []
    answers = 2 if reorder == "pairs" else k
    return list(range(1, answers + 1))


def _strategies(design: DesignPart, shown: list[int | str], axis: str) -> tuple[StrategyPart, ...]:
    """Ask for strategies, each with its calls. Raises LabError for invalid orders."""
    st.markdown(":small[Ordering strategies]")
    parts: list[StrategyPart] = []
    faults: list[LabError] = []
    repeats = int(st.session_state.get("orders-repeats", design.repeats))
    for kind, about in STRATEGIES.items():
        known = [part for part in design.strategies if part.kind == kind]
        first = known[0] if known else StrategyPart(kind=kind)
        left, right = st.columns([4.6, 1], vertical_alignment="center")
        label = f"**{about.title}**"
        if kind == "balanced" and repeats == 2:
            label += ", every order twice (recommended)"
        label += f" :gray[· {_calls(first, shown, repeats, axis)}]"
        start = first in design.strategies
        if not ask(left.checkbox, label, key=f"orders-{kind}", start=start, help=about.caption):
            continue
        # An error must not hide the strategies below, so it is raised after all are drawn.
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
        for part in known[1:]:
            calls_text = count(part.calls or 0, "call")
            st.caption(f"Also from the study file: {safe(part.name, 60)}, {calls_text}")
        parts += known[1:]
    if not parts:
        faults.append(LabError("Choose at least one ordering strategy in step 4."))
    if faults:
        raise faults[0]
    # The study's strategies come first in their own order: factors are asked under the first one.
    names = [part.name or part.kind for part in (*design.strategies, *parts)]
    return tuple(sorted(parts, key=lambda part: names.index(part.name or part.kind)))


def _exposure(parts: Sequence[StrategyPart], shown: Sequence[int | str], axis: str) -> None:
    """Show how often each strategy's different orders put each option at each position.

    Xu et al. v1, section 3: balanced orders show every option equally often at every position.
    Drawn orders are known only when the run is planned.
    """
    known = {
        part.name or part.kind: orders
        for part in parts
        if (orders := _different_orders(part, shown, axis))
    }
    if not known or len(shown) > MOST_EXPOSED:
        return
    with st.expander("How often each option is at each position", icon=":material/grid_on:"):
        for name, orders in known.items():
            counts = exposure_of(orders, shown)
            even = len({count_of for row in counts for count_of in row}) == 1
            said = "every option equally often at every position"
            if not even:
                said = "not every option equally often at every position"
            st.markdown(f"**{safe(name, 40)}** · {count(len(orders), 'order')}: {said}")
            table = pd.DataFrame(
                counts,
                index=[str(option) for option in shown],
                columns=[f"Position {k}" for k in range(1, len(shown) + 1)],
            )
            st.dataframe(table, width="content")
        st.caption("Of the orders that are shown; repeats show each of them as often again.")


def _different_orders(
    part: StrategyPart, shown: Sequence[int | str], axis: str
) -> Sequence[Sequence[int | str]]:
    """Return the orders that are known before a run: listed ones, or those of the strategy."""
    about = STRATEGIES[part.kind]
    if part.orders:
        return part.orders
    if axis == "examples" and part.kind == "balanced":
        return orders_of_examples(list[Any](shown))
    if about.drawn or about.orders is None:
        return ()
    if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING:
        return ()
    return about.orders(list[Any](shown))


def exposure_of(
    orders: Sequence[Sequence[int | str]], shown: Sequence[int | str]
) -> list[list[int]]:
    """Return (options, positions): how many of the orders put each option at each position."""
    return [
        [sum(order[position] == option for order in orders) for position in range(len(shown))]
        for option in shown
    ]


def _detail(part: StrategyPart, shown: Sequence[int | str]) -> dict[str, Any]:
    """Return what a strategy needs beyond its kind and calls.

    It is the orders themselves, or the number of calls if there are many orders.
    """
    if part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING:
        # A run with that many calls has to be confirmed, and the model refuses too many.
        return {"calls": math.factorial(len(shown))}
    if not STRATEGIES[part.kind].listed:
        return {}
    before = "\n".join(" | ".join(map(str, order)) for order in part.orders)
    label, default = "The least biased order, from an earlier run", ""
    if part.kind == "custom":
        label, default = "Orders, one per line", " | ".join(map(str, reversed(shown)))
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
    # Raises LabError if one of them is not an order of what is shown.
    Strategy(part.kind, part.kind, 1, None, orders).asked(list[Any](shown))
    return {"orders": orders}


def typed_order(line: str, shown: Sequence[int | str]) -> tuple[int | str, ...]:
    """Return one typed order: names between bars, or scores between blanks and commas."""
    numbers = {str(option): option for option in shown}
    if "|" in line or isinstance(shown[0], str):
        words = line.split("|")
    else:
        words = line.replace(",", " ").split()
    typed = [word.strip() for word in words if word.strip()]
    return tuple(numbers.get(word, word) for word in typed)


def _calls(part: StrategyPart, shown: Sequence[Any], repeats: int, axis: str) -> str:
    """Say how many orders and calls an answer or a comparison gets."""
    about, compares = STRATEGIES[part.kind], axis in ("pairs", "lists")
    subject = "comparison" if compares else "answer"
    if part.calls or about.drawn:
        return f"{count(part.calls or RANDOM_CALLS, 'call')} per {subject}"
    if about.orders is None:
        return "as many as you list"
    if part.kind == "all" and len(shown) > 6:
        return "too many orders"
    orders = len(about.orders(shown))
    if part.kind == "balanced" and compares:
        orders = len(shown)  # candidates are rotated, and not also reversed
    if part.kind == "balanced" and axis == "examples":
        orders = len(orders_of_examples(shown))
    asked_once = part.kind == "all" and len(shown) > ALL_WITHOUT_ASKING
    calls = orders if asked_once else orders * repeats
    return f"{count(orders, 'order')}, {count(calls, 'call')} per {subject}"


# ---------------------------------------------------------------- factors


def _vary(held: Draft, rubric: Rubric, axes: Sequence[str]) -> VaryPart:
    """Ask for the factors of the study and their levels. The first level is the baseline."""
    vary = held.study.design.vary
    with st.expander(
        "Vary", icon=":material/alt_route:", key="orders-vary", expanded=bool(vary.factors())
    ):
        st.caption(
            "Choose at least two levels of what you vary. The first is the baseline. You can "
            "also type a level that is not listed."
        )
        values: dict[str, Any] = {"prompt": vary.prompt}
        columns, below = itertools.cycle(st.columns(2)), st.container()
        for name, levels in _known_levels(held, rubric).items():
            works_with = FACTORS.get(name, axes)
            if getattr(vary, name) or set(works_with) & {*axes}:
                with below if name in WIDE else next(columns):
                    values[name] = _levels(name, getattr(vary, name), levels)
        fields = ask(
            st.multiselect,
            "Request fields",
            list(vary.extra),
            key="orders-extra",
            start=list(vary.extra),
            accept_new_options=True,
            placeholder="chat_template_kwargs.enable_thinking",
            help="Sent to the server with every call. Dots lead into a field. Levels can be true "
            "and false.",
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


def _known_levels(held: Draft, rubric: Rubric) -> dict[str, Sequence[Any]]:
    """Return the levels that are offered, by factor."""
    known: dict[str, Sequence[Any]] = {
        "ids": get_args(IdStyle),
        "reference": [0, *rubric.criteria[0].scores],
        "scale": range(2, 11),
        "wording": _wordings(held, rubric),
    }
    if held.study.prompt is None or held.study.design.vary.answer:
        known["answer"] = get_args(AnswerFormat)  # a prompt of the user's says itself what to reply
    known |= {
        "sections": WORDS["sections"],
        "temperature": [0.0, 0.3, 0.6, 1.0],
        "reasoning_effort": SETUP["judge"]["fields"]["reasoning_effort"]["options"],
    }
    packs = any(judge.about.typed_questions for judge in held.study.judges)
    if packs or held.study.design.vary.packing:
        known["packing"] = get_args(Packing)
    return known


def _levels(name: str, before: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
    """Ask for the levels of one factor. Raises LabError for a single one."""
    chosen = ask(
        st.multiselect,
        factor_label(name),
        list(dict.fromkeys([*before, *known])),
        key=f"orders-vary-{name}",
        start=list(before),
        format_func=_answer_text if name == "answer" else _level_text,
        accept_new_options=name != "answer",
        placeholder="not varied",
    )
    if len(chosen) == 1 or (name.startswith("extra.") and not chosen):
        label = shorten(factor_label(name))
        raise LabError(f"{label}: choose at least two levels. The first is the baseline.")
    return tuple(
        _level(level) if isinstance(level, str) and level not in known else level
        for level in chosen
    )


def _level_text(level: Any) -> str:
    if isinstance(level, bool):
        return json.dumps(level)  # true and false, as in the study file
    return shorten(str(level), 40)


def _answer_text(level: str) -> str:
    return str(WORDS["answers"][level])


def _level(typed: str) -> Any:
    """Return a typed level: a number, true or false, else the text."""
    try:
        value = json.loads(typed.strip())
    except ValueError:
        return typed
    return value if isinstance(value, bool | int | float) else typed


def _wordings(held: Draft, rubric: Rubric) -> list[str]:
    """Return the names of the rubrics that can be varied: the study's own first.

    An uploaded rubric becomes part of the study itself, so that its file is not needed again.
    """
    study = held.study
    file = rubric_file("Another wording of the rubric", held, "wording")
    if file is not None:
        name, uploaded = file
        held.change(rubrics=study.rubrics | {name: written(uploaded)})
        st.rerun()
    own = rubric.name
    if study.rubric:
        own = study.rubric.file or study.rubric.name
    return list(dict.fromkeys([*study.design.vary.wording, own, *study.rubrics]))
