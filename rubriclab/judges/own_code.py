"""Run a function of the user's file, as a program of its own with the standard library only.

    python -P -B own_code.py FILE ENTRY SHA256 MEMORY_BYTES

The program speaks JSON lines on the pipes that it was started with, as ``data/worker.py`` does. The
function itself gets an empty input, and what it prints is thrown away, so it cannot disturb them.
The program first writes ``{}`` or ``{"failed": why}``. Then it answers each
``{"messages", "item"}`` with ``{"value"}`` or ``{"kind", "error"}``.
"""

import asyncio
import hashlib
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

MAX_VALUE = 8_000_000
"""Limit of what a function returns, in characters of JSON: eight times the longest reply, because
escapes make a text longer."""


def main(file: str, entry: str, sha256: str, memory: str) -> int:
    """Answer requests until the input ends. Return the exit code."""
    folder = str(Path(file).parent)
    # The protocol moves to pipes of its own. The function's input is then empty, and its prints go
    # to standard error.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit, macOS refuses it
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))

    try:
        judge = function_of(Path(file), entry, sha256)
    except BaseException as fault:  # also SystemExit, of a file that calls sys.exit
        print(json.dumps({"failed": in_words(fault, folder)}), file=answers, flush=True)
        return 1
    print("{}", file=answers, flush=True)
    for line in requests:
        print(json.dumps(answered(judge, json.loads(line), folder)), file=answers, flush=True)
    return 0


def function_of(path: Path, entry: str, sha256: str) -> Callable[..., Any]:
    """Return the function, compiled from exactly the bytes that were hashed.

    A plain import could take a compiled file next to it, which may differ. Raises ImportError if
    the hash is another one, and AttributeError if there is no such function.
    """
    source = path.read_bytes()
    if code_hash(path) != sha256:
        raise ImportError(
            "the file, or a file next to it that it imports, has changed since the run began"
        )
    sys.path.insert(0, str(path.parent))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    function = getattr(module, entry, None)
    if not callable(function):
        raise AttributeError(f"the file has no function “{entry}”")
    return function  # type: ignore[no-any-return]


def code_hash(path: Path) -> str:
    """Return the sha256 of a file together with the files next to it that it imports.

    A file that imports none has its own sha256. Else the hash is that of all hashes, by name.
    """
    left = [path]
    hashes: dict[str, str] = {}
    while left:
        file = left.pop()
        name = file.relative_to(path.parent).as_posix()
        if name in hashes or not file.is_file():
            continue
        source = file.read_bytes()
        hashes[name] = hashlib.sha256(source).hexdigest()
        for word in _imported_words(source):
            left.append(path.with_name(f"{word}.py"))
            left += path.with_name(word).rglob("*.py")
    if len(hashes) == 1:
        return hashes[path.name]
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()


def _imported_words(source: bytes) -> set[str]:
    """Return all words of a file's import lines.

    Too many words do no harm, because a word counts only if a file has its name. Parsing the file
    would fail on code that another version of Python reads.
    """
    text = source.decode("utf-8", "replace").replace("\\\n", " ")
    lines = re.findall(r"^[^\S\n]*(?:import|from)\b.*", text, re.MULTILINE)
    return set(re.findall(r"\w+", " ".join(lines)))


def answered(judge: Callable[..., Any], request: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the ``value`` that the function gives for a call, or its ``kind`` and ``error``."""
    try:
        value = judge(request["messages"], request["item"])
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
    except BaseException as fault:
        return {"kind": "code_error", "error": f"raised {in_words(fault, folder)}"}
    try:
        # Numbers of NumPy and PyTorch have ``tolist``.
        text = json.dumps(value, default=lambda part: part.tolist(), allow_nan=False)
    except Exception as fault:
        return {
            "kind": "code_reply",
            "error": f"returned {shown(value)}, which cannot be passed on: {shown(fault)}",
        }
    if len(text) > MAX_VALUE:
        return {
            "kind": "too_large",
            "error": f"returned {len(text):,} characters; the limit is {MAX_VALUE:,}",
        }
    # A value from JSON holds plain types only, whatever the function returned.
    return {"value": value if isinstance(value, str) else json.loads(text)}


def shown(value: Any) -> str:
    """Return a value's type and its first 100 characters."""
    try:
        return f"{type(value).__name__} {value!r:.100}"
    except BaseException:  # whatever a foreign __repr__ does
        return type(value).__name__


def in_words(fault: BaseException, folder: str) -> str:
    """Return a fault's words, and the last line of the user's own files that it came from."""
    try:
        said = " ".join(str(fault).split())[:300]
    except BaseException:  # whatever a foreign __str__ does
        said = ""
    own = [
        frame
        for frame in traceback.extract_tb(fault.__traceback__)
        if frame.filename.startswith(folder)
    ]
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(fault).__name__}{': ' if said else ''}{said}{where}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
