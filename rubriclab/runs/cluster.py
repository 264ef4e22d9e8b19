"""Ask a judge from every node of a Ray cluster (``run --ray ADDRESS``).

The run stays where it is: its plan, pace, retries and writer are those of any run. What goes to the
nodes is one call at a time, and what comes back its reply, so a node that dies costs the calls that
it was asking, which other nodes ask again.
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

LOOK_SECONDS, LOST_SECONDS, WAIT_SECONDS = 2.0, 30.0, 120.0
"""How often nodes are counted, how long Ray may take to notice that one is dead, and how long there
may be none.
"""


class NodeJudge:
    """The judge on one node; its key comes from that node's environment and never travels.

    What the user has agreed to does travel: a node sends no key anywhere else.
    """

    def __init__(self, made: tuple[JudgeSettings, Rubric | None, Sequence[Item], Consents]) -> None:
        self._made = made
        self._opening: asyncio.Task[Asker] | None = None

    async def ask(self, call: Call) -> Reply:
        settings, rubric, items, consents = self._made
        self._opening = self._opening or asyncio.ensure_future(
            open_judge(settings, rubric=rubric, items=items, consents=consents)
        )
        return await (await self._opening).ask(call)


class ClusterJudge:
    """Asks each call on the node that has the fewest of them; nodes may come and go. One event
    loop's.
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
        self._made = ray.put(
            (settings, rubric, own, consents)
        )  # once, however many nodes and items there are
        self._actors: dict[str, Any] = {}
        self._lost: dict[str, float] = {}
        self._asking: Counter[str] = Counter()
        self._looked = 0.0

    async def ask(self, call: Call) -> Reply:
        """One call on one node. A node that is lost with it is a fault that is asked again. Raises
        LabError for no node.
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
        until = time.monotonic() + WAIT_SECONDS
        while True:
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._looked = time.monotonic()
                self._look()
            if self._actors:
                return min(self._actors, key=lambda node: self._asking[node])
            if time.monotonic() > until:
                raise LabError(
                    f"The Ray cluster has had no processor for {WAIT_SECONDS:g} s. Start one; "
                    f"resume."
                )
            await asyncio.sleep(0.2)

    def _look(self) -> None:
        """An actor on every node that is alive and has a processor; those of other nodes are
        forgotten.
        """
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        lost = {
            node for node, moment in self._lost.items() if time.monotonic() - moment < LOST_SECONDS
        }
        alive = {
            n["NodeID"] for n in self._ray.nodes() if n["Alive"] and n["Resources"].get("CPU")
        } - lost
        self._actors = {node: actor for node, actor in self._actors.items() if node in alive}
        for node in alive - self._actors.keys():
            stays = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            made = self._ray.remote(NodeJudge).options(
                num_cpus=0,
                max_concurrency=self._settings.concurrency,
                scheduling_strategy=stays,
                max_restarts=0,
            )
            self._actors[node] = made.remote(self._made)

    async def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}


def join_cluster(address: str) -> Any:
    """Ray, joined to a running cluster until its ``shutdown``. Raises LabError without Ray and
    where no cluster answers.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise LabError("Ray is not installed here: pip install 'rubriclab[ray]'.") from None
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdecimal() and "/" not in host):
        raise LabError(
            f"--ray {address}: expected HOST:PORT of the cluster, or auto on one of its machines."
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if host:  # Ray itself tries for minutes
            socket.create_connection((host, int(port)), 5.0).close()
        ray.init(
            address=address, log_to_driver=False, configure_logging=False, ignore_reinit_error=True
        )
    except Exception as fault:  # Ray's own, by version: ConnectionError, ValueError, RuntimeError
        raise LabError(
            f"No Ray cluster answers at {address} ({fault}). Start one: ray start --head."
        ) from None
    return ray
