"""Scoring bias: does the score move when the prompt changes in ways that should not matter?"""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import references
from rubriclab.app.views import common as uf
from rubriclab.app.views import perturbation as views
from rubriclab.app.views import wording
from rubriclab.figures.style import Chart
from rubriclab.findings.perturbation import PERTURBATION
from rubriclab.findings.perturbation_results import PerturbationResult
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.store import RunInfo

LEAD = msg(
    "Does the score move when the prompt changes in ways that should not matter: the order of the "
    "rubric, the score IDs, a reference answer?"
)
HUMAN = msg("Human ratings")


def all_numbers(found: PerturbationResult) -> None:
    """Every form's numbers as a table."""
    with st.expander(tr("All numbers")):
        st.caption(
            tr(
                "{prompt_forms} tested against their baseline, each kind of test corrected with Holm; intervals from "
                "{resamples:,} resamples of items, the same for all forms.",
                prompt_forms=many(found.n_tests, "form"),
                resamples=found.n_boot,
            )
        )
        uf.table(views.shown(found), key="perturbation-table", forms=views.FORMS)


def no_forms(info: RunInfo, worded: dict[str, Chart]) -> None:
    """A run with wordings alone, or with one form of the prompt."""
    if worded:
        ui.export_row(worded, {}, info=info, key="wording")
    else:
        ui.empty_state(
            tr("This run has one form of the prompt"), tr(views.HOW), target="study", action=tr("Set up a study")
        )


def yardstick(gold: str) -> str:
    """What scores are measured against: people, or a judge by its name."""
    return tr(HUMAN) if gold == HUMAN else gold


def findings() -> None:
    """The chosen run, or how to make one."""
    info = ui.choose_run(axes=("options",), key="perturbation")
    if info is None:
        ui.empty_state(tr("Nothing to compare yet"), tr(views.HOW), target="study", action=tr("Set up a study"))
        return
    judges = list(dict.fromkeys(arm.judge for arm in ui.run_data(info).arms))
    gold = HUMAN
    if len(judges) > 1:
        gold = uf.pick(tr("Yardstick"), [HUMAN, *judges], key="perturbation-gold", address="yardstick", name=yardstick)
    found = ui.finding(info, PERTURBATION, gold_judge=None if gold == HUMAN else gold)
    groups = [group for group in found.groups if len(group.perturbations) > 1]
    drawn = wording.sensitivity(info)
    if not groups and not found.followed:
        no_forms(info, drawn)
        return
    if groups:
        index = uf.pick(
            tr("Judge and data set"),
            list(range(len(groups))),
            key="perturbation-group",
            address="group",
            name=lambda i: f"{groups[i].judge} · {groups[i].dataset} · {many(len(groups[i].scores), 'score')}",
        )
        group = groups[index]
        views.headline(group)
        told = (f"{form.said}: {w}" for form in group.perturbations for w in form.warnings)
        uf.cautions(group.warnings, told)
        drawn |= views.pictures(info, group, found)
    for judge in dict.fromkeys(one.model.judge for one in found.followed):
        if not groups or judge == group.judge:
            drawn |= views.followed(info, found, judge)
    all_numbers(found)
    ui.export_row(drawn, {msg("Scoring bias"): views.frame(found)}, info=info, key="perturbation")


with ui.page("perturbation", msg("Scoring bias"), LEAD):
    results, answers = st.tabs([tr("Findings"), tr("Reference answers")])
    with answers:
        st.markdown(
            tr(
                "A writer writes an answer that should earn a score; a reviewer scores it without knowing which "
                "score was meant; it passes where the two agree. Your own answers can be uploaded as columns "
                "reference_1, reference_2, … instead."
            )
        )
        references.section()
    with results:
        findings()
