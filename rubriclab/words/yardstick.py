"""Name whose scores a judge is compared with: people's, a model's, or an author's levels."""

import re

from rubriclab.core.topic import Findings
from rubriclab.model.data import INTENDED

NAMED_AFTER = re.compile(
    r"(gpt|claude|gemini|llama|qwen|mistral|deepseek)[-_ ]?(\d[\d.]*[a-z]?)?"
    r"[-_ ]?(?:scores?|ratings?)?(?: \d+)?"
)
"""A rater that is a model, as data sets call its column: “gpt4_score 1”."""


def model_of_rater(rater: str) -> str:
    """Return the model that a rater is named after, “GPT-4” for “gpt4_score 1”; empty for none."""
    found = NAMED_AFTER.fullmatch(rater.casefold())
    if not found:
        return ""
    family, version = found[1], found[2] or ""
    name = family.upper() if family == "gpt" else family.capitalize()
    return f"{name}-{version}" if version else name


def intended_levels(findings: Findings, condition: int) -> bool:
    """Return whether the only ratings are the levels that the sample's author aimed at."""
    return findings.judgments.raters[condition] == {INTENDED}


def model_yardstick(findings: Findings) -> str:
    """Return the model whose scores came with the data in the place of people's; empty for none."""
    raters = {rater for given in findings.judgments.raters for rater in given}
    models = {model_of_rater(str(rater)) for rater in raters}
    return models.pop() if len(models) == 1 else ""


def whom(findings: Findings) -> str:
    """Return whose scores the judges are compared with: people's, a model's that came with the
    data, or what an author aimed at.
    """
    rated = [code for code, raters in enumerate(findings.judgments.raters) if raters]
    if rated and all(intended_levels(findings, code) for code in rated):
        return "the intended levels"
    model = model_yardstick(findings)
    return f"{model}'s scores" if model else "people"
