"""A study, its data and its rubric in; calls with their prompts, and what replies say, out."""
