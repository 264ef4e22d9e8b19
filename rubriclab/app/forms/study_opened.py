"""The study of a run, opened as a form on the Study page: every field filled in, and what it has no field for.

The address names the run (``from``, or ``copy`` for a duplicate). The form offers the run's own data, rubric
and judges beside those that are kept here, since these may be others by now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics
from rubriclab.app.forms.study_design import ANSWERS, CHOICE, ID_STYLES, OFFERED, REMEMBERED
from rubriclab.app.forms.study_prompt import KEPT
from rubriclab.model import Comparison, Dataset, Design, Judge, Rubric, Study
from rubriclab.model.designs import STRATEGIES
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo
from rubriclab.study.protocols import PROTOCOLS

OPENED = "study-opened"
WORDS = ("from", "copy")
MAX_NAME = 60
"""Characters of a study's name in the form."""
FROM_RUN = "as in the run"
_OWN = msg("data, as judged in the run")
_HELD = {"temperature": "temperatures", "reasoning_effort": "efforts", "scale": "scales", "ids": "ids"}
_HELD |= {"reference": "references", "answer": "answers"}
"""Factors that the form has a field for, with the field's name."""


@dataclass(frozen=True)
class Opened:
    """A study that the form was filled with. ``asked``: the part of the address and the run that it names.

    ``dataset``: its id in the store; ``missing``: what of it the form has no field for.
    """

    asked: tuple[str, str]
    name: str
    study: Study
    dataset: str
    missing: tuple[str, ...]
    dropped: tuple[str, ...] = ()


def opened() -> Opened | None:
    """The study that the form holds from a run, if any."""
    held: Opened | None = st.session_state.get(OPENED)
    return held


def fill_from_address() -> None:
    """Fill the form with the study that the address asks for, once; say what the form holds then."""
    asked = next(((word, st.query_params[word]) for word in WORDS if word in st.query_params), None)
    held = opened()
    if asked is not None and (held is None or held.asked != asked):
        with ui.faults():
            held = _fill(ui.store().run(asked[1]), asked)
    if held is not None:
        _said(held)


def _fill(info: RunInfo, asked: tuple[str, str]) -> Opened:
    """Put a run's study into the form. Raises StoreError for a run without a study."""
    study = ui.store().study(info.run)
    known = {name: rubric for name, (rubric, _) in all_rubrics().items()}
    choices, missing = choices_of(study, known)
    choices["name"] = f"{study.name[: MAX_NAME - 7]} (copy)" if asked[0] == "copy" else study.name
    forget()
    st.session_state[REMEMBERED] = {f"{CHOICE}{name}": value for name, value in choices.items()}
    st.session_state[KEPT] = {prompt.name: prompt for prompt in study.prompts}
    dropped = tuple(one.judge for one in info.dropped)
    held = Opened(asked, info.name, study, study.dataset.id, tuple(missing), dropped)
    st.session_state[OPENED] = held
    return held


def forget() -> None:
    """Empty the form."""
    for key in [key for key in st.session_state if str(key).startswith(CHOICE)]:
        del st.session_state[key]
    for key in (REMEMBERED, KEPT, OPENED):
        st.session_state.pop(key, None)


def _said(held: Opened) -> None:
    """Whose study this is, what the form cannot hold of it, and the way to an empty one."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/content_copy: {_whose(held)}", width="stretch")
            if st.button(tr("Start afresh"), key="study-afresh", type="tertiary", icon=":material/close:"):
                forget()
                for word in WORDS:
                    st.query_params.pop(word, None)
                st.rerun()
        if held.missing:
            st.warning(
                tr(
                    "The form has no field for these, and goes without them: {missing}. The run's archive has the "
                    "whole study as a file: page Runs, More, Export.",
                    missing=ui.plain("; ".join(held.missing)),
                ),
                icon=":material/rule:",
            )
        if held.dropped:
            names = ", ".join(map(ui.plain, held.dropped))
            st.caption(
                tr(
                    "Taken out of that run, and in the study: {names}. Take them off below if they stay out.",
                    names=names,
                )
            )


def _whose(held: Opened) -> str:
    name = ui.plain(held.name)
    if held.asked[0] == "copy":
        return tr("A duplicate of the study of **{name}**. Change what you like: launched, it is a new run.", name=name)
    return tr(
        "The study of **{name}**. Launched as it is, it goes on with that run; changed in anything that is asked, "
        "it is a new one.",
        name=name,
    )


# ---------------------------------------------------------------- a study as choices


def choices_of(study: Study, rubrics: Mapping[str, Rubric]) -> tuple[dict[str, Any], list[str]]:
    """The form's choices by the names of its fields, and in words what it has no field for.

    ``rubrics``: those that are known here, by name.
    """
    design, data = study.design, study.dataset
    missing: list[str] = []
    choices: dict[str, Any] = {
        "data": data.id,
        f"part-{data.id}": "all",
        "axis": design.axis,
        f"rubric-{data.name}": rubric_choice(study, rubrics),
        "judges": [judge.name for judge in study.judges],
        "answer": design.answer,
        "tie": design.tie,
        f"base-{data.name}": design.baseline_candidate,
        "list": design.list_size,
        "batch-size": design.batch_size,
        "batch-draws": design.batch_draws,
        "repeats": design.repeats,
        "seed": design.seed,
        "shuffle": design.shuffle_ids,
        "crossed": design.crossed,
        "smallest-effect": design.smallest_effect,
        "unit": design.unit,
    }
    choices |= _strategies(design, missing) | _factors(study, missing)
    if study.rubrics:
        missing.append(
            tr("other wordings of the rubric ({names})", names=", ".join(rubric.name for rubric in study.rubrics))
        )
    if design.template is not None:
        missing.append(tr("the prompt template {template}", template=design.template))
    if not design.show_reference:
        missing.append(tr("reference answers are not shown"))
    return choices, missing


def rubric_choice(study: Study, known: Mapping[str, Rubric]) -> str | None:
    """What the form calls the study's rubric: by its name, where that is the very one that is known here."""
    if study.rubric is None:
        return None
    same = known.get(study.rubric.name) == study.rubric
    return study.rubric.name if same else f"{study.rubric.name}, {FROM_RUN}"


def _strategies(design: Design, missing: list[str]) -> dict[str, Any]:
    """The ways of ordering, each kind once; drawn ones share one switch."""
    kinds = PROTOCOLS[design.axis].strategies or OFFERED
    held: dict[str, Any] = {}
    chosen: list[str] = []
    for strategy in design.strategies:
        if strategy.kind not in kinds or strategy.kind in chosen:
            missing.append(tr("the way of ordering “{name}”", name=strategy.name))
            continue
        chosen.append(strategy.kind)
        held[f"reads-{design.axis}-{strategy.kind}"] = strategy.reads
        if strategy.name != strategy.kind:
            missing.append(
                tr("the name “{name}” of the way of ordering {kind}", name=strategy.name, kind=strategy.kind)
            )
        if STRATEGIES[strategy.kind].drawn:
            held[f"shared-{design.axis}"] = strategy.shared
        if STRATEGIES[strategy.kind].listed:
            held[f"custom-{design.axis}"] = "\n".join(_order(order) for order in strategy.orderings)
    return {f"strategies-{design.axis}": chosen, **held}


def _order(order: tuple[int | str, ...]) -> str:
    """An order as a line of the form: numbers with blanks between them, names with commas."""
    whole = all(isinstance(part, int) for part in order)
    return (" " if whole else ", ").join(map(str, order))


def _factors(study: Study, missing: list[str]) -> dict[str, Any]:
    """The levels that are varied, of factors that the form has a field for."""
    offered: Mapping[str, Any] = {"ids": ID_STYLES, "answer": ANSWERS, "scale": range(2, 11)}
    held: dict[str, Any] = {"temperatures": "", "efforts": "", "scales": [], "ids": [], "references": [], "answers": []}
    for factor, levels in study.design.factors.items():
        texts = ", ".join(map(str, levels))
        if factor == "prompt" and levels == tuple(prompt.name for prompt in study.prompts):
            continue  # several prompts of one's own are this factor
        if factor == "temperature" and all(isinstance(level, int | float) for level in levels):
            held["temperatures"] = texts
        elif factor == "reasoning_effort" and all(isinstance(level, str) and "," not in level for level in levels):
            held["efforts"] = texts
        elif (
            factor in _HELD
            and factor not in ("temperature", "reasoning_effort")
            and all(isinstance(level, str | int) and level in offered.get(factor, levels) for level in levels)
        ):
            held[_HELD[factor]] = list(levels)
        else:
            missing.append(tr("the factor {factor} ({levels})", factor=factor, levels=texts))
    return held


# ---------------------------------------------------------------- what the form offers of it


def offered_data(names: dict[str, str]) -> dict[str, str]:
    """Data sets by id with their labels, that of the opened study among them."""
    held = opened()
    if held is None or held.dataset in names:
        return names
    return {held.dataset: f"{held.study.dataset.name} · {tr(_OWN)} “{held.name}”", **names}


def offered_rubrics(known: dict[str, Rubric]) -> dict[str, Rubric]:
    """Rubrics by name, that of the opened study among them."""
    held = opened()
    name = rubric_choice(held.study, known) if held is not None else None
    return known if name is None or held is None or held.study.rubric is None else {name: held.study.rubric, **known}


def offered_judges(known: dict[str, Judge]) -> dict[str, Judge]:
    """Judges by name; those of the opened study as they were there, whatever bears their name here now."""
    held = opened()
    return known if held is None else {**known, **{judge.name: judge for judge in held.study.judges}}


def is_from_run(judge: Judge, known: Mapping[str, Judge]) -> bool:
    """Is that judge another one than is kept under its name?"""
    return judge != known.get(judge.name)


def carried(data: str, dataset: Dataset, design: Design) -> Design:
    """The design with what only says how the run's comparisons were made of responses, which the form cannot ask."""
    held = opened()
    if held is None or data != held.dataset or not isinstance(dataset.items[0], Comparison):
        return design
    own = held.study.design
    if own.axis != design.axis:
        return design
    return replace(design, baseline_candidate=own.baseline_candidate, list_size=own.list_size)
