"""Say where a run that may stop early is, and why it stopped."""

from rubriclab.model.text import count


def progress_sentence(
    *, units: int, next_units: int | None, all_units: int, needless: int, noun: str
) -> str:
    """Say when a judge was looked at, and when it will be next; empty if nothing is to be said.

    units: how many were in at the last look, 0 before the first one. next_units: how many will be
    in at the next one, None if there is none. needless: calls that will not be asked.
    """
    if next_units is None:
        return clear_sentence(units, all_units, needless, noun) if needless else ""
    if not units:
        if next_units == all_units:
            return ""
        return f"The first look is after {count(next_units, noun)}."
    return (
        f"Looked at after {count(units, noun)}: not clear yet. The next look is after "
        f"{next_units:,}."
    )


def clear_sentence(units: int, all_units: int, needless: int, noun: str) -> str:
    """Say that a run has its answer, and how many planned calls it did not need."""
    verb = "was" if needless == 1 else "were"
    return (
        f"Clear after {units:,} of {count(all_units, noun)}. {count(needless, 'call')} {verb} not "
        "needed."
    )
