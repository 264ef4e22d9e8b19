"""The inputs of the page “Your prompt”: the prompt, what was found in it, and the study of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, judge_label, kept_dataset, known_judges, rubric_sentence
from rubriclab.app.forms.data_names import data_names
from rubriclab.app.views import prompt as views
from rubriclab.datasets.sample import DEFAULT_JUDGE, sample_dataset, sample_rubrics
from rubriclab.model import (
    Axis,
    Comparison,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
    StudyError,
)
from rubriclab.model.hashing import fingerprint
from rubriclab.model.language import language, msg, tr
from rubriclab.model.prompt import PromptMessage, PromptTemplate
from rubriclab.runs.cost import subset, text_groups
from rubriclab.study.plan import plan
from rubriclab.study.prompts.files import dump_template
from rubriclab.study.prompts.found_prompt import Doubt, FoundPrompt
from rubriclab.study.prompts.from_text import from_text
from rubriclab.study.prompts.library import Ready, templates
from rubriclab.study.prompts.proof import MOVING
from rubriclab.study.prompts.template import asked_names, check_names
from rubriclab.study.protocols import PROTOCOLS

PASTED, READY = msg("Paste your own"), msg("Start from one of ours")
SAMPLE = "sample"


@dataclass(frozen=True)
class Draft:
    """A prompt that can be asked: its template, what changes places in it, its rubric and data."""

    template: PromptTemplate
    axis: Axis
    rubric: Rubric | None
    dataset: Dataset


def prompt_step() -> Draft | None:
    """The prompt and its data. None while something is missing; the form says what."""
    left, right = st.columns([3, 2], gap="large", vertical_alignment="bottom")
    with left:
        source = ui.choose(tr("Prompt"), [PASTED, READY], key="prompt-source", address="source", segments=True, name=tr)
    with right:
        dataset = _data()
    if source == READY:
        return _ready(dataset)
    text = _pasted(dataset)
    if not text.strip():
        return None
    found = _found(text, dataset)
    views.found(found)
    _settle(found, text)
    if not found.sure or found.template is None:
        st.info(tr("Settle what is open above, and the prompt can be measured."), icon=":material/help:")
        return None
    template, rubric = _corrected(found.template, _labelled(found), text)
    return _draft(template, rubric, dataset)


# ---------------------------------------------------------------- data and text


@st.cache_resource(show_spinner=False)
def _sample() -> Dataset:
    return sample_dataset()


def _data() -> Dataset:
    names = data_names()
    if _sample().id not in names:
        names = {SAMPLE: tr("Sample · {n:,} items, comes with the lab", n=len(_sample())), **names}
    code = ui.choose(
        tr("Data that it will judge"), list(names), key="prompt-data", address="data", name=lambda code: names[code]
    )
    return _sample() if code == SAMPLE else kept_dataset(code)


def _pasted(dataset: Dataset) -> str:
    """The text as it is pasted, kept while other pages are open."""
    st.text_area(
        tr("Your judge's prompt, as it is sent today, with one of its items in it"),
        key="prompt-pasted",
        height=260,
        persist_state="session",
        placeholder=tr("Plain text, or the JSON messages of a request. Press Ctrl+Enter when it is here."),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        fresh = not st.session_state.get("prompt-pasted")
        kind: Literal["primary", "secondary"] = "primary" if fresh else "secondary"
        st.button(tr("Take it apart"), type=kind, icon=":material/content_cut:", key="prompt-go")
        st.button(
            tr("Fill in an example"),
            icon=":material/edit_note:",
            key="prompt-example",
            on_click=_example,
            args=(dataset,),
        )
    return str(st.session_state.get("prompt-pasted", ""))


def _example(dataset: Dataset) -> None:
    """A prompt that somebody might send today, about an item of the data."""
    item = next((one for one in dataset.items if isinstance(one, Item)), None) or _sample().items[0]
    assert isinstance(item, Item)
    options = "\n".join(f"Score {o.score}: {o.description}" for o in sample_rubrics()[0].criteria[0].options)
    st.session_state["prompt-pasted"] = (
        f"You check the answers of our help desk.\n\nQuestion: {item.instruction}\n\nAnswer: {item.response}\n\n"
        f"How helpful is the answer?\n{options}\n\nReply with the number alone."
    )


def rows_of(dataset: Dataset) -> list[dict[str, object]]:
    """The items as rows of columns, those that a template can name."""
    rows: list[dict[str, object]] = []
    for item in dataset.items:
        if isinstance(item, Item):
            reference = item.references[max(item.references)] if item.references else ""
            row: dict[str, object] = {"instruction": item.instruction, "response": item.response}
            rows.append({**row, **({"reference": reference} if reference else {}), **item.columns})
    return rows


def _found(text: str, dataset: Dataset) -> FoundPrompt:
    """The prompt taken apart with what was settled of it; by its headings where the data has no such text."""
    accept = dict(st.session_state.get("prompt-settled", {}).get(fingerprint(text), {}))
    return _taken_apart(text, dataset.id, tuple(sorted(accept.items())), language(), dataset)


@st.cache_resource(show_spinner=ui.Awaited(msg("Taking the prompt apart …")), max_entries=16)
def _taken_apart(
    text: str, code: str, accept: tuple[tuple[str, str], ...], said_in: str, _dataset: Dataset
) -> FoundPrompt:
    del code, said_in
    settled, rows = dict(accept), rows_of(_dataset)
    if rows:
        found = from_text(text, rows=rows, accept=settled, name="my prompt")
        if not any(doubt.name == "item" for doubt in found.doubts):
            return found
    return from_text(text, accept=settled, name="my prompt")


def _settle(found: FoundPrompt, text: str) -> None:
    """A choice for each thing that could not be told, and for each that was chosen before."""
    key = fingerprint(text)
    kept: dict[str, dict[str, str]] = st.session_state.setdefault("prompt-settled", {})
    for doubt in found.doubts:
        with st.container(border=True):
            st.markdown(f":orange[:material/help:] {ui.plain(doubt.sentence)}")
            chosen = st.segmented_control(
                tr("Which is it?"),
                doubt.choices,
                key=f"prompt-doubt-{key}-{doubt.name}",
                format_func=partial(_choice_words, doubt),
                label_visibility="collapsed",
            )
            if chosen is not None:
                kept[key] = {**kept.get(key, {}), doubt.name: str(chosen)}
                st.rerun()
    if kept.get(key) and st.button(tr("Ask me again about what I settled"), key="prompt-unsettle", type="tertiary"):
        kept.pop(key)
        st.rerun()


def _choice_words(doubt: Doubt, choice: str) -> str:
    """What a click on a choice says."""
    told = {"headings": tr("Yes, by these headings"), "none": tr("No item stands in it"), "here": tr("Yes, there")}
    if doubt.name == "list":
        return tr("Yes, this is the list") if len(doubt.choices) == 1 else tr("List {choice}", choice=choice)
    return told.get(choice, tr("Row {choice}", choice=choice) if doubt.name == "row" else choice)


def _labelled(found: FoundPrompt) -> Rubric | None:
    """The rubric that was found, with the labels that its options have in the prompt."""
    if found.rubric is None:
        return None
    (criterion,) = found.rubric.criteria
    options = tuple(
        replace(o, label=label) if (label := found.labels.get(o.score)) not in (None, str(o.score)) else o
        for o in criterion.options
    )
    return replace(found.rubric, criteria=(replace(criterion, options=options),))


# ---------------------------------------------------------------- by hand, or from the library


def _corrected(template: PromptTemplate, rubric: Rubric | None, text: str) -> tuple[PromptTemplate, Rubric | None]:
    """Template and rubric as the user leaves them."""
    key = f"prompt-hand-{fingerprint(text)}-{template.id}"
    with st.expander(tr("Correct it by hand"), icon=":material/edit:"):
        messages = tuple(
            PromptMessage(
                one.role,
                st.text_area(tr("Message {n} ({role})", n=n, role=one.role), one.text, key=f"{key}-{n}", height=220),
            )
            for n, one in enumerate(template.messages, 1)
        )
        if rubric is not None:
            rubric = _edited(rubric, key)
    return replace(template, messages=messages), rubric


def _edited(rubric: Rubric, key: str) -> Rubric:
    """The options of the rubric's criterion as a table that can be written in."""
    (criterion,) = rubric.criteria
    rows = [(o.score, o.label or str(o.score), o.description or "") for o in criterion.options]
    table = st.data_editor(
        pd.DataFrame(rows, columns=["score", "label", "description"]),
        hide_index=True,
        width="stretch",
        key=f"{key}-rubric",
        column_config={"score": tr("score"), "label": tr("label"), "description": tr("description")},
    )
    options = tuple(
        ScoreOption(int(score), str(about) or None, None if str(label) == str(score) else str(label))
        for score, label, about in table.itertuples(index=False)
    )
    return replace(rubric, criteria=(Criterion(criterion.name, options, criterion.description),))


def _ready(dataset: Dataset) -> Draft | None:
    """A prompt of the library, with a rubric of the lab."""
    compared = isinstance(dataset.items[0], Comparison)
    names = {one.key: one for one in templates()}
    key = ui.choose(
        tr("Start from"), list(names), key="prompt-ready", address="template", name=lambda key: names[key].template.name
    )
    chosen = names[key]
    st.caption(ui.plain(tr(chosen.about)))
    if compared and "options" in chosen.axes:
        st.info(tr("This data set holds comparisons: take the prompt “A, B or tie”."), icon=":material/info:")
        return None
    rubric = _rubric(chosen, dataset)
    template, _ = _corrected(chosen.template, None, chosen.key)
    st.download_button(
        tr("The prompt as a file (TOML)"),
        dump_template(template),
        f"{key}.toml",
        key="prompt-file",
        on_click="ignore",
        icon=":material/download:",
    )
    return _draft(template, rubric, dataset)


def _rubric(chosen: Ready, dataset: Dataset) -> Rubric | None:
    if not PROTOCOLS[chosen.axes[0]].rated:
        return None
    several = "criteria" in chosen.axes
    known = {name: one for name, (one, _) in all_rubrics().items() if not several or len(one.criteria) > 1}
    if dataset.rubric is not None:
        known = {dataset.rubric.name: dataset.rubric, **known}
    name = ui.choose(tr("Rubric"), list(known), key=f"prompt-rubric-{several}", address="rubric")
    st.caption(rubric_sentence(known[name]))
    return known[name]


def _draft(template: PromptTemplate, rubric: Rubric | None, dataset: Dataset) -> Draft:
    """Raises StudyError where the template names what no protocol has, or lacks its rubric."""
    axis = _axis(template, dataset)
    if PROTOCOLS[axis].rated and rubric is None and dataset.rubric is None:
        rubric = next((one for one in sample_rubrics() if axis == "options" or len(one.criteria) > 1), None)
    return Draft(template, axis, rubric, dataset)


def _axis(template: PromptTemplate, dataset: Dataset) -> Axis:
    """What changes places in a template: the first protocol all of whose names it knows, and whose list it shows."""
    names, fault = asked_names(template), None
    for axis, moving in MOVING.items():
        if moving not in names or (axis == "pairwise" and _longest(dataset) > 2):
            continue
        try:
            check_names(template, axis)
        except StudyError as error:
            fault = fault or error
            continue
        return axis
    raise fault or StudyError(
        tr("The template shows no options, criteria or responses: nothing in it can change places.")
    )


def _longest(dataset: Dataset) -> int:
    return max((len(one.candidates) for one in dataset.items if isinstance(one, Comparison)), default=0)


# ---------------------------------------------------------------- the study of it


def judge_step() -> Judge:
    known = known_judges()
    names = list(known)
    name = ui.choose(
        tr("Judge"),
        names,
        key="prompt-judge",
        address="judge",
        default=DEFAULT_JUDGE if DEFAULT_JUDGE in known else names[0],
        name=lambda name: judge_label(known[name]),
    )
    return known[name]


def study_of(draft: Draft, judge: Judge, *, texts: int | None = None) -> Study:
    """The draft's study: balanced orders, and the usual one twice as the control of noise."""
    strategies = (Strategy("balanced"), Strategy("fixed", reads=2))
    return Study(
        name=f"{draft.template.name}, {draft.dataset.name}"[:60],
        dataset=_some(draft, texts),
        judges=(judge,),
        rubric=draft.rubric,
        design=Design(axis=draft.axis, strategies=strategies),
        prompts=(draft.template,),
    )


def _some(draft: Draft, texts: int | None) -> Dataset:
    """So many items, drawn; texts with all their criteria and the answers to a prompt stay together."""
    if draft.axis != "options":
        return subset(draft.dataset, texts, seed=0)
    items: Sequence[Item | Comparison] = draft.dataset.items
    if texts is None or texts >= len(items):
        return draft.dataset
    drawn = random.Random(0).sample(range(len(items)), len(items))
    rounds: dict[str, int] = {}
    place: dict[int, int] = {}
    for at in drawn:  # answers to one prompt are one unit: as many prompts as there are come first
        prompt = items[at].prompt or str(at)
        place[at] = rounds[prompt] = rounds.get(prompt, 0) + 1
    kept = set(sorted(drawn, key=lambda at: place[at])[:texts])
    some = tuple(item for at, item in enumerate(items) if at in kept)
    return replace(draft.dataset, items=some, origin=f"{draft.dataset.origin} ({texts} of {len(items):,})")  # type: ignore[arg-type]


def texts_of(draft: Draft) -> int:
    """How many there are to draw from."""
    return len(draft.dataset) if draft.axis == "options" else len(text_groups(draft.dataset))


def calls_each(study: Study) -> float:
    """How many calls one text of the data takes."""
    return len(plan(study)) / max(1, len(study.dataset))
