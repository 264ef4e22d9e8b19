"""Serve this machine: start the lab's pages, and list and test the judges at hand."""

import os
import signal
import subprocess
import sys
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

LAST_REPLIES_SECONDS = 20.0
"""How long the pages may take to end. They wait for replies that are on their way."""
ENDED_BY_SIGNAL = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Return codes of the pages that mean that somebody ended them on purpose."""


def lab(
    *,
    port: Annotated[int, Parameter(help="Port on 127.0.0.1.", show_default=True)] = 8501,
    code: Annotated[
        Path | None, Parameter(help="Folder whose Python functions may be used as judges.")
    ] = None,
    store: StorePath = None,
) -> Outcome:
    """Start the lab. Open the address that it prints in your browser."""
    from rubriclab.data.sample import lab_folder

    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
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
