"""A chart as rows: every point, cell and end of an error bar, and nothing that is not drawn."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from rubriclab.figures.rows import figure_rows


def test_points_keep_their_series_and_the_ends_of_their_bars() -> None:
    figure = go.Figure()
    figure.add_bar(
        name="judge a", x=["1", "2"], y=[0.5, np.nan], error_y={"array": [0.2, 0.1], "arrayminus": [0.1, 0.1]}
    )
    figure.add_scatter(x=[1, 2], y=[3.0, 4.0], text=["low", "high"])
    rows = figure_rows(figure)
    assert list(rows) == ["series", "x", "y", "y_low", "y_high", "text"]
    assert rows["series"].tolist() == ["judge a", "judge a", "2", "2"]
    assert rows.loc[0, ["y", "y_low", "y_high"]].tolist() == [0.5, 0.4, 0.7]
    assert rows["text"].tolist()[2:] == ["low", "high"]


def test_a_heatmap_is_a_row_a_cell() -> None:
    figure = go.Figure(go.Heatmap(z=[[1.0, 2.0], [3.0, 4.0]], x=["first", "last"]))
    rows = figure_rows(figure)
    assert rows[["x", "y", "z"]].to_numpy().tolist() == [
        ["first", 1, 1.0],
        ["last", 1, 2.0],
        ["first", 2, 3.0],
        ["last", 2, 4.0],
    ]


def test_a_chart_without_points_has_no_rows() -> None:
    assert figure_rows(go.Figure()).empty
