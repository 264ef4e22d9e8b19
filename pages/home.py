"""Show what position bias is, three ways in, and the latest run."""

from rubriclab.app import frame, home

frame.show("home", home.page)
