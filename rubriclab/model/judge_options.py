"""Define the ``options`` of each kind of judge: their names, bounds, defaults and labels.

A field's ``title`` and ``description`` are its label and help in Set up. Kinds of other packages
bring a model of their own (``model/judge_kind.py``).
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.model.part import Part

Packing = Literal["packed", "alone", "reversed"]
"""How the orders of an answer are sent: as questions of one request; each in a request of its own;
as questions of one request, the last one first."""
DecisionForm = Literal["systemone", "openai"]
CONTEXT_TOKENS = 2_048
"""Room for prompt and reply. The embedded server has one slot, and a context is split over slots.
"""
BATCH_THREADS = 2
"""For reading a prompt. Measured on two cores: reading gains from the second thread."""


class NoOptions(Part):
    """Options of a kind that has none."""


class ChatOptions(Part):
    """Options of a judge behind a chat API.

    ``served_model``: the name that the server answers with, where it is another one ("*": any).
    """

    served_model: str = ""


class VllmOptions(ChatOptions):
    """Options of a judge behind vLLM.

    ``constrain``: what studies said before ``[[judges]] constrain`` existed. Their runs go on so.
    """

    constrain: bool = False


class EmbeddedOptions(BaseModel):
    """Options of the embedded model.

    ``path`` of a GGUF file of your own; ``sha256`` that the file must have; ``context`` in tokens;
    ``threads`` for reading prompts. ``prefill = false``: do not begin the judge's answer for it
    (``study/plan.py`` reads that).
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str | None = None
    sha256: str = ""
    context: int = Field(CONTEXT_TOKENS, ge=1, le=131_072)  # 10^9 kept llama.cpp busy for minutes
    threads: int = Field(BATCH_THREADS, ge=1, le=256)
    prefill: Any = None


class DecisionOptions(Part):
    """Options of a judge that answers typed questions with a probability for each option.

    ``form``: of the request, ``systemone`` (vLLM, SGLang, llama.cpp) or ``openai``
    (``client.decisions``). ``question``: the options of a rubric as a choice, in any order, or as a
    score, whose levels go up or down. ``served_model``: the name that the server answers with where
    it is another one ("*": any). ``path``: a GGUF file of a decision model, in place of a server.
    """

    form: DecisionForm = "systemone"
    question: Literal["choice", "score"] = "choice"
    packing: Packing = "packed"
    served_model: str = ""
    path: str = ""


class PythonOptions(Part):
    """Options of a judge that is a function in a file.

    ``path``: the file, next to the study. ``sha256``: its ``code_hash``, filled in by the lab; a
    study that names it runs that very code or nothing. ``memory``: MB that one process may use.
    """

    path: str = Field("", max_length=500)
    entry: str = Field("judge", pattern=r"^[^\W\d]\w{0,99}$")
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    memory: int = Field(2_000, ge=100, le=1_000_000)


class Effects(Part):
    """Effects that a simulated judge plants. The defaults see quality and plant no bias.

    ``first``: log-odds of what is listed first; ``slope``: log-odds a position further down;
    ``item_lean``: standard deviation of each item's own log-odds at each position (they cancel out
    over items). ``line``: points that an ascending list adds to the score, against a descending
    one. ``quality``: standard deviation of the items' right scores, in steps of the scale around
    its middle. ``noise`` divides all log-odds; 0 picks the likeliest. For criteria in one call:
    ``criteria_first`` points for the one listed first, ``carryover`` times the distance of the
    score just given from the middle. ``unparsed``: share of replies that name no score.
    ``latency``: seconds an answer takes. ``written``: standard deviation, in steps, of the quality
    of the reference answers that it writes around the score asked for. ``seed`` makes another judge
    of the same effects.
    """

    first: float = Field(0.0, ge=-20, le=20)
    slope: float = Field(0.0, ge=-20, le=20)
    item_lean: float = Field(0.0, ge=0, le=20)
    line: float = Field(0.0, ge=-100, le=100)
    quality: float = Field(1.0, ge=0, le=100)
    noise: float = Field(1.0, ge=0, le=100)
    criteria_first: float = Field(0.0, ge=-100, le=100)
    carryover: float = Field(0.0, ge=-1, le=1)
    first_of_several: float = Field(0.0, ge=-100, le=100)
    ties: float = Field(0.0, ge=0, le=1)
    written: float = Field(0.0, ge=0, le=100)
    unparsed: float = Field(0.0, ge=0, le=1)
    latency: float = Field(0.0, ge=0, le=60)
    seed: int = 0
