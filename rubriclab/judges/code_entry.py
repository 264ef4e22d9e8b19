"""Where the function of an own judge stands: its folder, its file, and the hash that names it.

``module:function`` is looked up in one folder, which only its user can name: the folder of a study
file that is run from the command line or a notebook, or ``RUBRICLAB_CODE`` (``rubriclab lab
--code FOLDER``). No folder comes out of a page, a store or an archive.
"""

from __future__ import annotations

import ast
import hashlib
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from rubriclab.judges.serving import local_only
from rubriclab.model import Judge, LabError
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import did_you_mean, many

CODE_VARIABLE = "RUBRICLAB_CODE"
SHA256 = "sha256"
"""The judge's option that holds the hash of its code: another function is another judge."""
MAX_SOURCE, MAX_FILES = 4 * 2**20, 2_000
"""Bytes of one file of code, and files of a package: more is no judge."""
_EXAMPLE = msg("Write it as “my_judge:judge”: the file's name without .py, a colon, the function's name.")


@dataclass(frozen=True, slots=True)
class Entry:
    """A function in a file of ``folder``: ``module`` with dots, ``function`` its name."""

    folder: Path
    module: str
    function: str
    file: Path

    def __str__(self) -> str:
        return f"{self.module}:{self.function}"


def code_folder() -> Path | None:
    """The folder that the user named before the start; None where none was."""
    named = os.environ.get(CODE_VARIABLE, "").strip()
    return Path(named).expanduser() if named else None


def check_folder(path: Path) -> Path:
    """The folder as an absolute path. Raises LabError where there is none."""
    folder = path.expanduser()
    if not folder.is_dir():
        raise LabError(
            tr(
                "There is no folder {path}: name the one that holds your judge's file (--code, {variable}).",
                path=path,
                variable=CODE_VARIABLE,
            )
        )
    return folder.resolve()


def split_entry(text: str, judge: str) -> tuple[str, str]:
    """(module, function) of ``module:function``. Raises LabError for anything else."""
    module, colon, function = text.partition(":")
    if not colon:
        raise LabError(
            tr(
                "Judge “{judge}”: the entry “{text}” names no function. {example}",
                judge=judge,
                text=text[:80],
                example=tr(_EXAMPLE),
            )
        )
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        # Names only: a path, relative or not, could lead out of the folder.
        raise LabError(
            tr("Judge “{judge}”: “{text}” is no entry. {example}", judge=judge, text=text[:80], example=tr(_EXAMPLE))
        )
    return module, function


def _named_folder(judge: Judge) -> Path:
    """The folder of code that was named for it. Raises LabError where none was."""
    named = Path(judge.code_folder) if judge.code_folder else code_folder()
    if named is None:
        raise LabError(
            tr(
                "Judge “{name}” runs your function {model}, and no folder of code was named. Name it before the "
                "start: rubriclab lab --code FOLDER, or {variable}=FOLDER. A study file that you run from "
                "the command line or a notebook uses its own folder.",
                name=judge.name,
                model=judge.model,
                variable=CODE_VARIABLE,
            )
        )
    return named


def find_entry(judge: Judge) -> Entry:
    """The judge's function on disk. Raises LabError, saying what to do, where it cannot be had."""
    local_only(tr("A judge of own code"))
    if os.name == "nt":
        raise LabError(tr("A judge of own code does not run on Windows itself: start the lab in WSL."))
    module, function = split_entry(judge.model, judge.name)
    folder = check_folder(_named_folder(judge))
    stem = folder.joinpath(*module.split("."))
    for file in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
        if file.is_file():
            if not file.resolve().is_relative_to(folder):
                raise LabError(
                    tr(
                        "Judge “{name}”: {file} leads out of the folder {folder}; put the file itself there.",
                        name=judge.name,
                        file=file,
                        folder=folder,
                    )
                )
            return Entry(folder, module, function, file)
    names = sorted(path.stem for path in folder.glob("*.py"))
    raise LabError(
        tr(
            "Judge “{name}”: there is no {file}.py in {folder}.{hint}",
            name=judge.name,
            file=stem.relative_to(folder),
            folder=folder,
            hint=did_you_mean(module, names),
        )
    )


def entry_sha256(entry: Entry) -> str:
    """The hash of the code, in hex: of the file, or of all .py files of the package that it is in.

    Modules beside it are not in it. Raises LabError for what cannot be read and is no code's size.
    """
    package = entry.folder / entry.module.split(".")[0]
    if not package.is_dir() or not entry.file.is_relative_to(package):
        return hashlib.sha256(_source(entry.file)).hexdigest()
    files = sorted(package.rglob("*.py"))
    if len(files) > MAX_FILES:
        raise LabError(
            tr(
                "The package {package} has {files}; at most {most:,} are read.",
                package=package,
                files=many(len(files), "file"),
                most=MAX_FILES,
            )
        )
    digest = hashlib.sha256()
    for file in files:
        source = _source(file)
        digest.update(f"{file.relative_to(package).as_posix()}\0{len(source)}\0".encode())
        digest.update(source)
    return digest.hexdigest()


def pinned(judge: Judge) -> Judge:
    """The judge with the hash of its code as it is now, which is part of what it is.

    A hash that it has already stays. Raises LabError where the code cannot be had.
    """
    if judge.options.get(SHA256):
        return judge
    return replace(judge, options={**judge.options, SHA256: entry_sha256(find_entry(judge))})


def check_pinned(judge: Judge, entry: Entry) -> None:
    """Raises LabError where the code on disk is not the code that the judge was made with."""
    wanted, found = judge.options.get(SHA256), entry_sha256(entry)
    if not wanted:
        raise LabError(
            tr(
                'Judge “{name}” does not say which code it runs: give its option sha256 = "{found}".',
                name=judge.name,
                found=found,
            )
        )
    if wanted != found:
        raise LabError(
            tr(
                "{file} is not the code that judge “{name}” was made with (sha256 {wanted}…, now {found}…). "
                "Another function is another judge: start its study anew, or put the old file back.",
                file=entry.file,
                name=judge.name,
                wanted=str(wanted)[:12],
                found=found[:12],
            )
        )


def check_code(judge: Judge) -> Entry:
    """The entry of a judge that can be run as far as can be seen without running it.

    Raises LabError for an unknown option, a missing file, other code than it was made with, code
    that is no Python, a function that is not in it.
    """
    if unknown := [name for name in judge.options if name != SHA256]:
        raise LabError(
            tr(
                "Judge “{name}” of own code has no option “{unknown}”; it has only {option}.",
                name=judge.name,
                unknown=unknown[0],
                option=SHA256,
            )
        )
    entry = find_entry(judge)
    check_pinned(judge, entry)
    tree = _parsed(entry.file)
    names = _names(tree)
    if entry.function not in names and "*" not in names:
        hint = did_you_mean(entry.function, sorted(names))
        raise LabError(
            tr(
                "{file} has no “{function}”.{hint} Judge “{name}” asks for it.",
                file=entry.file,
                function=entry.function,
                hint=hint,
                name=judge.name,
            )
        )
    return entry


def entries(folder: Path, *, most: int = 300) -> tuple[str, ...]:
    """The functions in the folder's files, as module:function; names with a leading _ are left out."""
    found: list[str] = []
    for file in sorted(folder.glob("*.py"))[:most]:
        try:
            tree = _parsed(file)
        except LabError:
            continue  # no code: nothing to choose
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        found += [f"{file.stem}:{one.name}" for one in functions if not one.name.startswith("_")]
    return tuple(found[:most])


def _parsed(file: Path) -> ast.Module:
    """The file's code. Raises LabError for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape sequence is the author's own business
            return ast.parse(_source(file), filename=file.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise LabError(
            tr("{file}{line}: this is no Python that can be read ({reason}).", file=file, line=line, reason=reason)
        ) from error


def _names(tree: ast.Module) -> set[str]:
    """All names that the module may give to something, wherever it does so; “*” for a star import."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "globals":
            found.add("*")
    return found


def _source(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_SOURCE:
            raise LabError(tr("{file} has more than {most} MB: that is no code.", file=file, most=MAX_SOURCE // 2**20))
        return file.read_bytes()
    except OSError as error:
        raise LabError(tr("{file} cannot be read: {reason}.", file=file, reason=error.strerror or error)) from error
