"""Explain position bias, every number, its sources, and how the method was checked."""

from rubriclab.app import frame

frame.show("learn")
