"""Check that the cause of a vLLM's end is found in what it printed.

The files in ``vllm_logs`` are what vLLM 0.32 printed on a CPU, each from its start to its end; only
paths were shortened.
"""

from pathlib import Path

import pytest

from rubriclab.judges.vllm_causes import why_ended

LOGS = Path(__file__).with_name("vllm_logs")
WHOLE = {
    "missing_offline": "vLLM could not find “MODEL”: it is not on this machine, and could not be "
    "downloaded. Check the name and the network, or give a folder.",
    "missing_online": "vLLM could not find “MODEL”: it is not on this machine, and could not be "
    "downloaded. Check the name and the network, or give a folder.",
    "missing_folder": "There is no model in the folder “MODEL”: vLLM found no config.json there. "
    "Check the folder's name, or give a name from the hub.",
    "empty": "There is no model in the folder “MODEL”: vLLM found no config.json there. Check the "
    "folder's name, or give a name from the hub.",
    "long": "“MODEL” has a context of 8192 tokens. Choose a context length that is not longer.",
    "quant": "vLLM refuses what it was started with: Cannot find the config file for awq. Change "
    "the model or the arguments.",
    "odd": "This vLLM does not know the kind of model that “MODEL” is. Take another, or a newer "
    "vLLM.",
    "broken": "The weights of “MODEL” cannot be read: a file is cut off or damaged. Download it "
    "again.",
}
LINES = {
    "vllm: error: unrecognized arguments: --no-such-flag": "does not know --no-such-flag.",
    "vllm serve: error: argument --dtype: invalid choice: 'x' (choose from 'auto', 'half')": (
        "the value of --dtype: invalid choice: 'x' (choose from 'auto', 'half')."
    ),
    "huggingface_hub.errors.GatedRepoError: 401 Client Error": "is gated",
    "ValueError: No available memory for the cache blocks.": "memory is too small",
    "torch.OutOfMemoryError: CUDA out of memory. Tried": "memory is too small",
    "OSError: [Errno 28] No space left on device": "The disk is full",
    "RuntimeError: Failed to infer device type": "found no graphics card",
    "ValueError: Model architectures ['X'] are not supported for now": "the kind of model",
    "OSError: [Errno 98] Address already in use": "took the port",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): "
    "{'EngineCore': -9}": "vLLM was killed",
    "the server has ended with code -9": "vLLM was killed",
    "KeyError: \"Reasoning parser 'nonsense' not found. Available parsers: hf\"": (
        "does not know the reasoning parser nonsense."
    ),
    "ValueError: Couldn't instantiate the backend tokenizer from one of:": "without a tokenizer",
    "RuntimeError: Cannot find any model weights with `/srv/x`": "no weights of “some/model”",
    "KeyError: something new": "vLLM ended before it was ready: KeyError: something new",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_log_is_told_in_a_sentence(name: str) -> None:
    log = (LOGS / f"{name}.txt").read_text("utf-8")
    assert why_ended(log, "MODEL", was_ready=False) == WHOLE[name]


@pytest.mark.parametrize("line", LINES)
def test_a_line_between_others_is_told_in_a_sentence(line: str) -> None:
    log = f"(APIServer pid=1) INFO 11-29 09:30:33 [x.py:1] loading\n{line}\nthe end of it\n"
    assert LINES[line] in why_ended(log, "some/model", was_ready=False)


def test_the_error_of_the_engine_counts_not_what_the_server_makes_of_it() -> None:
    log = """
(EngineCore pid=2) ERROR 11-29 09:43:03 [core.py:1510] ZeroDivisionError: nobody knows this one
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
Exception: WorkerProc initialization failed. See stack trace for root cause.
"""
    assert why_ended(log, "some/model", was_ready=False) == (
        "vLLM ended before it was ready: ZeroDivisionError: nobody knows this one"
    )


def test_a_warning_is_no_cause() -> None:
    """This one is printed by each start where few files may be open at once."""
    warning = (
        "(APIServer pid=1) WARNING 11-29 09:30:33 [system_utils.py:255] Found ulimit of 20000. "
        "This can cause fd limit errors like `OSError: [Errno 24] Too many open files`.\n"
    )
    ended = why_ended(f"{warning}Killed\n", "some/model", was_ready=True)
    assert ended == "vLLM ended: Killed"
    assert why_ended("", "some/model", was_ready=True) == "vLLM ended: it printed nothing"
