"""Ask a judge from every node of a Ray cluster (``run --ray ADDRESS``).

The run itself stays on this machine, with the plan, pace, retries and writer of any run. A node
gets one call at a time and returns its reply. A node that dies loses only the calls that it was
asking, and other nodes ask them again.
"""

import asyncio
import importlib
import os
import socket
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rubriclab.judges.faults import Fault
from rubriclab.judges.kinds import Asker, open_judge
from rubriclab.model.consent import Consents
from rubriclab.model.data import Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError

LOOK_SECONDS = 2.0
"""How often the nodes of the cluster are listed: nodes may come and go."""
LOST_SECONDS = 30.0
"""How long a lost node is left out. Ray may need that long to notice that it is dead."""
WAIT_SECONDS = 120.0
"""How long a run waits for a node if there is none."""
ROOM_SECONDS = 0.2
"""How often a call that waits for a node looks again."""
CONNECT_SECONDS = 5.0
"""How long connecting to the cluster may take. Ray itself tries for minutes."""


class NodeJudge:
    """Ask the judge from one node.

    The key comes from that node's environment and never travels. The user's consents do travel, so
    that a node sends its key nowhere else.
    """

    def __init__(self, made: tuple[JudgeSettings, Rubric | None, Sequence[Item], Consents]) -> None:
        self._made = made
        self._opening: asyncio.Task[Asker] | None = None

    async def ask(self, call: Call) -> Reply:
        """Ask one call. The first one opens the judge, and concurrent ones wait for that."""
        if self._opening is None:
            settings, rubric, items, consents = self._made
            opening = open_judge(settings, rubric=rubric, items=items, consents=consents)
            self._opening = asyncio.ensure_future(opening)
        asker = await self._opening
        return await asker.ask(call)


class ClusterJudge:
    """Ask each call on the node that has the fewest calls; nodes may come and go.

    Used in one event loop.
    """

    def __init__(
        self,
        ray: Any,
        settings: JudgeSettings,
        rubric: Rubric | None,
        items: Sequence[Item],
        consents: Consents,
    ) -> None:
        self._ray, self._settings = ray, settings
        own = items if settings.about.runs_code else ()
        # Stored once in the cluster, however many nodes and items there are.
        self._made = ray.put((settings, rubric, own, consents))
        self._actors: dict[str, Any] = {}
        self._lost: dict[str, float] = {}
        self._asking: Counter[str] = Counter()
        self._looked = 0.0

    async def ask(self, call: Call) -> Reply:
        """Ask one call on one node. If that node is lost, the fault says to ask the call again.

        Raises LabError if there is no node, or if the judge cannot be opened there.
        """
        started = time.perf_counter()
        node = await self._node()
        self._asking[node] += 1
        try:
            reply: Reply = await self._actors[node].ask.remote(call)
            return reply
        except self._ray.exceptions.RayTaskError as fault:
            raise LabError(f"On node {node[:8]}: {fault.cause}") from fault
        except self._ray.exceptions.RayError as fault:
            self._actors.pop(node, None)
            self._lost[node] = time.monotonic()
            words = (
                f"Node {node[:8]} of the cluster was lost with the call ({type(fault).__name__})"
            )
            return Fault("reset", words).reply(time.perf_counter() - started)
        finally:
            self._asking[node] -= 1

    async def _node(self) -> str:
        """Return the node with the fewest calls. Raises LabError if there has long been none."""
        until = time.monotonic() + WAIT_SECONDS
        while True:
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._looked = time.monotonic()
                self._look()
            if self._actors:
                return min(self._actors, key=lambda node: self._asking[node])
            if time.monotonic() > until:
                raise LabError(
                    f"The Ray cluster has had no processor for {WAIT_SECONDS:g} s. Start a node, "
                    f"then resume the run."
                )
            await asyncio.sleep(ROOM_SECONDS)

    def _look(self) -> None:
        """Put an actor on every node that is alive and has a processor, and forget the others."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        now = time.monotonic()
        lost = {node for node, moment in self._lost.items() if now - moment < LOST_SECONDS}
        alive = set()
        for node in self._ray.nodes():
            if node["Alive"] and node["Resources"].get("CPU"):
                alive.add(node["NodeID"])
        alive -= lost
        self._actors = {node: actor for node, actor in self._actors.items() if node in alive}
        for node in alive - self._actors.keys():
            stays = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            made = self._ray.remote(NodeJudge).options(
                num_cpus=0,  # an asker waits for servers and needs no processor of its own
                max_concurrency=self._settings.concurrency,
                scheduling_strategy=stays,
                max_restarts=0,  # ``_look`` makes a new one where the node is still alive
            )
            self._actors[node] = made.remote(self._made)

    async def close(self) -> None:
        """End the judges on all nodes."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}


def join_cluster(address: str) -> Any:
    """Return Ray, joined to a running cluster until its ``shutdown``.

    Raises LabError if Ray is not installed, and if no cluster answers.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise LabError(
            "Ray is not installed here. Install it with “pip install 'rubriclab[ray]'”."
        ) from None
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdecimal() and "/" not in host):
        raise LabError(
            f"--ray {address} is not an address. Use HOST:PORT of the cluster, or “auto” on one of "
            f"its machines."
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if host:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        ray.init(
            address=address, log_to_driver=False, configure_logging=False, ignore_reinit_error=True
        )
    # Which exception Ray raises depends on its version: ConnectionError, ValueError, RuntimeError.
    except Exception as fault:
        raise LabError(
            f"No Ray cluster answers at {address} ({fault}). Start one with “ray start --head”."
        ) from None
    return ray
