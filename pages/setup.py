"""Set up a run in five steps."""

from rubriclab.app import frame

frame.show("setup")
