"""Find out whether a server constrains replies, by a question that a free answer must break.

Many servers ignore fields that they do not know: they answer freely, with status 200. vLLM does so
with ``grammar``, llama.cpp with ``structured_outputs``. So the judge is told to write a word that
is not a label. If it writes a label all the same, the server holds the constraint.
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
"""How the reply begins for a judge whose replies the lab begins. llama.cpp then accepts a grammar
but no schema, so the probe has to ask as a run does."""
PROBE_TOKENS = 64
"""Room for a reply in JSON with white space. A label that is cut off (1 of 10) is not held."""
THINKING_TOKENS = 2_048
"""Room for a judge that is told to reason first."""
Word = Literal["held", "ignored", "refused", "cut", "reasoning"]


@dataclass(frozen=True)
class Rung:
    """What a server did with one constraint.

    said: the reply or the refusal, shortened.
    reply: the whole reply.
    """

    rung: Constraint
    word: Word
    said: str
    reply: Reply

    @property
    def held(self) -> bool:
        """Whether the server holds replies to the labels."""
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
    """Return the call that asks for a word that is not a label."""
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
    """Return what the reply to a probe shows about the constraint that it was sent with."""
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
    """Ask an open judge once under each constraint, and return what the server did with it.

    Kinds that cannot be constrained are asked nothing.
    """
    calls = [probe_call(settings, rung) for rung in settings.about.constraints]
    return [rung_of(call.constrain, call, await asker.ask(call)) for call in calls]
