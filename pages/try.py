"""One answer, the same words in two orders."""

from rubriclab.app import frame

frame.show("try")
