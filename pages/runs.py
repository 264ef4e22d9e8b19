"""How far runs are, and which there are."""

from rubriclab.app import frame

frame.show("runs")
