"""Register all topics, in the order in which their rows are shown."""

# isort: off
from rubriclab.measures import failures, joint, company, position, shift, pairs, gold, judges  # noqa: F401
from rubriclab.measures import examples  # noqa: F401
from rubriclab.measures import people, calibration, agreement, alt_test, pass_fail  # noqa: F401
from rubriclab.measures import corrected_means, directions  # noqa: F401
from rubriclab.measures import variants, ranking, what_goes_along  # noqa: F401
from rubriclab.measures import reliability, choice, protocols  # noqa: F401
from rubriclab.measures import fragile, contradictions  # noqa: F401
