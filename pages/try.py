"""Change the order of one answer's list, and see the score."""

from rubriclab.app import frame, try_it

frame.show("try", try_it.page)
