"""Causes and cures: position, label and neighbour apart; what one corrected call is worth."""

import math

import streamlit as st

from rubriclab import ui
from rubriclab.figures.choice import label_odds, neighbour_odds, position_odds
from rubriclab.figures.style import Chart
from rubriclab.findings.choice import ChoiceModel, choice
from rubriclab.views import common as uf
from rubriclab.views import debiasing as views

LEAD = "What pulls the judge: the place, the label beside it, or the score read just before? And what takes it out?"
UNSEEN = {
    "no": "Every item was read in one order, so this cannot be told from the content.",
    "partly": "The orders moved too little to tell this apart from the rest.",
    "tied to score": "It always went with the same score, so it is part of what that score means.",
    "tied to position": "It always went with the same position, so the position effect contains it.",
}


def sentence(model: ChoiceModel) -> str:
    """The strongest pull in words, with its odds."""
    known = [level for level in model.position if math.isfinite(level.log_odds)]
    if not known:
        return f"What pulls {model.judge} cannot be told from this design."
    test = model.position_test
    if test is not None and test.p >= 0.05:
        return f"No pull of the position can be seen in {model.judge}, everything else held equal."
    top = max(known, key=lambda level: level.log_odds)
    return (
        f"Standing at position {top.position} multiplies an option's odds with {model.judge} by "
        f"{top.odds:.2f}, everything else held equal."
    )


def headline(model: ChoiceModel) -> None:
    uf.answer(sentence(model))
    known = [level for level in model.position if math.isfinite(level.log_odds)]
    top = max(known, key=lambda level: level.log_odds, default=None)
    tests = {
        "position": model.position_test,
        "label": model.label_test,
        "neighbour": model.neighbour_test,
    }
    ends = None if top is None else (math.exp(top.ci.low), math.exp(top.ci.high))
    uf.metrics(
        (f"Odds at position {top.position}" if top else "Odds", uf.number(top.odds if top else None, ".2f"),
         f"{ends[0]:.2f} to {ends[1]:.2f}" if ends and math.isfinite(ends[0]) else "no interval", uf.HELP["odds"]),
        *[(name.capitalize(), "not seen apart" if test is None else uf.p_value(test.p),
           "" if test is None else test.name,
           UNSEEN.get(str(model.identified.get(name)), f"A joint test that {name} has no effect on the choice."))
          for name, test in tests.items()],
    )  # fmt: skip
    left_out = ", ".join(f"{n:,} {why}" for why, n in model.excluded.items())
    st.caption(
        f"From {model.n_pairs:,} pairs of reads of {model.n_informative:,} {model.unit}s that changed with "
        f"the order ({model.n_reads:,} reads of {model.n_items:,} items{'; left out: ' + left_out if left_out else ''})."
    )


def odds(model: ChoiceModel) -> dict[str, Chart]:
    """One forest an effect; where the design cannot show it, why."""
    drawn: dict[str, Chart] = {}
    effects = (
        ("Position", position_odds, model.position, "position"),
        ("Label", label_odds, model.label, "label"),
        ("Score read just before", neighbour_odds, model.neighbour, "neighbour"),
    )
    for place, (title, draw, levels, name) in zip(
        st.columns(3, gap="medium"), effects, strict=True
    ):
        with place:
            st.markdown(f"**{title}**")
            if levels:
                drawn[title] = draw([model])
                ui.chart(drawn[title], key=f"debiasing-{name}-{model.arm}-{model.source}")
            else:
                st.caption(
                    UNSEEN.get(str(model.identified.get(name)), "This design cannot show it.")
                )
    return drawn


with ui.page("debiasing", "Causes and cures", LEAD):
    info = ui.choose_run(axes=("options",), key="debiasing")
    if info is None:
        ui.empty_state("Nothing to explain yet", "Run a study of score options under balanced, random or "
                       "Williams orders.", target="study", action="Set up a study")  # fmt: skip
        st.stop()
    by_name = {
        "The score named": ("choices", "counts"),
        "Token probabilities": ("probabilities",) * 2,
    }
    has = ui.run_data(info, probabilities=True).probabilities is not None
    outcome = uf.toggle("An answer counts as", list(by_name) if has else ["The score named"], key="debiasing-outcome",
                        about="With token probabilities every label counts with its probability, and scores are expected scores.")  # fmt: skip
    fit, source = by_name[outcome]
    models = {m.arm: m for m in uf.found(info, choice, probabilities=True, source=fit).arms}
    if not models:
        uf.cautions(("No arm of this run reorders score options.",))
        st.stop()
    codes = sorted(models, key=lambda c: (not models[c].position, c))
    arms = ui.run_data(info, probabilities=True).arms
    code = uf.pick(
        "Judge and strategy", codes, key="debiasing-arm", name=lambda c: ui.arm_label(arms[c])
    )
    headline(models[code])
    uf.cautions(models[code].warnings)
    drawn = odds(models[code])
    more, table = views.correction(info, models[code], source)
    ui.export_row(drawn | more, {"Debiasing": table}, info=info, key="debiasing")
