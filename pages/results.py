"""Show whether the order biases this judge, by how much, and what to do."""

from rubriclab.app import frame, results

frame.show("results", results.page)
