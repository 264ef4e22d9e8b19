"""The part of the Study page's form that makes a design: orders, answers, repeats and factors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rubriclab.app import ui
from rubriclab.model import (
    SMALLEST_EFFECT,
    AnswerMode,
    Axis,
    Comparison,
    Dataset,
    Rubric,
    Strategy,
    StrategyKind,
    StudyError,
)
from rubriclab.model.designs import STRATEGIES
from rubriclab.model.language import msg, tr
from rubriclab.study.protocols import PROTOCOLS
from rubriclab.study.protocols.batch import MAX_SIZE

CHOICE = "study/"
"""How the keys of this form's widgets begin. Their choices are remembered beside them, since a
widget's own is forgotten while another page is open."""
REMEMBERED = "study-choices"
OFFERED = tuple(kind for kind, scheme in STRATEGIES.items() if scheme.offered)
ANSWERS: Mapping[AnswerMode, str] = {
    "score": msg("The score alone (quick; probabilities where the judge gives them)"),
    "feedback": msg("Feedback, then the score (the papers' format; slower)"),
}
MODES: Mapping[AnswerMode, str] = {"score": msg("score"), "feedback": msg("feedback")}
"""The same in a word."""
ID_STYLES = {"arabic": "1, 2, 3", "letters": msg("letters, best is A"), "roman": msg("i, ii, iii")}


def kept_choice(name: str, first: Any, options: Sequence[Any] | None = None) -> str:
    """A widget's key, its choice set at first, and again where the old one is no longer offered."""
    key = f"{CHOICE}{name}"
    if key not in st.session_state:
        st.session_state[key] = st.session_state.get(REMEMBERED, {}).get(key, first)
    held = st.session_state[key]
    if options is not None:
        if isinstance(held, list):
            st.session_state[key] = [choice for choice in held if choice in options]
        elif held not in options:
            st.session_state[key] = first
    return key


def strategy_step(axis: Axis) -> tuple[Strategy, ...]:
    """The ways of ordering that are compared, each with its number of reads."""
    kinds = PROTOCOLS[axis].strategies or OFFERED
    # The same order twice is the control of all that is said of order.
    reads = {strategy.kind: strategy.reads for strategy in PROTOCOLS[axis].usual}
    usual = list(reads)
    chosen = st.multiselect(
        tr("Ways of ordering"),
        kinds,
        key=kept_choice(f"strategies-{axis}", usual, kinds),
        format_func=lambda kind: tr(STRATEGIES[kind].title),
        help=tr("Each is an arm of the study. Balanced against fixed is the comparison of the papers."),
        placeholder=tr("Choose options"),
    )
    return tuple(_strategy(axis, kind, reads.get(kind)) for kind in chosen)


def _strategy(axis: Axis, kind: StrategyKind, usual: int | None) -> Strategy:
    scheme = STRATEGIES[kind]
    with st.container(border=True):
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.markdown(f"**{tr(scheme.title)}**  \n:small[{tr(scheme.about)}]")
        reads = right.number_input(
            tr("Reads"),
            1,
            10_000,
            key=kept_choice(f"reads-{axis}-{kind}", usual),
            placeholder=tr("default"),
            help=tr(
                "Calls for each item. Left empty: 2n (n for comparisons), so that all arms have the same budget; "
                "the design's own size for Williams, All and your own."
            ),
        )
        shared = False
        orderings: tuple[tuple[int | str, ...], ...] = ()
        if scheme.drawn:
            shared = left.toggle(tr("The same draws for all items"), key=kept_choice(f"shared-{axis}", False))
        if scheme.listed:
            text = left.text_area(
                tr("Orders, one a line"),
                key=kept_choice(f"custom-{axis}", "1 2 3 4 5\n5 4 3 2 1"),
                height=96,
                help=tr("Scores with spaces between them; names of criteria with commas."),
            )
            orderings = _orders(text)
    return Strategy(kind=kind, reads=int(reads) if reads else None, shared=shared, orderings=orderings)


def _orders(text: str) -> tuple[tuple[int | str, ...], ...]:
    """Lines of scores or names; whether they fit the rubric is the plan's to say."""
    orders: list[tuple[int | str, ...]] = []
    for line in text.splitlines():
        parts = line.split(",") if "," in line else line.split()
        words = [part.strip() for part in parts if part.strip()]
        if words:
            orders.append(tuple(int(w) if w.lstrip("-").isdigit() else w for w in words))
    return tuple(orders)


def design_step(axis: Axis, dataset: Dataset, rubric: Rubric | None) -> dict[str, Any]:
    """The rest of the design: answer, repeats, seed, factors, comparison settings."""
    made: dict[str, Any] = {}
    settings = PROTOCOLS[axis].settings
    if "answer" in settings:
        made["answer"] = st.radio(
            tr("The judge answers with"),
            list(ANSWERS),
            key=kept_choice("answer", "score"),
            format_func=lambda a: tr(ANSWERS[a]),
        )
    if "tie" in settings:
        made |= _comparison_step(settings, dataset)
    if "batch_size" in settings:
        made |= _batch_step(len(dataset))
    with st.expander(tr("Repeats, seed and factors to vary"), icon=":material/tune:"):
        left, right = st.columns(2)
        made["repeats"] = int(
            left.number_input(
                tr("Repeats"),
                1,
                1_000,
                key=kept_choice("repeats", 1),
                help=tr("Every read again, so often. Repeats at temperature 0 measure a server's own unsteadiness."),
            )
        )
        made["seed"] = int(right.number_input(tr("Seed"), 0, 2**31 - 1, key=kept_choice("seed", 0)))
        made |= _factor_step(settings, rubric)
        st.markdown(tr("**How the answers are read.** Asks no call more, and can be changed afterwards."))
        read = ui.reading_fields(kept_choice("smallest-effect", SMALLEST_EFFECT), kept_choice("unit", "auto"))
        made["smallest_effect"], made["unit"] = read
    return made


def _comparison_step(settings: frozenset[str], dataset: Dataset) -> dict[str, Any]:
    made: dict[str, Any] = {}
    left, right = st.columns(2, vertical_alignment="bottom")
    made["tie"] = left.toggle(tr("A tie may be answered"), key=kept_choice("tie", True))
    if not isinstance(dataset.items[0], Comparison):
        names = sorted({i.candidate for i in dataset.items if not isinstance(i, Comparison) and i.candidate})
        baseline = right.selectbox(
            tr("Compare only with"),
            ["", *names],
            key=kept_choice(f"base-{dataset.name}", "", ["", *names]),
            format_func=lambda name: name or tr("every pair"),
        )
        made["baseline_candidate"] = baseline or None
        if "list_size" in settings:
            made["list_size"] = int(
                left.number_input(tr("Answers in a list"), 3, max(3, len(names)), key=kept_choice("list", 3))
            )
    return made


def _batch_step(items: int) -> dict[str, Any]:
    left, right = st.columns(2, vertical_alignment="bottom")
    size = left.number_input(
        tr("Responses a call"),
        2,
        max(2, min(MAX_SIZE, items)),
        key=kept_choice("batch-size", min(4, max(2, items))),
        help=tr("Every item is asked about alone besides, twice: what the batches are held against."),
    )
    draws = right.number_input(
        tr("Dealt into batches so often"),
        1,
        20,
        key=kept_choice("batch-draws", 1),
        help=tr("Each time anew, so that an item has other companions."),
    )
    return {"batch_size": int(size), "batch_draws": int(draws)}


def _factor_step(settings: frozenset[str], rubric: Rubric | None) -> dict[str, Any]:
    st.markdown(tr("**Factors.** The first level is the baseline; leave a factor empty to keep it out."))
    left, right = st.columns(2)
    factors = _sampling_factors(left, right)
    if "scale" in settings and rubric is not None:
        factors |= _rubric_factors(left, right, rubric)
    made: dict[str, Any] = {"factors": factors}
    if "shuffle_ids" in settings:
        made["shuffle_ids"] = st.toggle(
            tr("Deal the score labels out anew for every read"),
            key=kept_choice("shuffle", False),
            help=tr("Then a label's pull can be told from its score's."),
        )
    made["crossed"] = len(factors) > 0 and st.toggle(
        tr("Every level with every other (full factorial)"),
        key=kept_choice("crossed", False),
        help=tr("Off: one factor at a time against the baseline, under the first way of ordering."),
    )
    return made


def _sampling_factors(left: DeltaGenerator, right: DeltaGenerator) -> dict[str, tuple[Any, ...]]:
    """Levels by factor of how a judge is asked, only of factors that are varied."""
    levels: dict[str, tuple[Any, ...]] = {}
    text = left.text_input(
        tr("Temperatures"),
        key=kept_choice("temperatures", ""),
        placeholder="0, 0.7, 1",
        help=tr("Baseline first; empty: the judge's own."),
    )
    if text.strip():
        levels["temperature"] = _numbers(text, tr("Temperatures"))
    efforts = right.text_input(
        tr("Reasoning efforts"),
        key=kept_choice("efforts", ""),
        placeholder="low, medium, high",
        help=tr("For judges that take reasoning_effort."),
    )
    if efforts.strip():
        levels["reasoning_effort"] = tuple(part.strip() for part in efforts.split(",") if part.strip())
    return levels


def _rubric_factors(left: DeltaGenerator, right: DeltaGenerator, rubric: Rubric) -> dict[str, tuple[Any, ...]]:
    """Levels by factor of how a rubric is shown and answered, only of factors that are varied."""
    scales = left.multiselect(
        tr("Numbers of options"),
        list(range(2, 11)),
        key=kept_choice("scales", []),
        help=tr("The rubric on other scales; missing descriptions stay blank."),
        placeholder=tr("Choose options"),
    )
    ids = right.multiselect(
        tr("Score labels"),
        list(ID_STYLES),
        key=kept_choice("ids", []),
        format_func=lambda style: tr(ID_STYLES[style]),
        placeholder=tr("Choose options"),
    )
    scores = sorted({score for criterion in rubric.criteria for score in criterion.scores})
    references = left.multiselect(
        tr("Reference answer shown"),
        [0, *scores],
        key=kept_choice("references", [], [0, *scores]),
        format_func=lambda score: tr("none") if score == 0 else tr("of score {score}", score=score),
        help=tr("Items without that reference answer are left out there, and counted."),
        placeholder=tr("Choose options"),
    )
    answers = right.multiselect(
        tr("Answer"),
        list(MODES),
        key=kept_choice("answers", []),
        format_func=lambda mode: tr(MODES[mode]),
        placeholder=tr("Choose options"),
    )
    chosen: dict[str, Sequence[Any]] = {"scale": scales, "ids": ids, "reference": references, "answer": answers}
    return {name: tuple(levels) for name, levels in chosen.items() if levels}


def _numbers(text: str, what: str) -> tuple[float, ...]:
    """Numbers between commas. Raises StudyError naming the part that is none."""
    found = []
    for part in text.replace(";", ",").split(","):
        try:
            number = float(part)
        except ValueError:
            raise StudyError(
                tr("{what}: “{part}” is no number; write them as 0, 0.7, 1.", what=what, part=part.strip())
            ) from None
        if not (math.isfinite(number) and number >= 0):
            raise StudyError(tr("{what}: {part} must be 0 or more.", what=what, part=part.strip()))
        found.append(number)
    return tuple(found)
