"""rubriclab: measure, and take out, the order effects of LLM judges."""

__version__ = "0.1.0"
