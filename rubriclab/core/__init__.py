"""Judgments in, rows out: arms, estimates with intervals, topics, verdicts, contrasts."""
