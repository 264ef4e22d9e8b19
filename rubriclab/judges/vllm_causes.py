"""Say why a vLLM ended, from what it printed.

The cause can be far up: vLLM's engine, which is a process of its own, prints it before the server
prints its longer traceback. So the whole log is searched, without the lines that are not errors.
The words were read in the logs of vLLM 0.32 on a CPU, and in its source where a graphics card
would be needed.
"""

import re
from dataclasses import dataclass

from rubriclab.model.text import shorten


@dataclass(frozen=True)
class Cause:
    """A cause that ends a server.

    sentence: what is shown, and what to do. “{model}” is the model's name, and “{words}” what the
        pattern's group found.
    patterns: regular expressions for the lines in which vLLM, or a library, reports it.
    """

    sentence: str
    patterns: tuple[str, ...]


CAUSES = (
    Cause(
        "This vLLM does not know {words}. Correct the further arguments.",
        (r"unrecognized arguments: (.+)",),
    ),
    Cause(
        "vLLM does not accept the value of {words}. Correct it and start again.",
        (r": error: argument (--.+)",),
    ),
    Cause(
        "{model} has a context of {words} tokens. Choose a context length that is not longer.",
        (r"User-specified max_model_len .+? is greater than the derived max_model_len \D*(\d+)",),
    ),
    Cause(
        "{model} cannot be spread on that many cards. Choose another number of graphics cards.",
        (
            r"must be divisible by tensor parallel size",
            r"World size .+ is larger than the number of available",
        ),
    ),
    Cause(
        "The memory is too small for {model}, or in use. Lower the context length, free memory, "
        "or take a smaller model.",
        (
            r"No available memory for the cache blocks",
            r"less than desired GPU memory utilization",
            r"To serve at least one request with the model's max seq len",
            r"out of memory",
            r"can't allocate memory",
        ),
    ),
    Cause(
        "This vLLM does not know the reasoning parser {words}. Choose another one, or none.",
        (r"Reasoning parser '([^']+)' not found",),
    ),
    Cause(
        "There are no weights of {model} that vLLM can read. Download its *.safetensors files.",
        (r"Cannot find any model weights",),
    ),
    Cause(
        "{model} comes without a tokenizer that vLLM can read. Download its tokenizer files, too.",
        (r"Couldn't instantiate the backend tokenizer",),
    ),
    Cause(
        "The weights of {model} cannot be read: a file is cut off or damaged. Download it again.",
        (r"SafetensorError", r"Error while deserializing header"),
    ),
    Cause("The disk is full. Make room, then start again.", (r"No space left on device",)),
    Cause(
        "vLLM found no graphics card. Use the lab's small model, or a server elsewhere.",
        (r"Failed to infer device type", r"No CUDA GPUs are available"),
    ),
    Cause(
        "This vLLM does not know the kind of model that {model} is. Take another, or a newer vLLM.",
        (r"Model architectures .+ are not supported", r"does not recognize this architecture"),
    ),
    Cause(
        "{model} is gated: its owner must let you in. Log in to the hub in a terminal first, or "
        "give a folder.",
        (r"GatedRepoError", r"gated repo"),
    ),
    Cause("Another program took the port. Start again.", (r"Address already in use",)),
    Cause(
        "There is no model in the folder {model}: vLLM found no config.json there. Check the "
        "folder's name, or give a name from the hub.",
        (
            r"Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/",
            r"Invalid repository ID or local directory specified: '/",
        ),
    ),
    # These come last: a server that has the model prints some of these words, too.
    Cause(
        "vLLM could not find {model}: it is not on this machine, and could not be downloaded. "
        "Check the name and the network, or give a folder.",
        (
            r"is not a local folder and is not a valid model",
            r"couldn't connect to",
            r"LocalEntryNotFoundError",
            r"Repository ?Not ?Found",
            r"OfflineModeIsEnabled",
            r"Can't load the configuration",
            r"Repo id must be in the form",
            r"Invalid repository ID or local directory specified",
        ),
    ),
    Cause(
        "vLLM was killed, most often by the system because the machine's memory was full. Free "
        "memory, or take a smaller model.",
        (r"Failed core proc\(s\): \{.+: -9\}", r"the server has ended with code -9"),
    ),
    Cause(
        "vLLM refuses what it was started with: {words}. Change the model or the arguments.",
        (r"validation errors? for \w+Config\n.*Value error, (.+?)\.?(?= \[type=|\n|$)",),
    ),
)
"""The first that fits counts."""
NO_ERROR = re.compile(r"(\(\w+( pid=\d+)?\) )*(INFO|DEBUG|WARNING) \d\d-\d\d ")
"""The beginning of a line that reports no error. Such a line can still hold an error's words:
“This can cause fd limit errors like `OSError: …`”.
"""
ERROR = re.compile(r"\b(?:\w*(?:Error|Exception)|error): .+")
"""An error in vLLM's own words."""
NO_REASON = re.compile(r"root cause")
"""In the error of a process whose child has reported its own error before: “See root cause above”.
"""
MOST_REASON = 300
"""Characters that are shown of vLLM's own words."""


def why_ended(log: str, model: str, *, was_ready: bool) -> str:
    """Return a sentence about why a server ended, and what to do.

    ``log``: what it printed, without keys. ``model``: its name, as the user gave it. An unknown
    cause is given in vLLM's own words.
    """
    lines = [line for line in log.splitlines() if not NO_ERROR.match(line)]
    errors = "\n".join(lines)
    for cause in CAUSES:
        found = re.search("|".join(cause.patterns), errors, re.IGNORECASE)
        if found:
            words = found.group(found.lastindex or 0)
            named = f"“{shorten(model, 100)}”"
            return cause.sentence.format(words=shorten(words, 200), model=named)
    own_words = [error for error in ERROR.findall(errors) if not NO_REASON.search(error)]
    last = (own_words or lines or ["it printed nothing"])[-1].strip()
    when = "" if was_ready else " before it was ready"
    return f"vLLM ended{when}: {shorten(last, MOST_REASON)}"
