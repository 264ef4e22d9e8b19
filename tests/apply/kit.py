"""A chat server on this machine that judges by a plan: own quality of the response, a lean to the option listed first."""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

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
RUBRIC = "name: Help\noptions: {1: no help, 2: little help, 3: some help, 4: much help, 5: full help}\n"
CRITERIA = "name: Two\ncriteria:\n" + "".join(
    f"  - {{name: {name}, options: {{1: bad, 2: poor, 3: fair, 4: good, 5: best}}}}\n"
    for name in ("Clarity", "Depth", "Wit")
)


class Planted:
    """Answers of a judge that takes the first option in a third of its prompts; ``bodies``: what it was asked.

    ``noise``: the share of calls whose score is drawn anew, by the prompt and how often it came: in whichever order calls
    arrive, the draws are the same; ``mute``: a fifth of the prompts have no score; ``refuses``:
    field of a request -> (status, message) of the answer to one that has it.
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
        return "Scores:\n" + "\n".join(f"[{name}] {min(5, own + (k == 0))}" for k, name in enumerate(names))

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.reply(body)}
        return {
            "id": "c", "object": "chat.completion", "created": 0, "model": "planted",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip


@contextmanager
def serving(judge: Planted) -> Iterator[str]:
    """The base URL of a server that answers as ``judge``; closed at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, words = next((judge.refuses[name] for name in body if name in judge.refuses), (200, ""))
            answer = {"error": {"message": words}} if words else judge.completion(body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def written(folder: Path, address: str, *, design: str = "", rubric: str = RUBRIC, items: int = 40) -> Path:
    """The study file of a run against that server."""
    rows = "\n".join(f'a{k},"This is answer number {k}, in a few words","Question {k}?"' for k in range(items))
    (folder / "answers.csv").write_text(f"item_id,response,instruction\n{rows}\n", "utf-8")
    (folder / "rubric.yaml").write_text(rubric, "utf-8")
    (folder / "study.toml").write_text(STUDY.format(design=design, address=address), "utf-8")
    return folder / "study.toml"


def item(k: int) -> dict[str, str]:
    return {"response": f"This is answer number {k}, in a few words", "instruction": f"Question {k}?"}
