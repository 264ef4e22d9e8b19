"""Find out whether a server constrains replies, by a question that a free answer must break.

Servers drop fields that they do not know and answer freely all the same, with status 200: vLLM does
so with ``grammar``, llama.cpp with ``structured_outputs``. So the judge is told to write a word
that is no label, and only a label counts.
"""

from dataclasses import dataclass
from typing import Literal

from rubriclab.judges.kinds import Asker
from rubriclab.model.constraint import Constraint, constrained_label
from rubriclab.model.ending import ending_of
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Ordering, Reply
from rubriclab.model.text import shorten

LABELS = ("3", "7")
QUESTION = "Write the word banana and nothing else."
BEGUN = "The word is "
"""How the answer begins for a judge whose answers the lab begins: llama.cpp then takes a grammar,
and no schema."""
PROBE_TOKENS, THINKING_TOKENS = 64, 2_048
"""Room for an answer in JSON with blanks, and for a judge that is told to reason first. A label
that was cut (1 of 10) does not count as held."""
Word = Literal["held", "ignored", "refused", "cut", "reasoning"]


@dataclass(frozen=True)
class Rung:
    """What a server did with one constraint.

    ``said``: what it answered, or its refusal, shortened; ``reply``: the whole reply.
    """

    rung: Constraint
    word: Word
    said: str
    reply: Reply

    @property
    def held(self) -> bool:
        return self.word == "held"

    def sentence(self) -> str:
        """Return what the server did with the constraint."""
        words: dict[Word, str] = {
            "held": "the server holds it",
            "ignored": f"the server ignores it (it answered “{self.said}”)",
            "refused": f"the server refuses it ({self.said})",
            "cut": f"the answer was cut at the token limit (“{self.said}”)",
            "reasoning": "it went into the judge's reasoning, and the answer is empty",
        }
        return f'constrain = "{self.rung}": {words[self.word]}'


def probe_call(settings: JudgeSettings, rung: Constraint) -> Call:
    """Return the call that asks for the word that is no label."""
    messages: tuple[dict[str, str], ...] = ({"role": "user", "content": QUESTION},)
    if settings.about.small_model and settings.options.get("prefill", True):
        messages = (*messages, {"role": "assistant", "content": BEGUN})
    thinks = settings.reasoning_effort not in (None, "none")
    return Call(
        key=f"rung-{rung}",
        condition=0,
        items=(0,),
        ordering=Ordering((3, 7), LABELS),
        repeat=0,
        messages=messages,
        template="score.rung",
        scores=(3, 7),
        max_tokens=THINKING_TOKENS if thinks else PROBE_TOKENS,
        temperature=settings.temperature if settings.temperature is None else 0.0,
        reasoning_effort=settings.reasoning_effort,
        seed=settings.seed,
        labels=LABELS,
        constrain=rung,
    )


def rung_of(rung: Constraint, call: Call, reply: Reply) -> Rung:
    """Return what a reply to the probe's call says of the rung that it was asked by."""
    if reply.error:
        return Rung(rung, "refused", shorten(reply.error, 200), reply)
    said = shorten(reply.text, 40)
    if ending_of(reply.finish) == "cut":
        return Rung(rung, "cut", said, reply)
    if constrained_label(reply.text, rung, call.labels, call.begun) is not None:
        return Rung(rung, "held", said, reply)
    if not reply.text.strip() and reply.thought:
        return Rung(rung, "reasoning", said, reply)
    return Rung(rung, "ignored", said or "nothing", reply)


async def ladder(settings: JudgeSettings, asker: Asker) -> list[Rung]:
    """Ask an open judge once by each rung and return what the server did with it.

    Nothing is asked of kinds that cannot be constrained.
    """
    calls = [probe_call(settings, rung) for rung in settings.about.constraints]
    return [rung_of(call.constrain, call, await asker.ask(call)) for call in calls]
