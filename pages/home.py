"""The first page: what position bias is, two ways in, the latest run."""

from rubriclab.app import frame

frame.show("home")
