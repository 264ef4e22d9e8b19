"""Is this judge biased by order, by how much, and what to do."""

from rubriclab.app import frame

frame.show("results")
