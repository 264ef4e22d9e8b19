"""Answer the files of ``batch export`` with Ray's vLLM engine processor: GPUs, and no server.

    python ray_engine.py DIR/01-judge ANSWERS MODEL [ENGINES]
    python -m rubriclab batch import STUDY.toml --store S ANSWERS

Written for ray[llm] 2.60.0, which brings vLLM 0.29.0. What ``asked`` and ``answer`` make of requests
and of the engine's fields is tested; the engine itself was not run, for want of a GPU (docs/serving.md).
"""

from __future__ import annotations

import sys
from typing import Any

COPIED = ("temperature", "top_p", "seed")


def asked(row: dict[str, Any]) -> dict[str, Any]:
    """A request of the batch file as the engine takes it.

    The limit and the key are columns of their own: the engine takes the sampling parameters away.
    """
    body = row["body"]
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    if limit is None:
        raise ValueError(f"Request {row['custom_id']} sets no max_tokens: give the judge one in the study file.")
    sampling = {name: body[name] for name in COPIED if body.get(name) is not None}
    return {
        "messages": body["messages"],
        "sampling_params": {**sampling, "max_tokens": int(limit)},
        "custom_id": row["custom_id"],
        "limit": int(limit),
        "asked_model": body["model"],
    }


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """What the engine gave as a row of an answer table.

    It names no reason why it ended: an answer as long as the limit counts as cut. Probabilities
    are not taken over: where they are wanted, ask servers.
    """
    return {
        "key": row["custom_id"],
        "text": row["generated_text"],
        "finish": "length" if row["num_generated_tokens"] >= row["limit"] else "stop",
        "tokens_in": int(row["num_input_tokens"]),
        "tokens_out": int(row["num_generated_tokens"]),
        "model": row["asked_model"],
    }


def main(requests: str, answers: str, model: str, engines: str = "1") -> None:
    """Read requests, answer them, write Parquet as it goes."""
    from ray.data import read_json
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    engine = vLLMEngineProcessorConfig(model_source=model, concurrency=int(engines), batch_size=256)
    done = build_processor(engine, preprocess=asked, postprocess=answer)(read_json(requests, lines=True))
    done.write_parquet(answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
