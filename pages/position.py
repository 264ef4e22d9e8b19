"""Results: where a judge picks, what it costs, and the judgments behind every cell."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import ordinal
from rubriclab.app.views import position as views
from rubriclab.figures import position as draw
from rubriclab.figures.ordering import bias_cost
from rubriclab.figures.style import Chart
from rubriclab.findings.position import POSITION
from rubriclab.findings.position_results import PositionArm, PositionResult
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo

LEAD = msg("By how many points does the order of the score options move the scores?")


@st.fragment  # another arm redraws its own part, not the charts that show all of them
def one_arm(info: RunInfo, arms: dict[int, PositionArm], shared: dict[str, Chart]) -> None:
    """What is known about one judge and strategy, down to single judgments; and the ways out."""
    telling = [code for code, arm in arms.items() if arm.moves_order] or list(arms)
    names = uf.arm_names({code: one.arm for code, one in arms.items()})
    code = ui.choose(
        tr("Judge and strategy"),
        list(arms),
        address="arm",
        default=telling[0],
        name=names.__getitem__,
        key=f"position-arm-{info.run}",
    )
    arm = arms[code]
    with uf.steady():
        views.headline(arm)
        ordinal.line(info, code, "order")
        uf.cautions(arm.warnings)
    views.answers(arm)
    st.subheader(tr("What each place does"), anchor=False, help=ui.about("place_pull"))
    st.caption(tr("The mean score with the highest score at this place, less that with the lowest."))
    pulls = draw.pull_bars(arm, run_judges=uf.judges_of(info))
    ui.chart(pulls, key=f"position-pulls-{code}", info=info)
    left, right = st.columns(2, gap="large")
    cells = draw.heatmap(arm)
    with left:
        event = views.where_it_picks(cells, key=f"position-cells-{code}")
    with right:
        views.how_strong(arm)
    st.subheader(tr("Judgments behind a cell"), anchor="cell-judgments")
    views.cell_browser(info, code, arm.arm, event, key="position")
    ui.export_row(
        {msg("Pull of each place"): pulls, msg("Score by position"): cells} | shared,
        {msg("Score by position table"): views.table_frame(arm)},
        info=info,
        key="position",
    )


def one_scale(moved: list[PositionArm], info: RunInfo) -> list[PositionArm]:
    """Arms that can be drawn on one scale: a run may vary how many options there are."""
    sizes = list(dict.fromkeys(len(arm.arm.scores) for arm in moved))
    if len(sizes) < 2:
        return moved
    size = ui.choose(
        tr("Score options, below"), sizes, key=f"position-scale-{info.run}", address="scale", segments=True
    )
    return [arm for arm in moved if len(arm.arm.scores) == size]


def overview(found: PositionResult, moved: list[PositionArm], judges: tuple[str, ...]) -> dict[str, Chart]:
    """The charts that show all arms at once."""
    costed = moved or list(found.arms)
    smallest = max((arm.shift.mean.sesoi for arm in costed), default=0.1)
    return {
        msg("Shifts"): draw.shift_forest(costed, smallest),
        msg("Positions"): draw.selection_bars(costed, run_judges=judges),
        msg("Scores given"): draw.score_distribution(list(found.arms), run_judges=judges),
        msg("Bias Cost"): bias_cost(
            {draw.arm_name(a, costed): a.bias_cost for a in costed},
            codes={draw.arm_name(a, costed): a.code for a in costed},
        ),
    }


with ui.page("position", msg("Results"), LEAD):
    info = ui.choose_run(axes=("options",), key="position")
    if info is None:
        ui.empty_state(
            tr("Nothing judged yet"), tr("Run the demo or a study of your own first."), "home", tr("To the demo")
        )
        st.stop()
    found = ui.finding(info, POSITION)
    moved = [arm for arm in found.arms if arm.moves_order]
    shared = overview(found, one_scale(moved, info), uf.judges_of(info))
    one_arm(info, {arm.code: arm for arm in found.arms}, shared)
    st.subheader(tr("All judges and strategies"), anchor=False)
    st.markdown(
        tr(
            "**By how many points the order moves scores**; between the outer dotted lines an effect is too "
            "small to be of interest"
        ),
        help=ui.about("order_shift", also=("extremes", "single_shift", "sesoi")),
    )
    ui.chart(shared["Shifts"], key="position-shifts", info=info)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(tr("**Position selected**, where the order varied"), help=ui.about("share"))
        ui.chart(shared["Positions"], key="position-bars", info=info)
    with right:
        st.markdown(tr("**Scores given**: a judge of one score looks unbiased"), help=ui.about("scores_given"))
        ui.chart(shared["Scores given"], key="position-scores", info=info)
    st.markdown(
        tr(
            "**Bias Cost**: how far an order's scores stand from being picked evenly, without noise and as in the paper"
        ),
        help=ui.about("recommended_order", also=("bias_cost",)),
    )
    ui.chart(shared["Bias Cost"], key="position-costs", info=info)
