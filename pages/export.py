"""Take results along."""

from rubriclab.app import frame

frame.show("export")
