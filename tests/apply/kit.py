"""Serve a judge with a planted position bias on this machine."""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.servers import Pages, completion, failure, running

STUDY = """
name = "Served"
[[data]]
file = "answers.csv"
[rubric]
file = "rubric.yaml"
[design]
{design}
[[judges]]
name = "served"
kind = "openai"
model = "planted"
base_urls = ["{address}"]
"""
RUBRIC = (
    "name: Help\noptions: {1: no help, 2: little help, 3: some help, 4: much help, 5: full help}\n"
)
CRITERIA = "name: Two\ncriteria:\n" + "".join(
    f"  - {{name: {name}, options: {{1: bad, 2: poor, 3: fair, 4: good, 5: best}}}}\n"
    for name in ("Clarity", "Depth", "Wit")
)


class Planted:
    """Answers of a judge that takes the first option in a third of its prompts; ``bodies``: what it
    was asked.

    ``noise``: the share of calls whose score is drawn anew, by the prompt and how often it came: in
    whichever order calls arrive, the draws are the same; ``mute``: a fifth of the prompts have no
    score; ``refuses``: field of a request -> (status, message) of the answer to one that has it.
    """

    def __init__(self, noise: float = 0.0) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.mute, self.noise, self.times = False, noise, Counter[str]()
        self.refuses: dict[str, tuple[int, str]] = {}

    def reply(self, body: dict[str, Any]) -> str:
        self.bodies.append(body)
        prompt = body["messages"][-1]["content"]
        number = int(re.findall(r"answer number (\d+)", prompt)[0])
        turn = int(hashlib.sha256(prompt.encode()).hexdigest(), 16)
        if self.mute and turn % 5 == 0:
            return "I would rather not say."
        own = number % 5 + 1
        if listed := re.findall(r"^Score (\d):", prompt, re.M):
            self.times[prompt] += 1
            rng = random.Random(f"{self.times[prompt]} {prompt}")
            if rng.random() < self.noise:
                return str(rng.randint(1, 5))
            return listed[0] if turn % 3 == 0 else str(own)
        names = list(dict.fromkeys(name for name in re.findall(r"\b(Clarity|Depth|Wit)\b", prompt)))
        return "Scores:\n" + "\n".join(
            f"[{name}] {min(5, own + (k == 0))}" for k, name in enumerate(names)
        )

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        return completion(self.reply(body), model="planted")


@contextmanager
def serving(judge: Planted) -> Iterator[str]:
    """The base URL of a server that answers as ``judge``; closed at the end."""

    async def page(request: web.Request) -> web.Response:
        if request.method != "POST":
            return failure(404, "Not Found")
        body = json.loads(await request.read())
        refused = next((judge.refuses[name] for name in body if name in judge.refuses), None)
        return failure(*refused) if refused else web.json_response(judge.completion(body))

    with running(Pages(page)) as server:
        yield f"{server.url}/v1"


def written(
    folder: Path, address: str, *, design: str = "", rubric: str = RUBRIC, items: int = 40
) -> Path:
    """The study file of a run against that server."""
    rows = "\n".join(
        f'a{k},"This is answer number {k}, in a few words","Question {k}?"' for k in range(items)
    )
    (folder / "answers.csv").write_text(f"item_id,response,instruction\n{rows}\n", "utf-8")
    (folder / "rubric.yaml").write_text(rubric, "utf-8")
    (folder / "study.toml").write_text(STUDY.format(design=design, address=address), "utf-8")
    return folder / "study.toml"


def item(k: int) -> dict[str, str]:
    return {
        "response": f"This is answer number {k}, in a few words",
        "instruction": f"Question {k}?",
    }
