"""Compute what can be said of a run: arms, estimates, topics, verdicts and their differences."""
