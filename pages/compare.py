"""Do two judges, strategies, runs or wordings differ; three or more in a table."""

from rubriclab.app import frame

frame.show("compare")
