"""The one list of topics: importing it registers them all, in the order in which their rows are told."""

from rubriclab.topics import failures, joint, position, shift  # noqa: F401
