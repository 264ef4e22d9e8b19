"""What is tried: a text, a rubric and judges, from an example or pasted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, judge_label, known_judges
from rubriclab.datasets.sample import DEFAULT_JUDGE, sample_dataset, sample_rubrics
from rubriclab.findings.trial_orders import first_reads
from rubriclab.judges.warming import Warmth, first_embedded
from rubriclab.model import Comparison, Item, Judge, Rubric, Study
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.trial import ALL_ORDERS, CONTROLS, PAIR_CALLS, Kind, Text, trial_orders, trial_study
from rubriclab.store import RunInfo
from rubriclab.study.plan import plan

KINDS: Mapping[Kind, str] = {
    "options": msg("One response, scored"),
    "pairwise": msg("Two responses, compared"),
    "criteria": msg("One response, several criteria"),
}
PASTED = msg("Your own text")
TEXTS = ("instruction", "response", "second")


@dataclass(frozen=True)
class Wanted:
    """A trial that was asked for. ``orders``: how many of its list to ask at first."""

    study: Study
    orders: int | None


@st.cache_resource(show_spinner=False)
def _examples() -> dict[str, tuple[Item, Item]]:
    """Sample items by name, each with another response to the same instruction."""
    items = [item for item in sample_dataset().items if isinstance(item, Item)]
    found = {}
    for item in items:
        others = [other for other in items if other.prompt == item.prompt and other is not item]
        found[f"{item.prompt}, {item.candidate}".replace("-", " ")] = (item, others[0])
    return found


def form(opened: RunInfo | None) -> Wanted | None:
    """The inputs; what is wanted once the button is pressed and everything fits.

    ``opened``: the trial that the page shows, whose text a link brings along.
    """
    if opened is not None and st.session_state.get("trial-filled") != opened.run:
        _fill_from(opened.run)
    kind: Kind = ui.choose(
        tr("What is judged"), list(KINDS), key="trial-kind", address="kind", name=lambda k: tr(KINDS[k]), segments=True
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        _texts(kind)
    with right:
        rubric, criterion = (None, None) if kind == "pairwise" else _rubric(kind)
        judges = _judges()
        orders = None if kind == "pairwise" else _orders(kind, rubric, criterion)
        pressed = st.button(
            tr("Judge it"), type="primary", icon=":material/play_arrow:", key="trial-go", width="stretch"
        )
        st.caption(_cost(kind, orders, len(judges)))
    shown = ["response", "second"] if kind == "pairwise" else ["response"]
    responses = tuple(st.session_state[f"trial-{name}"] for name in shown)
    made = partial(_study, kind, st.session_state["trial-instruction"], responses, rubric, criterion)
    if not pressed:
        if opened is None:
            _get_ready(judges, made)
        return None
    with ui.faults():
        return Wanted(made(judges), orders)
    return None


def _study(
    kind: Kind,
    instruction: str,
    responses: tuple[str, ...],
    rubric: Rubric | None,
    criterion: str | None,
    judges: Sequence[Judge],
) -> Study:
    return trial_study(Text(instruction, responses), judges, kind=kind, rubric=rubric, criterion=criterion)


@st.cache_resource(show_spinner=False, on_release=Warmth.let_go)
def _warmth() -> Warmth:
    """One a server, whoever looks at its pages."""
    return Warmth()


def _get_ready(judges: Sequence[Judge], made: Callable[[Sequence[Judge]], Study]) -> None:
    """While the form is read: the embedded judge, if one is chosen, loads and reads the first prompt."""
    judge = first_embedded(judges)
    _warmth().want(judge, lambda: None if judge is None else plan(made([judge])).first_call(0))


def _cost(kind: Kind, orders: int | None, judges: int) -> str:
    """How many calls a trial makes, and which of them are its control."""
    if kind == "pairwise":
        calls, what = PAIR_CALLS, tr("both orders, each twice: the second answers are the control.")
    else:
        calls = (orders or 0) + CONTROLS
        what = tr(
            "{orders}, and {calls} more in the usual one. It shows what the judge changes by itself.",
            orders=many(orders or 0, "order"),
            calls=many(CONTROLS, "call"),
        )
    if judges > 1:
        return tr("{calls} a judge: {what}", calls=many(calls, "call"), what=what)
    return f"{many(calls, 'call')}: {what}"


def _fill_from(run: str) -> None:
    """Put the text of a trial that a link names into the form; once, so that it can be changed."""
    st.session_state["trial-filled"] = run
    study = ui.store().study(run)
    item = study.dataset.items[0]
    if isinstance(item, Comparison):
        texts = (item.turns[0], item.responses[0][0], item.responses[1][0])
    else:
        texts = (item.instruction, item.response, "")
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[f"trial-{name}"] = text
    st.session_state["trial-example"] = PASTED
    st.session_state["trial-kind"] = study.design.axis


def _texts(kind: Kind) -> None:
    """The example and the texts, which can be changed after it was chosen."""
    names = [*_examples(), PASTED]
    if "trial-instruction" not in st.session_state:
        _take(names[0])
    st.selectbox(
        tr("Example"),
        names,
        key="trial-example",
        persist_state="session",
        format_func=lambda name: tr(PASTED) if name == PASTED else name,
        on_change=lambda: _take(st.session_state["trial-example"]),
    )
    st.text_area(tr("Instruction"), key="trial-instruction", height=88, persist_state="session")
    st.text_area(tr("Response"), key="trial-response", height=120, persist_state="session")
    if kind == "pairwise":
        st.text_area(tr("The other response"), key="trial-second", height=120, persist_state="session")


def _take(name: str) -> None:
    """Put an example's texts into the form; nothing for one's own."""
    if name == PASTED:
        for part in TEXTS:
            st.session_state[f"trial-{part}"] = ""
        return
    item, other = _examples()[name]
    for part, text in zip(TEXTS, (item.instruction, item.response, other.response), strict=True):
        st.session_state[f"trial-{part}"] = text


def next_text() -> None:
    """Called before a page is drawn: put the next example with another instruction into the form, and leave the trial that is shown."""
    examples = _examples()
    names, shown = list(examples), st.session_state.get("trial-example")
    after = names[names.index(shown) :] + names if shown in examples else names
    asked = st.session_state.get("trial-instruction")
    name = next((one for one in after if examples[one][0].instruction != asked), names[0])
    st.session_state["trial-example"] = name
    _take(name)
    st.query_params.pop("run", None)


def _rubric(kind: Kind) -> tuple[Rubric | None, str | None]:
    rubrics = {
        name: rubric for name, (rubric, _) in all_rubrics().items() if kind == "options" or len(rubric.criteria) > 1
    }
    if not rubrics:
        st.info(tr("No rubric here has several criteria. Make one on the Rubric page."))
        return None, None
    own_text = st.session_state.get("trial-example") == PASTED
    shipped = next((rubric.name for rubric in sample_rubrics() if rubric.name in rubrics), None)
    name = ui.choose(
        tr("Rubric"),
        list(rubrics),
        key=f"trial-rubric-{kind}",
        address="rubric",
        default=None if own_text else shipped,  # the lab's example is not judged by a rubric for other texts
    )
    rubric = rubrics[name]
    if kind == "criteria" or len(rubric.criteria) == 1:
        return rubric, rubric.criteria[0].name
    names = [criterion.name for criterion in rubric.criteria]
    return rubric, ui.choose(tr("Criterion"), names, key=f"trial-criterion-{name}", address="criterion")


def _judges() -> list[Judge]:
    known = known_judges()
    default = [DEFAULT_JUDGE] if DEFAULT_JUDGE in known else list(known)[:1]
    chosen = ui.choose_many(
        tr("Judges"),
        list(known),
        key="trial-judges",
        address="judge",
        default=default,
        name=lambda name: judge_label(known[name]),
    )
    return [known[name] for name in chosen]


def _orders(kind: Kind, rubric: Rubric | None, criterion: str | None) -> int | None:
    """How many orders to ask: the balanced set, or the whole list."""
    if rubric is None:
        return None
    options: list[int] | list[str] = (
        list(rubric.criterion(criterion).scores) if kind == "options" else [one.name for one in rubric.criteria]
    )
    few, every = first_reads(len(options)), len(trial_orders(options))  # type: ignore[type-var]
    if few == every:
        return every
    whole = every < ALL_ORDERS or len(options) == 5
    names = {few: tr("{n}, balanced", n=few), every: tr("all {n}", n=every) if whole else str(every)}
    return ui.choose(
        tr("Orders"),
        list(names),
        key=f"trial-orders-{few}-{every}",
        address="orders",
        name=lambda k: names[k],
        segments=True,
        about=tr(
            "{orders}: each option stands at each position equally often. More orders settle the mean "
            "further and take longer.",
            orders=many(few, "order"),
        ),
    )
