"""The one list of topics: importing it registers them all, in the order in which their rows are
told.
"""

# isort: off
from rubriclab.topics import failures, joint, position, shift, pairs, gold, judges  # noqa: F401
from rubriclab.topics import people, calibration, agreement, alt_test, corrected_means  # noqa: F401
from rubriclab.topics import directions  # noqa: F401
from rubriclab.topics import variants, ranking, what_goes_along  # noqa: F401
from rubriclab.topics import reliability, choice, protocols  # noqa: F401
