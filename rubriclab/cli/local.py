"""Serve this machine: start the lab's pages, and list and test the judges at hand."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import webbrowser
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rubriclab.cli import common
from rubriclab.cli.common import Json, Outcome, StorePath
from rubriclab.data.limits import user_path
from rubriclab.judges.keys import hide_environment
from rubriclab.judges.supervisor import PR_SET_PDEATHSIG, prctl
from rubriclab.model.consent import sent_by
from rubriclab.model.text import LabError

PORT = 8501
"""Where the pages are if no port is named: Streamlit's own."""
LOOPBACK = "127.0.0.1"
START_SECONDS = 120.0
"""How long the pages may take to start before no browser is opened."""
POLL_SECONDS = 0.2
LAST_REPLIES_SECONDS = 20.0
"""How long the pages may take to end. They wait for replies that are on their way."""
ENDED_BY_SIGNAL = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Return codes of the pages that mean that somebody ended them on purpose."""


def lab(
    *,
    port: Annotated[
        int | None, Parameter(help="Port on 127.0.0.1. Default: 8501, or a free one.")
    ] = None,
    no_browser: Annotated[
        bool, Parameter(help="Do not open the browser. Print the address only.")
    ] = False,
    code: Annotated[
        Path | None, Parameter(help="Folder whose Python functions may be used as judges.")
    ] = None,
    store: StorePath = None,
) -> Outcome:
    """Start the lab and open it in your browser, like rubriclab without a command."""
    from rubriclab.data.lab_folder import lab_folder

    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    if "STREAMLIT_SERVER_ADDRESS" not in os.environ:
        # The settings beside app.py say so too. Nothing but this variable may say otherwise.
        command += ["--server.address", LOOPBACK]
    environment = os.environ | {
        "RUBRICLAB_STORE": str(user_path(common.store_path(store)).absolute())
    }
    if code is not None:
        if not user_path(code).is_dir():
            raise LabError(f"--code {code} is not a folder. Name the folder of your functions.")
        environment["RUBRICLAB_CODE"] = str(user_path(code).absolute())
    hide_environment()
    # The pages get a session of their own. A terminal sends Ctrl-C to its whole group, and the
    # pages shall receive the end once, from here.
    with subprocess.Popen(
        command,
        cwd=lab_folder(),
        env=environment,
        start_new_session=True,
        preexec_fn=end_with_parent if sys.platform == "linux" else None,
    ) as pages:
        if not no_browser and can_show_pages():
            address = f"http://{LOOPBACK}:{port}"
            threading.Thread(target=open_browser, args=(address, pages), daemon=True).start()
        try:
            ended = pages.wait()
        except KeyboardInterrupt:
            ended = 0
            pages.terminate()  # they pause their runs and keep the replies that still arrive
            try:
                pages.wait(LAST_REPLIES_SECONDS)
            except (KeyboardInterrupt, subprocess.TimeoutExpired):
                pages.kill()
    return Outcome("The lab has ended.", common.DONE if ended in ENDED_BY_SIGNAL else common.ERROR)


def free_port() -> int:
    """Return PORT, or another port of this machine if something else has that one."""
    for port in (PORT, 0):
        with socket.socket() as probe:
            # As the server does: a port whose last owner has just ended counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise LabError("No port of this machine is free. Name one with --port.")


def can_show_pages() -> bool:
    """Return whether a browser with windows can be opened.

    On a machine without a screen, Python would open one that takes over the terminal.
    """
    if os.environ.get("BROWSER") or sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_browser(address: str, pages: subprocess.Popen[bytes]) -> None:
    """Open the address as soon as the pages answer there, unless they end or take too long."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and pages.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                break
        except OSError:  # not there yet
            time.sleep(POLL_SECONDS)
    else:
        return
    webbrowser.open(address)


def end_with_parent() -> None:
    """Ask Linux, between fork and exec, for SIGTERM when the parent dies.

    Without it, pages would keep their port and their store after a kill of the command.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def judges(
    *,
    local: Annotated[bool, Parameter(help="Look for servers on this machine.")] = False,
    test: Annotated[
        str | None,
        Parameter(
            help="Test a judge with up to four calls, for example smollm2-135m-q8 or "
            "http://127.0.0.1:8000/v1."
        ),
    ] = None,
    model: Annotated[
        str | None, Parameter(help="Model to test, if --test is a server's address.")
    ] = None,
    key_env: Annotated[
        str | None, Parameter(help="Environment variable with the key, for example OPENAI_API_KEY.")
    ] = None,
    json: Json = False,
) -> Outcome:
    """List the judges on this machine, or test one.

    A test says whether the judge replies, and to which constraints its server holds it.
    """
    if test is not None:
        return _tested(f"{model}@{test}" if model else test, key_env, json=json)

    from rubriclab.judges.probe import find_servers
    from rubriclab.judges.weights import CATALOGUE
    from rubriclab.model.judge_kind import all_kinds

    models = list(CATALOGUE.values())
    servers = find_servers() if local else []
    kinds, faults = all_kinds()
    packaged = [kind for kind in kinds if kind.package]
    if json:
        document: dict[str, Any] = {
            "embedded": [
                {"name": entry.name, "megabytes": entry.megabytes, "here": entry.present()}
                for entry in models
            ],
            "servers": [
                {"base_url": server.base_url, "models": list(server.models)} for server in servers
            ],
        }
        if packaged or faults:
            document["kinds"] = [
                {"kind": kind.name, "label": kind.label, "package": kind.package}
                for kind in packaged
            ]
            document["faults"] = faults
        return Outcome(document)
    lines = []
    for entry in models:
        where = "on this machine"
        if entry.download_megabytes:
            where = f"{entry.download_megabytes} MB are downloaded on first use"
        elif not entry.present():
            where = f"made on first use from {entry.downloaded.name}, which is on this machine"
        lines.append(f"{entry.name}: {entry.megabytes} MB, {where}")
    for server in servers:
        lines.append(f"{server.base_url}: {', '.join(server.models) or 'no models named'}")
    for kind in packaged:
        lines.append(f"kind {kind.name}: {kind.label}, from the package {kind.package}")
    lines += faults
    if local and not servers:
        lines.append(
            "No server found on the ports that vLLM, llama.cpp, Ollama and others use by default."
        )
    return Outcome("\n".join(lines))


def _tested(name: str, key_env: str | None, *, json: bool) -> Outcome:
    """Test one judge. Raises LabError if the name is not a judge's."""
    from rubriclab.judges.kinds import judge_named
    from rubriclab.judges.probe import test_judge

    judge = judge_named(name, key_env)
    # Whoever types an address and the variable of its key has agreed to exactly that.
    report = test_judge(judge, frozenset(sent_by(judge)))
    return Outcome(
        report.document() if json else report.sentence(),
        common.DONE if report.ok else common.ERROR,
    )
