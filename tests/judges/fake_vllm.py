"""A stand-in for the ``vllm`` command: its addresses and manners, without a model.

    fake_vllm.py serve MODEL --host H --port N

Behaviour stands in the variable FAKE_VLLM: ``--fail``, ``--ignore-term``, ``--ready-after
SECONDS``, ``--say WORDS``. Like the real one it has a child process of its own, whose pid it
prints.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("model")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--ready-after", type=float, default=0.0)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--fail", action="store_true")
    parser.add_argument("--say", default="")
    options, rest = parser.parse_known_args(sys.argv[1:] + os.environ.get("FAKE_VLLM", "").split())
    print("arguments", json.dumps(rest), options.say, flush=True)
    if options.fail:
        print("ValueError: no such model, api_key=abcdefghijkl", file=sys.stderr, flush=True)
        sys.exit(3)
    if options.ignore_term:  # before the child is told of: who has read that may send the signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print("child", child.pid, flush=True)
    started = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            loading = time.monotonic() - started < options.ready_after
            body = json.dumps({"data": [{"id": options.model, "owned_by": "vllm"}]}).encode()
            self.send_response(503 if loading else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


main()
