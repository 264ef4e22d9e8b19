"""Let a visitor change the order of one answer's list, and see what the judge makes of it.

The page keeps nothing: an example is not a run, and no result counts it. Replies that were recorded
with the lab are shown at once; others are asked when the visitor wants them. A recorded reply
belongs to the judge that gave it, so both kinds on one screen come from the same judge.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import draft, written
from rubriclab.app.forms import ask, forget, open_row, open_step, segments
from rubriclab.app.frame import faults, go, safe, verbatim
from rubriclab.app.order_list import Known, Move, Order, Row, order_list, order_strip
from rubriclab.app.setup_rubric import typed_rubric
from rubriclab.core.swings import OrderResult, Swing, Tried, ranked, tried
from rubriclab.data.sample import sample, sample_rubrics
from rubriclab.figures.order_columns import (
    Column,
    asked_text,
    columns,
    comparison,
    legend_text,
    marks_of,
    missing_text,
    numbers_of,
    order_address,
    order_from_address,
    place_text,
    result_text,
    swings_text,
    tally_text,
)
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model.consent import judges_of
from rubriclab.model.data import Comparison as Pair
from rubriclab.model.data import Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Judgment, Reorder, Status
from rubriclab.model.text import LabError, count, digest, printable, shorten
from rubriclab.runs.trial import Trial, entries_of, plan_of_texts, recorded
from rubriclab.study.plan import Plan
from rubriclab.words.phrases import say

HERE = Path(__file__).parent
AXES: dict[Reorder, str] = {
    "options": "Score options",
    "pairs": "Two answers",
    "criteria": "Criteria",
}
LISTS = {"options": "Score options", "pairs": "Answers", "criteria": "Criteria"}
"""What the list is called for people who do not see it."""
MOST_CHARACTERS = 20_000
"""Length of a text in the form. A small model's context holds no more."""
LONG_ANSWER = 330
"""Characters above which an answer is set smaller, so that the list stays on the first screen."""
LONG_LABEL = 20
"""Characters of a button's label that fit next to the score."""
MOST_RUNS = 20
"""Latest runs whose judges are offered."""
MOST_KEPT = 30
"""Answers whose live replies a visit keeps, so that going back to one costs no calls."""
REFRESH_SECONDS = 0.4
"""How often the page is drawn again while the judge is asked."""
ADDRESS = ("list", "judge", "answer", "order")
"""The parts of the page's address that say what is shown."""
SIMULATED = JudgeSettings(
    name="simulated", kind="simulated", model="simulated", options={"first": 1.0}
)


@dataclass(frozen=True)
class Samples:
    """The sample's answers, and what the lab recorded about them with one judge.

    answers: by name, one item each; of pairs, two.
    judgments: by name; answers without recorded replies are left out.
    swings: those that can be compared, the widest first.
    """

    answers: Mapping[str, tuple[Item, ...]]
    judgments: Mapping[str, Sequence[Judgment]]
    swings: Sequence[Swing]

    @property
    def names(self) -> list[str]:
        """All names: those with a swing first, from the widest to none."""
        return [*dict.fromkeys([*(swing.name for swing in self.swings), *self.answers])]


@dataclass(frozen=True)
class Shown:
    """What the page is about now.

    name: of the sample's answer; empty for the visitor's own text.
    plan: of every balanced order.
    entries: the list in the default order.
    """

    axis: Reorder
    name: str
    answers: tuple[Item, ...]
    rubric: Rubric
    judge: JudgeSettings
    plan: Plan
    entries: tuple[int | str, ...]
    known: Sequence[Judgment]

    @property
    def trials(self) -> list[Trial]:
        """What was asked in this visit about it, oldest first."""
        trials: dict[str, list[Trial]] = st.session_state.setdefault("try trials", {})
        return trials.setdefault(self.plan.identity, [])

    @property
    def asking(self) -> Trial | None:
        """The trial that goes on now."""
        return next((trial for trial in self.trials if trial.active), None)

    def results(self) -> Tried:
        """Return all replies so far, in their orders."""
        live = [made for trial in self.trials for made in [*trial.judgments.values()]]
        return tried(self.axis, self.entries, self.known, live)


def page() -> None:
    """Draw the answer, the list to reorder, the strip of orders, and what to do next."""
    st.html(HERE / "try_it.css")
    judges = _judges()
    _read_address(judges)
    axis = _axis()
    with st.container(key="try-head"):
        left, middle, right = st.columns([2.35, 1.05, 0.6], vertical_alignment="center")
    left.title(say(f"title_{axis}", ("trial",)), anchor=False)
    with middle:
        judge = _judge(axis, judges)
    rubric = _ready_rubrics(axis)[0]
    samples = _samples(axis, judge, rubric)
    names = samples.names
    if not samples.swings:  # the list of the judge that the page begins with
        names = _samples(axis, judges[_first_judge(axis, judges)], rubric).names
    name = _name(names)
    asking = any(trial.active for trial in _all_trials())
    with right:
        st.button(
            "Next answer",
            icon=":material/skip_next:",
            shortcut="N",
            disabled=asking,
            on_click=_next,
            args=(names, name),
            key="try-next",
            width="stretch",
        )
    with faults():
        shown = _shown(axis, judge, rubric, samples, name)
        _start(shown)
        watched = shown.asking is not None
        with st.container(key="try-bench"):
            refreshed = st.fragment(run_every=REFRESH_SECONDS if watched else None)(_bench)
            refreshed(shown, watched)
        if shown.name:
            st.caption(safe(swings_text(axis, samples.swings, name)))
    _below(axis, judge, rubric)


def _below(axis: Reorder, judge: JudgeSettings, rubric: Rubric) -> None:
    """Draw what can be changed or done next."""
    with st.container(horizontal=True, vertical_alignment="center", key="try-next-steps"):
        titles: dict[str, str] = dict(AXES.items())
        segments("What changes order?", titles, key="try-axis", start="options")
        st.space("stretch")
        own = _own_open()
        st.button(
            "Back to the samples" if own else "Try my own text",
            icon=":material/arrow_back:" if own else ":material/edit:",
            type="tertiary",
            key="try-own",
            on_click=_toggle_own,
        )
        pressed = st.button(
            "Measure my judge",
            icon=":material/tune:",
            type="tertiary",
            key="try-measure",
            help=say("example", ("trial",)),
        )
    if pressed:
        _measure(axis, judge, st.session_state.get("try rubric", rubric) if own else rubric)


# ---------------------------------------------------------------- what is shown


def _axis() -> Reorder:
    """Return what changes order. The control is drawn at the end of the page."""
    axis = st.session_state.get("try-axis", "options")
    if st.session_state.get("try axis") not in (None, axis):
        _forget_answer()
    st.session_state["try axis"] = axis
    chosen: Reorder = axis
    return chosen


def _shown(
    axis: Reorder, judge: JudgeSettings, rubric: Rubric, samples: Samples, name: str
) -> Shown:
    """Draw the answer, or the form of the visitor's own text; return what it is about.

    Raises LabError for an empty answer.
    """
    answers, own = samples.answers[name], _own_open()
    if own:
        answers, rubric = _own_text(axis, samples.answers[name])
        st.session_state["try rubric"] = rubric
    else:
        _card(answers)
    planned = plan_of_texts(axis, answers, rubric, judge)
    known: Sequence[Judgment] = ()
    if answers == samples.answers[name] and rubric == _ready_rubrics(axis)[0]:
        known = samples.judgments.get(name, ())
    else:
        name = ""
    (entries,) = entries_of(planned).values()
    return Shown(axis, name, answers, rubric, judge, planned, entries, known)


def _identity(judge: JudgeSettings) -> str:
    return digest(judge.identity())


@st.cache_resource(
    show_spinner=False,
    max_entries=16,
    hash_funcs={JudgeSettings: _identity, Rubric: lambda rubric: rubric.id},
)
def _samples(axis: Reorder, judge: JudgeSettings, rubric: Rubric) -> Samples:
    """Return the sample with what the lab recorded about it."""
    dataset = sample(drafts=axis == "pairs")
    planned = plan_of_texts(axis, dataset.items, rubric, judge)
    entries = entries_of(planned)
    answers: dict[str, tuple[Item, ...]] = {item.item_id: (item,) for item in dataset.items}
    if axis == "pairs":
        answers = {item.item_id: item.answers for item in planned.items if isinstance(item, Pair)}
    known: dict[str, list[Judgment]] = {}
    if judge.about.small_model:  # the lab recorded no others
        with suppress(LabError):  # this lab came without its examples
            first = state.recorded()
            known = recorded(planned, state.store_of(first), [first])
        if not known:
            store = state.examples()
            known = recorded(planned, store, [info.id for info in store.runs()])
    swings = ranked({name: tried(axis, entries[name], made) for name, made in known.items()})
    return Samples(answers, known, swings)


def _name(names: Sequence[str]) -> str:
    """Return the name of the chosen sample answer; the widest swing if none is chosen."""
    chosen = st.session_state.get("try answer")
    return str(chosen) if chosen in names else names[0]


def _next(names: Sequence[str], name: str) -> None:
    _forget_answer()
    st.session_state["try answer"] = names[(names.index(name) + 1) % len(names)]


def _forget_answer() -> None:
    """Let the next answer begin with its own order and its own texts."""
    st.session_state["try answer"] = st.session_state["try order"] = None
    forget("try-texts-", "try-pairs-")


def _own_open() -> bool:
    return bool(st.session_state.get("try own", False))


def _toggle_own() -> None:
    st.session_state["try own"] = not _own_open()
    forget("try-texts-", "try-pairs-")


def _card(answers: Sequence[Item]) -> None:
    """Draw the task small, and the answer (or both) large."""
    titles = ["The answer"]
    if len(answers) > 1:
        titles = [item.candidate or item.item_id for item in answers]
    parts = []
    if answers[0].instruction:
        parts.append(("The task", answers[0].instruction, "task"))
    for title, item in zip(titles, answers, strict=True):
        long = " long" if len(item.response) > LONG_ANSWER else ""
        parts.append((title, item.response, f"answer{long}"))
    drawn = "".join(
        f'<div class="{kind}"><small>{escape(printable(title))}</small>'
        f"<p>{escape(printable(text))}</p></div>"
        for title, text, kind in parts
    )
    two = " two" if len(answers) > 1 else ""
    with st.container(border=True, key="try-answer"):
        st.html(
            f'<div class="try-card{two}" tabindex="0" role="region" aria-label="Task and answer">'
            f"{drawn}</div>"
        )


# ---------------------------------------------------------------- the list and the strip


def _bench(shown: Shown, watched: bool) -> None:
    """Draw the list on the left, the orders on the right. While the judge is asked, they fill.

    ``watched``: whether the judge was still being asked when the page was drawn.
    """
    asking = shown.asking
    if watched and asking is None:
        st.rerun()  # the whole page, whose buttons change, too
    answer = shown.results()
    order = _order(answer)
    _write_address(shown, answer, order)
    left, right = st.columns([1, 1.04], gap="large")
    with left:
        _list(shown, answer, order, locked=asking is not None)
        if asking is not None:
            _progress(asking)
        else:
            _score(shown, answer, order)
    with right:
        _comparison(answer)
        if answer.orders:
            if tally := tally_text(answer):
                st.markdown(tally)
            order_strip(
                columns(answer), order, locked=asking is not None, on_pick=_pick, key="try-strip"
            )
            st.caption(safe(legend_text(answer)))
        if not shown.known and asking is None:
            _ask_all(shown, answer)


def _order(answer: Tried) -> Order:
    """Return the order of the list: the visitor's, or the higher of the two that differ most."""
    order: Order | None = st.session_state.get("try order")
    if order is not None and sorted(order) == list(range(len(answer.entries))):
        return order
    first = answer.widest.high.shown if answer.widest else answer.entries
    return numbers_of(answer.entries, first)


def _move(move: Move) -> None:
    st.session_state["try order"] = move.order
    st.session_state["try stamp"] = move.stamp


def _pick(order: Order) -> None:
    st.session_state["try order"] = order


def _list(shown: Shown, answer: Tried, order: Order, *, locked: bool) -> None:
    known = {}
    for asked in {result.shown for result in answer.orders}:
        results = answer.of(asked)
        marks = {
            answer.entries.index(entry): mark for entry, mark in marks_of(answer, results).items()
        }
        known[numbers_of(answer.entries, asked)] = Known(marks, result_text(answer, results))
    order_list(
        _rows(shown),
        order,
        known,
        name=f"{LISTS[shown.axis]}, in the order that the judge sees",
        names=shown.axis != "options",
        stamp=st.session_state.get("try stamp", 0),
        locked=locked,
        on_move=_move,
        key="try-list",
    )


def _rows(shown: Shown) -> list[Row]:
    """Return the rows of the list in the default order."""
    if shown.axis == "options":
        options = {option.score: option for option in shown.rubric.criteria[0].options}
        return [_row(str(entry), options[int(entry)].description) for entry in shown.entries]
    if shown.axis == "criteria":
        about = {part.name: part.description for part in shown.rubric.criteria}
    else:
        about = {item.candidate or item.item_id: item.response for item in shown.answers}
    return [_row(str(entry), about.get(str(entry), "")) for entry in shown.entries]


def _row(label: str, text: str) -> Row:
    return Row(printable(shorten(label, 60)), printable(shorten(text, 130)))


def _score(shown: Shown, answer: Tried, order: Order) -> None:
    """Draw the result of the order, or say that nobody has asked it; offer to ask."""
    entries = tuple(answer.entries[number] for number in order)
    results = answer.of(entries)
    label = _with_download("Ask the judge", shown.judge)
    with st.container(key="try-result"):
        if len(label) > LONG_LABEL:  # a column would cut off the size of the download
            left = right = st.container()
        elif results:
            left, right = st.columns([2.4, 1], vertical_alignment="center")
        else:
            right, left = st.columns([1, 2.4], vertical_alignment="center")
    if results:
        title, asked = result_text(answer, results), asked_text(answer, results)
        simulated = " The judge is simulated." if shown.judge.simulated else ""
        left.html(
            f'<div class="try-score"><strong>{escape(printable(title))}</strong>'
            f"<span>{escape(printable(asked + simulated))}</span></div>"
        )
    else:
        left.caption(_marked(missing_text(answer, entries)))
    with right:
        _ask_button(label, entries, primary=not results)
    _faults_of(shown, results, entries)


def _marked(text: str) -> str:
    """Return one of the lab's sentences as markdown; only its bold marks act."""
    return "**".join(map(safe, text.split("**")))


def _ask_button(label: str, entries: Sequence[int | str], *, primary: bool) -> None:
    """Draw the button that asks the judge about this order."""
    pressed = st.button(
        label,
        icon=":material/play_arrow:",
        type="primary" if primary else "tertiary",
        shortcut="J",
        key="try-ask",
    )
    if pressed:
        st.session_state["try ask"] = [tuple(entries)]
        st.rerun()  # the whole page, which starts the judge and watches it


def _ask_all(shown: Shown, answer: Tried) -> None:
    """Draw the button that asks every balanced order, unless that was done."""
    orders = {call.ordering.shown for call in shown.plan.calls()}
    if orders <= {result.shown for result in answer.orders}:
        return
    label = f"Ask in {count(len(orders), 'order')}"
    if st.button(
        _with_download(label, shown.judge), icon=":material/playlist_play:", key="try-all"
    ):
        st.session_state["try ask"] = []
        st.rerun()
    st.caption(f"{count(len(shown.plan), 'call')}: every order twice.")


def _with_download(label: str, judge: JudgeSettings) -> str:
    """Return a button's label with the size of a model that has to be downloaded first."""
    weights = CATALOGUE.get(judge.model) if judge.about.small_model else None
    if weights is not None and weights.download_megabytes:
        return f"{label} (downloads {weights.download_megabytes} MB)"
    return label


def _start(shown: Shown) -> None:
    """Ask the judge what the visitor has pressed a button for, unless it is being asked already."""
    wanted: list[tuple[int | str, ...]] | None = st.session_state.get("try ask")
    if wanted is None:
        return
    planned = None
    if shown.asking is None:
        with faults():
            planned = (
                plan_of_texts(shown.axis, shown.answers, shown.rubric, shown.judge, orders=wanted)
                if wanted
                else shown.plan
            )
    # Streamlit may start this page again during planning, and then plans again. The request is
    # dropped before the judge is asked, so that it is asked once.
    del st.session_state["try ask"]
    if planned is None:
        return
    with faults():
        shown.trials.append(Trial(planned, state.store().consents()).start())
        if not wanted:
            st.session_state["try order"] = None  # show what differs most
    trials: dict[str, list[Trial]] = st.session_state["try trials"]
    ended = [key for key, kept in trials.items() if not any(trial.active for trial in kept)]
    for key in ended[: max(0, len(trials) - MOST_KEPT)]:
        del trials[key]


def _all_trials() -> list[Trial]:
    trials: dict[str, list[Trial]] = st.session_state.get("try trials", {})
    return [trial for kept in trials.values() for trial in kept]


def _progress(trial: Trial) -> None:
    """Say how far the judge is, and offer to stop."""
    now = trial.snapshot()
    stage = f" · {safe(now.stage, 200)}" if now.stage else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Stop", icon=":material/stop:", on_click=trial.pause, key="try-stop")
        st.markdown(f"Asking… {now.done} of {count(now.planned, 'call')}{stage}")


def _faults_of(shown: Shown, results: Sequence[OrderResult], entries: Sequence[int | str]) -> None:
    """Say why the judge stopped, and show replies to this order that have no result."""
    trials = shown.trials
    if trials and (reason := trials[-1].snapshot().reason):
        st.markdown(f":orange[{safe(reason, 400)}]")
    if all(result.settled is not None for result in results):
        return
    live = [made for trial in trials for made in trial.judgments.values()]
    failed = {
        made.reply.error or made.reply.text: made
        for made in [*shown.known, *live]
        if made.call.ordering.shown == tuple(entries) and made.status != Status.OK
    }
    for text, made in failed.items():
        if made.reply.error:
            st.markdown(f":orange[The judge did not reply: {safe(text, 300)}]")
            continue
        what = "winner" if shown.axis == "pairs" else "score"
        st.caption(f"No {what} could be parsed from this reply:")
        verbatim(text, height=120 if len(text) > 300 else None)


def _comparison(answer: Tried) -> None:
    """Draw the two orders that differ most, next to each other."""
    compared = comparison(answer)
    st.header(safe(compared.title), anchor=False)
    if compared.caption:
        st.caption(safe(compared.caption))
    if compared.columns:
        drawn = "".join(_stack(answer, column) for column in compared.columns)
        st.html(f'<div class="try-pair">{drawn}</div>')


def _stack(answer: Tried, column: Column) -> str:
    """Return the HTML of one order with its result in large type."""
    cells = "".join(
        f'<span class="{cell.kind}">{escape(printable(cell.text))}</span>' for cell in column.cells
    )
    word = " word" if len(column.result) > 3 else ""
    place = escape(printable(place_text(answer, column)))
    result = escape(printable(column.result))
    return (
        f'<div><div class="try-stack">{cells}</div><div class="try-result{word}">'
        f"<strong>{result}</strong><span>{place}</span></div></div>"
    )


# ---------------------------------------------------------------- the address


def _write_address(shown: Shown, answer: Tried, order: Order) -> None:
    """Keep the shown answer and order in the address. The visitor's own text is never in it."""
    place: dict[str, str] = {}
    if shown.name:
        if shown.axis != "options":
            place["list"] = shown.axis
        if shown.judge.model in CATALOGUE and st.session_state.get("try judge chosen"):
            place["judge"] = shown.judge.model
        place["answer"] = shown.name
        entries = [answer.entries[number] for number in order]
        place["order"] = order_address(answer.entries, entries)
    st.session_state["try address"] = place
    if {name: st.query_params[name] for name in ADDRESS if name in st.query_params} != place:
        st.query_params.from_dict(place)  # at once: each change is a step for the browser's Back


def _read_address(judges: Sequence[JudgeSettings]) -> None:
    """Show what the address names, if it is not what the page itself wrote there.

    What it names wrongly is reported and left out.
    """
    place = {name: st.query_params[name] for name in ADDRESS if name in st.query_params}
    if not place or place == st.session_state.get("try address"):
        return
    st.session_state["try address"] = place
    st.session_state["try own"] = False
    _forget_answer()
    named = place.get("list", "options")
    axis = next((known for known in AXES if known == named), None)
    models = [judge.model for judge in judges]
    if axis is not None:
        st.session_state["try-axis"] = st.session_state["try axis"] = axis
    if place.get("judge") in CATALOGUE:
        st.session_state["try-judge"] = models.index(place["judge"])
        st.session_state["try judge chosen"] = True
    with faults():
        if axis is None:
            raise LabError(
                f"The address names the list “{shorten(named)}”. Expected one of {', '.join(AXES)}."
            )
        if "judge" in place and place["judge"] not in CATALOGUE:
            raise LabError(
                f"The address names the judge “{shorten(place['judge'])}”. Expected one of "
                f"{', '.join(CATALOGUE)}."
            )
        _read_answer(axis, place)


def _read_answer(axis: Reorder, place: Mapping[str, str]) -> None:
    """Choose the answer and the order of an address. Raises LabError for unknown ones."""
    rubric = _ready_rubrics(axis)[0]
    planned = plan_of_texts(axis, sample(drafts=axis == "pairs").items, rubric, SIMULATED)
    entries = entries_of(planned)
    name = place.get("answer", "")
    if name and name not in entries:
        raise LabError(f"The sample has no answer “{shorten(name)}”. The first one is shown.")
    st.session_state["try answer"] = name or None
    if order := place.get("order", ""):
        listed = entries[name or next(iter(entries))]
        wanted = order_from_address(listed, order)
        st.session_state["try order"] = numbers_of(listed, wanted)


# ---------------------------------------------------------------- judge, own text, and Set up


def _judges() -> list[JudgeSettings]:
    """Return the judges on offer: small models, those of Set up and of own runs, a simulated one.

    Judges of imported runs are left out, because nobody has agreed to ask their servers. Own code
    runs only if it was looked at in Set up, so the judges of earlier runs with own code are left
    out, too.
    """
    judges = [*(JudgeSettings(name=name, model=name) for name in CATALOGUE), *draft().study.judges]
    store = state.store()
    for info in store.runs()[:MOST_RUNS]:
        if store.imported(info.id):
            continue
        # A judge whose kind is no longer installed is left out.
        for body in store.study(info.id).get("judges", []):
            judges += [
                judge for judge in judges_of({"judges": [body]}) if not judge.about.runs_code
            ]
    known: dict[str, JudgeSettings] = {}
    for judge in (*judges, SIMULATED):
        known.setdefault(_identity(judge), judge)
    return list(known.values())


def _judge(axis: Reorder, judges: Sequence[JudgeSettings]) -> JudgeSettings:
    """Ask for a judge. Until the visitor chooses one, it is the first with something to compare."""
    if not st.session_state.get("try judge chosen"):
        st.session_state["try-judge"] = _first_judge(axis, judges)
    names = [f"{judge.name} · {_where(judge)}" for judge in judges]
    chosen = _choice(
        "Judge",
        names,
        "try-judge",
        label_visibility="collapsed",
        on_change=st.session_state.update,
        args=({"try judge chosen": True},),
    )
    return judges[chosen]


def _first_judge(axis: Reorder, judges: Sequence[JudgeSettings]) -> int:
    """Return the first judge whose recorded replies about the sample can be compared."""
    rubric = _ready_rubrics(axis)[0]
    for number, judge in enumerate(judges):
        if judge.about.small_model and _samples(axis, judge, rubric).swings:
            return number
    return 0


def _where(judge: JudgeSettings) -> str:
    """Return where a judge runs, in a few words."""
    if not judge.about.served:
        return judge.about.label
    return ", ".join(judge.base_urls) or judge.kind


def _choice(label: str, names: Sequence[str], key: str, **more: Any) -> int:
    """Ask for one of several names; return its number, or 0 if the chosen one is gone."""
    titles = [shorten(name, 60) for name in names]
    if st.session_state.get(key, 0) >= len(titles):
        del st.session_state[key]
    title_of = titles.__getitem__
    numbers = range(len(titles))
    return int(ask(st.selectbox, label, numbers, key=key, start=0, format_func=title_of, **more))


def _own_text(axis: Reorder, start: tuple[Item, ...]) -> tuple[tuple[Item, ...], Rubric]:
    """Draw the fields of the visitor's own text and rubric; return what they hold.

    ``start``: the sample's texts, which are returned themselves as long as nobody changes them.
    Raises LabError for an empty answer.
    """
    kind = "pairs" if axis == "pairs" else "texts"
    answer_labels = ["Answer A", "Answer B"] if axis == "pairs" else ["Answer to score"]
    labels = ["Prompt (optional)", *answer_labels]
    texts = [start[0].instruction, *(item.response for item in start)]
    with st.container(border=True, key="try-form"):
        fields = st.columns([1, *[2.4 / len(answer_labels)] * len(answer_labels)])
        typed = []
        for column, label, text in zip(fields, labels, texts, strict=True):
            limits = {"height": 130, "max_chars": MOST_CHARACTERS}
            key = f"try-{kind}-{label}"
            typed.append(ask(column.text_area, label, key=key, start=text, **limits) or "")
        rubric = _rubric(axis)
    prompt, *answers = typed
    for label, text in zip(answer_labels, answers, strict=True):
        if not text.strip():
            raise LabError(f"“{label}” is empty. Write or paste the text to judge.")
    if typed == texts:
        return start, rubric
    names = ["A", "B"] if axis == "pairs" else ["your answer"]
    own = [
        Item(name, text, prompt, prompt="yours", candidate=name)
        for name, text in zip(names, answers, strict=True)
    ]
    return tuple(own), rubric


def _ready_rubrics(axis: Reorder) -> list[Rubric]:
    """Return the lab's rubrics that fit what changes order."""
    return [rubric for rubric in sample_rubrics() if axis != "criteria" or len(rubric.criteria) > 1]


def _rubric(axis: Reorder) -> Rubric:
    """Return a ready-made rubric, or the one of Set up, as the fields say.

    If score options are reordered, it has only the chosen criterion.
    """
    ready = _ready_rubrics(axis)
    if axis == "pairs":
        return ready[0]  # pairs show nothing of it
    with suppress(LabError):  # the rubric of Set up may wait for its file
        own = draft().rubric(None)
        if own not in ready and (axis != "criteria" or len(own.criteria) > 1):
            ready.append(own)
    left, right = st.columns(2)
    with left:
        rubric = ready[_choice("Rubric", [known.name for known in ready], f"try-rubric-{axis}")]
    with st.expander("Edit the rubric", icon=":material/edit:"):
        rubric = typed_rubric(rubric, f"try-rubric-{rubric.id[:8]}")
    if axis == "criteria" or len(rubric.criteria) == 1:
        return rubric
    names = [criterion.name for criterion in rubric.criteria]
    with right:
        chosen = _choice("Criterion", names, "try-criterion")
    return Rubric(rubric.name, rubric.criteria[chosen : chosen + 1])


def _measure(axis: Reorder, judge: JudgeSettings, rubric: Rubric) -> None:
    """Open Set up with rubric, judge, and order filled in. Data that were chosen there stay."""
    held = draft()
    if axis != "pairs":
        held.set_rubric(written(rubric))
    design = held.study.design.model_copy(update={"reorder": axis})
    held.change(judges=(judge,), design=design)
    forget("rubric-", "orders-")
    open_row("judge", 0)
    open_step(1)
    go("setup")
