"""Say where a run that may stop early is, and why it stopped."""

from rubriclab.core.looks import LastLook
from rubriclab.model.looks import unit_noun
from rubriclab.model.text import count, shorten
from rubriclab.words.phrases import level_text


def noun_of(look: LastLook) -> str:
    """Return what a unit of a look is called."""
    return unit_noun(look.unit, look.scope[1])


def early_words(look: LastLook) -> str:
    """Say that the answer is one of a look, or that there is none yet; empty at the end."""
    noun, planned = noun_of(look), look.units_at[-1]
    if not look.number:
        if len(look.units_at) == 1:
            return f"No answer before all {count(planned, noun)} are in."
        return f"No answer yet. The first look is after {count(look.units_at[0], noun)}."
    if look.open_end:
        return f"As of the look after {look.units:,} of {count(planned, noun)}. Not clear yet."
    return ""


def stop_words(look: LastLook) -> str:
    """Say after how many units the judge stopped, and what follows; empty if it did not."""
    if not look.early:
        return ""
    noun, planned = noun_of(look), look.units_at[-1]
    said = clear_sentence(look.units, planned, look.needless, noun)
    if look.all_no:
        verb = "was" if look.needless == 1 else "were"
        return (
            f"All questions have their No after {look.units:,} of {count(planned, noun)}. "
            f"{count(look.needless, 'call')} {verb} not needed."
        )
    if look.begun:
        said += f" {count(look.begun, 'call')} made since then count in no number yet."
    level = level_text(1 - look.alpha)
    return f"{said} Intervals are at {level}, so that those of all looks hold in 95%."


def method_words(look: LastLook) -> str:
    """Say how a run was looked at, for the method of a report."""
    noun, planned = noun_of(look), look.units_at[-1]
    *first, last = (f"{units:,}" for units in look.units_at)
    if not first:
        return ""
    ending = ""
    if look.early:
        ending = (
            f" It stopped after {look.units:,}. A run that stops as soon as it can tends to show "
            "effects a little too large; the intervals allow for that."
        )
    return (
        f"The run was planned with {count(planned, noun)} and looked at after {', '.join(first)} "
        f"and {last} (alpha spending, 0.05 × share^1.5, by randomisation).{ending} Intervals are "
        "repeated confidence intervals: those of all looks hold together in 95%."
    )


def progress_sentence(
    *,
    units: int,
    next_units: int | None,
    all_units: int,
    calls: int,
    needless: int,
    noun: str,
    whole: bool = False,
) -> str:
    """Say when a judge was looked at, and when it will be next; empty if nothing is to be said.

    units: how many were in at the last look, 0 before the first one. next_units: how many will be
    in at the next one, None if there is none. calls: the judge's planned calls by then. needless:
    calls that will not be asked. whole: every planned call is asked, whatever the looks say.
    """
    if whole and next_units is not None:
        return "Every planned call is asked, also where the answer is clear before."
    if next_units is None:
        return clear_sentence(units, all_units, needless, noun) if needless else ""
    if not units:
        if next_units == all_units:
            return ""
        return f"The first look is after {count(next_units, noun)} ({count(calls, 'call')})."
    return (
        f"Looked at after {count(units, noun)}: not clear yet. The next look is after "
        f"{next_units:,} ({count(calls, 'call')})."
    )


def clear_sentence(units: int, all_units: int, needless: int, noun: str) -> str:
    """Say what is clear where a run stopped, and how many planned calls it did not ask.

    It does not say that the position or the size of an effect is clear, which may be open.
    """
    verb = "was" if needless == 1 else "were"
    return (
        f"Stopped after {units:,} of {count(all_units, noun)}: whether the order matters is clear. "
        f"{count(needless, 'call')} {verb} not asked."
    )


def grown_words(name: str, calls: int) -> str:
    """Warn that a file is read again after it has grown; without the end, which says where to plan.

    name, calls: of the run that its earlier reading became.
    """
    return (
        f"“{shorten(name)}” was imported before, with {count(calls, 'call')}. Each reading of a "
        "file that grows has its own 5%, so looking again and again is not guarded. Plan how many "
        "answers it will hold"
    )
