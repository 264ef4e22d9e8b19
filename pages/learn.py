"""Explain position bias, define every number, and show how the method was checked."""

from rubriclab.app import frame, learn

frame.show("learn", learn.page)
