"""The command that opens the lab's pages."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rubriclab.model import LabError
from rubriclab.model.places import APP, SERVE


def add_lab(parsers: Any) -> None:
    about = "Open the lab in the browser. It runs until Ctrl-C."
    made = parsers.add_parser("lab", help=about, description=about)
    made.add_argument(
        "--store",
        metavar="FILE",
        help="the store, a .duckdb file; made where there is none (default: "
        "RUBRICLAB_STORE, else lab.duckdb in this folder)",
    )
    made.add_argument(
        "--stores",
        metavar="FOLDER",
        action="append",
        default=[],
        help="also offer the stores of this folder in the sidebar, besides those beside the store; may be given "
        "more than once (default: RUBRICLAB_STORES)",
    )
    made.add_argument(
        "--port", type=_port, metavar="N", help="the port on this machine (default: the first free one from 8501)"
    )
    made.add_argument(
        "--code",
        metavar="FOLDER",
        help="the folder of your own judges' code: its functions may be run from the pages (default: RUBRICLAB_CODE)",
    )
    made.add_argument("--headless", action="store_true", help="open no browser")
    made.set_defaults(command=lab)


def _port(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 1 to 65535")
    return value


def lab(arguments: argparse.Namespace) -> int:
    """Streamlit on the lab's app, with the settings that lie beside it.

    Where the system can, this process becomes Streamlit's: Ctrl-C, a signal and the exit code
    are then its own, and there is no second process that could be left behind.
    """
    # -P: a module of the folder where the user is must not stand before the lab's or a library's.
    command = [sys.executable, "-P", str(SERVE), "run", str(APP)]
    # Asked at the first start otherwise, on the terminal, before anything is served.
    command += ["--server.showEmailPrompt=false"]
    if arguments.port is not None:
        command += [f"--server.port={arguments.port}"]
    if not arguments.headless and _has_display():
        command += ["--server.headless=false"]
    environment = dict(os.environ)
    if arguments.store is not None:
        environment["RUBRICLAB_STORE"] = str(Path(arguments.store).expanduser().absolute())
    if arguments.stores:
        environment["RUBRICLAB_STORES"] = os.pathsep.join(_place(folder) for folder in arguments.stores)
    if arguments.code is not None:
        from rubriclab.judges.code_entry import CODE_VARIABLE, check_folder

        environment[CODE_VARIABLE] = str(check_folder(Path(arguments.code)))
    if sys.platform != "win32":
        os.execve(sys.executable, command, environment)
    with subprocess.Popen(command, env=environment) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # Streamlit has heard it too, and ends by itself


def _place(folder: str) -> str:
    """Raises LabError for what is neither a folder nor a store."""
    path = Path(folder).expanduser().absolute()
    if not path.exists():
        raise LabError(f"There is no folder {folder}. Name one that holds .duckdb stores, or a store.")
    return str(path)


def _has_display() -> bool:
    """Whether there is a screen to open a browser on."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
