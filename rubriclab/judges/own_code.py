"""Run a function of the user's file, as a program of its own with the standard library only.

    python -P -B own_code.py FILE ENTRY SHA256 MEMORY_BYTES

Speaks in JSON lines as ``data/worker.py`` does, on the pipes that it was started with; the function
has an empty input, and what it prints goes nowhere. First comes ``{}`` or ``{"failed": why}``, then
to each ``{"messages", "item"}`` either ``{"value"}`` or ``{"kind", "error"}``.
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
"""Signs of what a function returns, as JSON."""


def main(file: str, entry: str, sha256: str, memory: str) -> int:
    folder = str(Path(file).parent)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with suppress(ImportError, ValueError, OSError):  # Windows, macOS
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))

    try:
        judge = function_of(Path(file), entry, sha256)
    except BaseException as fault:  # also one that leaves: SystemExit
        print(json.dumps({"failed": in_words(fault, folder)}), file=answers, flush=True)
        return 1
    print("{}", file=answers, flush=True)
    for line in requests:
        print(json.dumps(answered(judge, json.loads(line), folder)), file=answers, flush=True)
    return 0


def function_of(path: Path, entry: str, sha256: str) -> Callable[..., Any]:
    """The function, of exactly the bytes that the hash is of: no compiled file beside it is
    taken.
    """
    source = path.read_bytes()
    if code_hash(path) != sha256:
        raise ImportError(
            "the file, or one beside it that it imports, has changed since the run began"
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
    """The file's sha256; with files beside it that its imports name, and theirs, that of all hashes
    by their names.
    """
    left, hashes = [path], dict[str, str]()
    while left:
        file = left.pop()
        if (name := file.relative_to(path.parent).as_posix()) in hashes or not file.is_file():
            continue
        source = file.read_bytes()
        hashes[name] = hashlib.sha256(source).hexdigest()
        text = source.decode("utf-8", "replace").replace("\\\n", " ")
        for word in set(
            re.findall(
                r"\w+", " ".join(re.findall(r"^[^\S\n]*(?:import|from)\b.*", text, re.MULTILINE))
            )
        ):
            left += [path.with_name(f"{word}.py"), *path.with_name(word).rglob("*.py")]
    if len(hashes) == 1:
        return hashes[path.name]
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()


def answered(judge: Callable[..., Any], request: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """What it returns for a call, or what came in its place."""
    try:
        value = judge(request["messages"], request["item"])
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
    except BaseException as fault:
        return {"kind": "code_error", "error": f"raised {in_words(fault, folder)}"}
    try:
        text = json.dumps(
            value, default=lambda part: part.tolist(), allow_nan=False
        )  # NumPy's and PyTorch's numbers
    except Exception as fault:
        return {
            "kind": "code_reply",
            "error": f"returned {shown(value)}, which cannot be passed on: {shown(fault)}",
        }
    if len(text) > MAX_VALUE:
        return {
            "kind": "too_large",
            "error": f"returned {len(text):,} signs; at most {MAX_VALUE:,} are read",
        }
    return {"value": value if isinstance(value, str) else json.loads(text)}


def shown(value: Any) -> str:
    try:
        return f"{type(value).__name__} {value!r:.100}"
    except BaseException:  # whatever a foreign __repr__ does
        return type(value).__name__


def in_words(fault: BaseException, folder: str) -> str:
    """The fault, and the last line of the user's own files that it came from."""
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
