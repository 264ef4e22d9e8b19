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
"""Room for prompt and reply, in tokens. The embedded server has one slot, which gets all of it."""
BATCH_THREADS = 2
"""Threads that read a prompt. Measured on two cores, reading gains from the second one."""


class NoOptions(Part):
    """Options of a kind that has none."""


class ChatOptions(Part):
    """Options of a judge behind a chat API.

    served_model: the name that the server answers with, if it is another one (“*”: any).
    """

    served_model: str = ""


class VllmOptions(ChatOptions):
    """Options of a judge behind vLLM.

    constrain: the setting of studies older than ``[[judges]] constrain``, whose runs continue.
    serve: what the lab started the server with. A note, which is sent nowhere; but part of the
        judge's identity, because a flag such as ``--dtype`` can change its replies.
    """

    constrain: bool = False
    serve: str = Field("", max_length=2_000)


class EmbeddedOptions(BaseModel):
    """Options of the embedded model.

    path: a GGUF file of the user's own.
    sha256: what that file must have.
    context: in tokens.
    threads: for reading prompts.
    prefill: whether the lab begins the judge's reply; ``study/plan.py`` reads it.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str | None = None
    sha256: str = ""
    # Without a limit, a context of 10^9 tokens kept llama.cpp busy for minutes.
    context: int = Field(CONTEXT_TOKENS, ge=1, le=131_072)
    threads: int = Field(BATCH_THREADS, ge=1, le=256)
    prefill: Any = None


class DecisionOptions(Part):
    """Options of a judge that answers typed questions with a probability for each option.

    form: of the request, ``systemone`` (vLLM, SGLang, llama.cpp) or ``openai``
        (``client.decisions``).
    question: a rubric's options as a choice, in any order, or as a score, whose levels go up or
        down.
    served_model: the name that the server answers with, if it is another one (“*”: any).
    path: a GGUF file of a decision model, instead of a server.
    """

    form: DecisionForm = "systemone"
    question: Literal["choice", "score"] = "choice"
    packing: Packing = "packed"
    served_model: str = ""
    path: str = ""


class PythonOptions(Part):
    """Options of a judge that is a function in a file.

    path: the file, next to the study.
    entry: the function's name.
    sha256: the file's ``code_hash``, filled in by the lab. A study that names it runs exactly that
        code or nothing.
    memory: MB that one process may use.
    """

    path: str = Field("", max_length=500)
    entry: str = Field("judge", pattern=r"^[^\W\d]\w{0,99}$")
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    memory: int = Field(2_000, ge=100, le=1_000_000)


class Effects(Part):
    """Effects that are planted in a simulated judge. The defaults see quality and plant no bias.

    first: log-odds added to the option listed first.
    slope: log-odds added per position further down.
    item_lean: standard deviation of each item's own log-odds at each position. They cancel out over
        items.
    line: points by which an ascending list scores higher than a descending one.
    quality: standard deviation of the items' right scores around the middle of the scale, in steps.
    noise: what all log-odds are divided by; 0 picks the likeliest option.
    criteria_first: points added to the criterion listed first in a call.
    carryover: share of the last criterion's distance from the middle that is added to the next one.
    first_of_several: points added to the answer listed first in a call.
    last_example: points added for each point by which the label of the last example is above the
        mean of all.
    ties: share of comparisons that end in a tie.
    written: standard deviation of the quality of the reference answers that it writes, around the
        score asked for, in steps.
    unparsed: share of replies without a score.
    latency: seconds that a reply takes.
    seed: makes another judge with the same effects.
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
    last_example: float = Field(0.0, ge=-100, le=100)
    ties: float = Field(0.0, ge=0, le=1)
    written: float = Field(0.0, ge=0, le=100)
    unparsed: float = Field(0.0, ge=0, le=1)
    latency: float = Field(0.0, ge=0, le=60)
    seed: int = 0
