"""Set up a run in five steps, and launch it."""

from rubriclab.app import frame, setup

frame.show("setup", setup.page)
