"""Decide how many tokens an answer may have, and whether it is begun for the judge."""

from rubriclab.model.judge import JudgeSettings
from rubriclab.study.subjects import Subject

LABEL_TOKENS = 16
"""For an answer that is one label: room for blanks and marks around it."""
FEEDBACK_TOKENS = 1_024
"""For an answer with reasons."""
REASONING_TOKENS = 16_384
"""For a judge that reasons first: the limit counts its reasoning too."""
EMBEDDED_TOKENS_BEHIND_LABEL = 2
EMBEDDED_TOKENS_A_LINE = 8
EMBEDDED_FEEDBACK_TOKENS = 320
"""An embedded model seldom ends by itself. So it is cut behind its label, or behind its lines (a
line takes so many tokens besides its name), or after so many tokens of feedback.
"""


def answer_is_begun(judge: JudgeSettings) -> bool:
    """Return whether a judge's answer is begun for it where a score alone is asked for.

    Embedded models are so small that they would chat first: 2% of their first-token probability
    falls on a label, 87% behind “The score is ”; with all criteria in one call they copy the task
    unless the first line is begun. The judge's option ``prefill = false`` switches it off.
    """
    return judge.about.small_model and bool(judge.options.get("prefill", True))


def answer_tokens(judge: JudgeSettings, subject: Subject, *, brief: bool) -> int:
    """Return how many tokens an answer may have: the judge's own number, else enough for a label
    (``brief``) or for a text.
    """
    if judge.max_tokens is not None:
        return judge.max_tokens
    if judge.reasoning_effort is not None:
        return REASONING_TOKENS
    if not answer_is_begun(judge):
        if brief:
            return LABEL_TOKENS
        return EMBEDDED_FEEDBACK_TOKENS if judge.about.small_model else FEEDBACK_TOKENS
    if brief:
        options = subject.criteria[0].options if subject.criteria else ()
        longest = max((len(option.shown_label) for option in options), default=1)
        return min(longest + EMBEDDED_TOKENS_BEHIND_LABEL, LABEL_TOKENS)
    names = subject.shape.targets or tuple("Response 1" for _ in subject.answers)
    if subject.shape.positions == 1:  # a criterion by itself: its line is all there is
        names = tuple(str(name) for name in subject.options)
    if not names:
        return EMBEDDED_FEEDBACK_TOKENS
    return sum(EMBEDDED_TOKENS_A_LINE + len(name) // 2 for name in names)
