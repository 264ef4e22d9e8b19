"""What all tests share: generated examples have no deadline, for no test asserts a time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("lab", deadline=None, derandomize=True)
settings.load_profile("lab")
