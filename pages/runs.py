"""Follow, resume, rename, download, and delete runs."""

from rubriclab.app import frame, runs

frame.show("runs", runs.page)
