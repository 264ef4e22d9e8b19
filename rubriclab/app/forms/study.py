"""The Study page's form: widgets in, a study out. Ids and choices live in the session, no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import cast

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, facts, judge_label, kept_dataset, known_judges, rubric_sentence
from rubriclab.app.forms.data_names import data_names
from rubriclab.app.forms.study_design import CHOICE, REMEMBERED, design_step, kept_choice, strategy_step
from rubriclab.app.forms.study_opened import (
    FROM_RUN,
    MAX_NAME,
    carried,
    fill_from_address,
    is_from_run,
    offered_data,
    offered_judges,
    offered_rubrics,
)
from rubriclab.app.forms.study_prompt import prompt_step
from rubriclab.datasets.sample import sample_dataset
from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import Axis, Comparison, Dataset, Design, Judge, Rubric, Study, canonical_json
from rubriclab.model.language import language, msg, tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.model.wording import many, plural
from rubriclab.runs.cost import group_word, subset, text_groups
from rubriclab.runs.terms import Limits
from rubriclab.study.plan import Plan, plan
from rubriclab.study.protocols import PROTOCOLS
from rubriclab.study.writing import judge_to_value

SAMPLE = "sample"
OWN_RUBRIC = msg("The data set's own")
SETTLES: dict[Axis, str] = {
    "options": msg("whether the order shifts the mean score"),
    "pairwise": msg("whether the first place wins more than the last"),
    "listwise": msg("whether the first place wins more than the last"),
    "criteria": msg("whether the order of the criteria shifts their scores"),
}
"""What the stop rule waits for."""


@dataclass(frozen=True)
class Setup:
    """What the form holds: everything to plan a study, and what it may cost."""

    name: str
    data: str
    take: int | None
    draw: int | None
    rubric: Rubric | None
    judges: tuple[Judge, ...]
    design: Design
    limits: Limits
    prompts: tuple[PromptTemplate, ...] = ()
    stop_width: float | None = None
    stop_settled: bool = False

    @property
    def key(self) -> str:
        """The same choices, the same key; cheap, since the data stands for itself by its id."""
        return canonical_json(
            [
                self.name,
                self.data,
                self.take,
                self.draw,
                self.rubric.id if self.rubric else None,
                [judge_to_value(judge) for judge in self.judges],
                asdict(self.design),
                [(prompt.name, prompt.id) for prompt in self.prompts],
            ]
        )


@dataclass(frozen=True)
class Prepared:
    """A study with its plan and the name that its run has or will have."""

    study: Study
    plan: Plan
    run: str


def prepare(setup: Setup) -> Prepared:
    """The study of these choices, planned; planned once for the same choices."""
    return _prepared(ui.store().path, setup.key, language(), setup)


@st.cache_resource(show_spinner=ui.Awaited(msg("Planning …")), max_entries=8)
def _prepared(path: str, key: str, code: str, _setup: Setup) -> Prepared:  # noqa: ARG001  (keys of the cache)
    dataset = subset(_dataset(_setup.data), _setup.take, seed=_setup.draw)
    study = Study(
        name=_setup.name,
        dataset=dataset,
        judges=_setup.judges,
        rubric=_setup.rubric,
        design=_setup.design,
        prompts=_setup.prompts,
    )
    planned = plan(study)
    return Prepared(study, planned, ui.store().run_of(planned.study))


def form() -> Setup | None:
    """All choices, top to bottom. None while something needed is missing; the form says what."""
    fill_from_address()
    setup = _form()
    now = {str(k): v for k, v in st.session_state.items() if str(k).startswith(CHOICE)}
    st.session_state[REMEMBERED] = {**st.session_state.get(REMEMBERED, {}), **now}
    return setup


def _form() -> Setup | None:
    ui_step(1, tr("What is judged"))
    with ui.faults():
        data, take, draw = _data_step()
        dataset = _dataset(data)
        ui_step(2, tr("What changes places"))
        axis = _axis_step(dataset)
        rubric = _rubric_step(dataset) if PROTOCOLS[axis].rated else None
        ui_step(3, tr("In which orders"))
        strategies = strategy_step(axis)
        more = design_step(axis, dataset, rubric)
        prompts = prompt_step()
        if len(prompts) > 1:
            more["factors"] = {**more.get("factors", {}), "prompt": tuple(prompt.name for prompt in prompts)}
        ui_step(4, tr("Who judges"))
        judges = _judge_step()
        limits = _limits_step(judges)
        settled, width = _stop_step(axis)
        usual = f"{dataset.name}, {PROTOCOLS[axis].title.lower()}"  # names a run: the same in every language
        name = ui.name_input(tr("Name of the study"), key=kept_choice("name", ""), most=MAX_NAME, placeholder=usual)
        if not judges or not strategies:
            st.info(tr("Choose at least one judge and one way of ordering."), icon=":material/info:")
            return None
        return Setup(
            name=name or usual,
            data=data,
            take=take,
            draw=draw,
            rubric=rubric,
            judges=judges,
            design=carried(data, dataset, Design(axis=axis, strategies=strategies, **more)),
            limits=limits,
            prompts=prompts,
            stop_width=width,
            stop_settled=settled,
        )
    return None


def ui_step(number: int, title: str) -> None:
    st.subheader(f"{number}. {title}", anchor=False)


# ---------------------------------------------------------------- data and rubric


@st.cache_resource(show_spinner=False)
def _sample() -> Dataset:
    return sample_dataset()


def _dataset(code: str) -> Dataset:
    return _sample() if code == SAMPLE else kept_dataset(code)


def _data_step() -> tuple[str, int | None, int | None]:
    """(data set, how many texts, seed of a draw): kept data sets, and the sample in any case."""
    names = data_names()
    if _sample().id not in names:
        names[SAMPLE] = tr("Sample · {n:,} items, comes with the lab", n=len(_sample()))
    names = offered_data(names)
    wanted = st.session_state.pop("study-data-wanted", None)
    if wanted in names:
        st.session_state[f"{CHOICE}data"] = wanted
    codes = list(names)
    left, right = st.columns([3, 2], gap="medium")
    data = left.selectbox(
        tr("Data set"), codes, key=kept_choice("data", codes[0], codes), format_func=lambda code: names[code]
    )
    left.page_link("pages/data.py", label=tr("Bring your own data"), icon=":material/upload:")
    groups, word = len(text_groups(_dataset(data))), group_word(_dataset(data))
    parts = {
        "all": tr("All {groups}", groups=many(groups, word)),
        "first": tr("The first …"),
        "random": tr("A random draw of …"),
    }
    first = "all" if groups <= 40 else "random"
    part = right.selectbox(
        tr("How much of it"),
        list(parts),
        key=kept_choice(f"part-{data}", first),
        format_func=lambda p: parts[p],
        help=tr("Items of one text or prompt stay together."),
    )
    if part == "all":
        return data, None, None
    with right.container(horizontal=True):
        words = plural(word, 2)
        take = st.number_input(
            words[:1].upper() + words[1:], 1, groups, key=kept_choice(f"take-{data}", min(20, groups))
        )
        if part == "first":
            return data, int(take), None
        draw = st.number_input(tr("Seed of the draw"), 0, 2**31 - 1, key=kept_choice("draw", 0))
    return data, int(take), int(draw)


def _axis_step(dataset: Dataset) -> Axis:
    """What is reordered; comparisons can only be compared."""
    candidates = facts(dataset).candidates
    compared = frozenset(len(i.candidates) for i in dataset.items if isinstance(i, Comparison))
    axes = [axis for axis, known in PROTOCOLS.items() if known.suits(candidates, compared)]
    axis = st.radio(
        tr("What changes places between two reads?"),
        axes,
        key=kept_choice("axis", axes[0], axes),
        format_func=lambda a: tr(PROTOCOLS[a].title),
        captions=[tr(PROTOCOLS[a].about) for a in axes],
        label_visibility="collapsed",
    )
    if all(PROTOCOLS[axis].rated for axis in axes):
        st.caption(tr("Answers can be compared where the data names a candidate for each response."))
    return axis


def _rubric_words(name: str) -> str:
    """What the form shows for a rubric that it knows by ``name``."""
    if name == OWN_RUBRIC:
        return tr(OWN_RUBRIC)
    own = name.removesuffix(f", {FROM_RUN}")
    return name if own == name else tr("{name}, as in the run", name=own)


def _rubric_step(dataset: Dataset) -> Rubric | None:
    known = offered_rubrics({name: rubric for name, (rubric, _) in all_rubrics().items()})
    names = ([OWN_RUBRIC] if dataset.rubric is not None else []) + list(known)
    wanted = st.session_state.pop("study-rubric-wanted", None)
    if wanted in names:
        st.session_state[f"{CHOICE}rubric-{dataset.name}"] = wanted
    name = st.selectbox(
        tr("Rubric"), names, key=kept_choice(f"rubric-{dataset.name}", names[0], names), format_func=_rubric_words
    )
    rubric = dataset.rubric if name == OWN_RUBRIC else known[name]
    if rubric is not None:
        st.caption(tr("{size}. Items that name no criterion are judged under each.", size=rubric_sentence(rubric)))
    return rubric


# ---------------------------------------------------------------- judges and limits


def _judge_step() -> tuple[Judge, ...]:
    kept = known_judges()
    known = offered_judges(kept)
    names = list(known)
    wanted = st.session_state.pop("study-judge-wanted", None)
    first = next((n for n in names if JUDGE_KINDS[known[n].kind].own), names[0])  # costs nothing
    key = kept_choice("judges", [first], names)
    if wanted in names and wanted not in st.session_state[key]:
        st.session_state[key] = [*st.session_state[key], wanted]
    other = {name: tr(" · as in the run") if is_from_run(known[name], kept) else "" for name in names}
    chosen = st.multiselect(
        tr("Judges"),
        names,
        key=key,
        format_func=lambda n: f"{judge_label(known[n])}{other[n]}",
        placeholder=tr("Choose options"),
    )
    st.page_link("pages/judges.py", label=tr("Add or test a judge"), icon=":material/gavel:")
    if any(known[name].simulated for name in chosen):
        st.warning(
            tr(
                "A **simulated** judge is among them: its numbers show how the method works, not how any model behaves."
            ),
            icon=":material/science:",
        )
    return tuple(known[name] for name in chosen)


def _limits_step(judges: Sequence[Judge]) -> Limits:
    paid = any(judge.price_input or judge.price_output for judge in judges)
    with st.expander(tr("Budget: pause before it costs too much"), icon=":material/savings:"):
        left, right = st.columns(2)
        calls = left.number_input(
            tr("At most so many calls"), 1, None, key=kept_choice("max-calls", None), placeholder=tr("no cap"), step=100
        )
        money = right.number_input(
            tr("At most so much money"),
            0.0,
            None,
            key=kept_choice("max-money", None),
            placeholder=tr("no cap"),
            help=tr("In the unit of the judges' prices.")
            if paid
            else tr("Counts only for judges with prices; none of the chosen ones has any."),
        )
    return Limits(max_calls=cast(int | None, calls), max_money=money or None)


def _stop_step(axis: Axis) -> tuple[bool, float | None]:
    """The stop rules (once settled, width of V), of V for score options alone."""
    if axis not in SETTLES:
        return False, None
    with st.expander(tr("Stop rule: pause when enough is known"), icon=":material/timer:"):
        settled = st.toggle(
            tr("Stop once it is settled {what}", what=tr(SETTLES[axis])),
            key=kept_choice("stop-settled", False),
            help=ui.about("stop_settled"),
        )
        if axis != "options":
            return settled, None
        width = st.number_input(
            tr("Stop when the interval on Cramér's V is narrower than"),
            0.01,
            0.99,
            key=kept_choice("stop-width", None),
            placeholder=tr("never"),
            step=0.05,
            help=ui.about("stop_rule"),
        )
    return settled, cast(float | None, width)
