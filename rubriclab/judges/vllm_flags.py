"""Which flags of ``vllm serve`` the lab passes on: those that tune, by their full names.

An allow-list, because vLLM has hundreds of flags and grows more with every version: some run
code of a model or of a file, open other addresses or read other files, and argparse takes any
beginning of a name for the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from rubriclab.model import LabError
from rubriclab.model.language import tr

Check = Callable[[str], bool]


def _count(text: str) -> bool:
    return re.fullmatch(r"\d{1,9}", text) is not None


def _length(text: str) -> bool:
    return re.fullmatch(r"auto|-1|\d{1,9}|\d{1,6}(\.\d{1,3})?[kKmM]", text) is not None


def _number(text: str) -> bool:
    return re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) is not None


def _share(text: str) -> bool:
    return _number(text) and 0 < float(text) <= 1


def _word(text: str) -> bool:
    """A name of vLLM's, of a model or of a version; never a path out of the hub's folders."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,200}", text) is not None
    return plain and ".." not in PurePath(text).parts


def _one_of(*words: str) -> Check:
    return lambda text: text in words


FLAGS: Mapping[str, Check | None] = {
    "--attention-backend": _word,
    "--block-size": _count,
    "--cpu-offload-gb": _number,
    "--data-parallel-size": _count,
    "--disable-log-stats": None,
    "--dtype": _one_of("auto", "half", "float16", "bfloat16", "float", "float32"),
    "--enable-chunked-prefill": None,
    "--enable-prefix-caching": None,
    "--enable-prompt-tokens-details": None,
    "--enforce-eager": None,
    "--generation-config": _one_of("auto", "vllm"),
    "--gpu-memory-utilization": _share,
    "--kv-cache-dtype": _word,
    "--load-format": _one_of("auto", "safetensors", "gguf", "bitsandbytes", "mistral"),
    "--max-logprobs": _count,
    "--max-model-len": _length,
    "--max-num-batched-tokens": _length,
    "--max-num-seqs": _count,
    "--no-enable-chunked-prefill": None,
    "--no-enable-prefix-caching": None,
    "--pipeline-parallel-size": _count,
    "--quantization": _word,
    "--reasoning-parser": _word,
    "--revision": _word,
    "--seed": _count,
    "--served-model-name": _word,
    "--shutdown-timeout": _count,
    "--swap-space": _number,
    "--tensor-parallel-size": _count,
    "--tokenizer-mode": _one_of("auto", "slow", "mistral"),
    "--tokenizer-revision": _word,
    "--uvicorn-log-level": _one_of("debug", "info", "warning", "error", "critical"),
}
"""What each flag's value must be; None: it takes none."""


def check_flags(arguments: Sequence[str]) -> None:
    """Raises LabError, naming the flag and all that are passed on, for anything else.

    A value stands after its flag, or behind a “=”.
    """
    for flag, value in _pairs(arguments):
        if flag not in FLAGS:
            raise LabError(
                tr(
                    "{flag!r:.60} is not passed on to vLLM. Flags are written out in full; passed on are "
                    "{flags}. Host, port and key are the lab's own; a token for the hub goes into the variable "
                    "HF_TOKEN. For anything else start vLLM yourself and attach to it.",
                    flag=flag.partition("=")[0],
                    flags=", ".join(FLAGS),
                )
            )
        check = FLAGS[flag]
        if check is None and value is not None:
            raise LabError(tr("{flag} takes no value; got {value!r:.60}.", flag=flag, value=value))
        if check is not None and (value is None or not check(value)):
            got = "nothing" if value is None else f"{value!r:.60}"
            raise LabError(tr("{flag}: {got} is no value that is passed on to vLLM. Change it.", flag=flag, got=got))


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each flag with its value; what stands alone where a flag should be comes as a flag."""
    left = list(arguments)
    while left:
        flag, mark, value = left.pop(0).partition("=")
        takes_one = FLAGS.get(flag) is not None
        if mark:
            yield flag, value
        elif takes_one and left and not left[0].startswith("--"):
            yield flag, left.pop(0)
        else:
            yield flag, None
