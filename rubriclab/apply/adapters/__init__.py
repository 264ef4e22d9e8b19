"""A judge card inside the tools that people have: one module a tool, imported by nobody but its user.

``inspect_ai``: a scorer. ``deepeval``: a metric. ``promptfoo``: an assertion and a provider. ``lm_eval``:
``process_results`` of a task. Each imports ``rubriclab.apply`` and its tool alone.
"""
