"""Ask about one answer in two orders, and compare the scores."""

from rubriclab.app import frame, try_it

frame.show("try", try_it.page)
