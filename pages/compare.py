"""Compare two judges, strategies, runs, or variants; list three or more in a table."""

from rubriclab.app import compare, frame

frame.show("compare", compare.page)
