"""Compute statistics from arrays; nothing here knows about runs, stores or words."""
