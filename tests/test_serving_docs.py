"""What docs/serving.md hands out for many machines: its files are read by what they are written for."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from docs import ray_engine
from rubriclab.model import Judge, Strategy
from rubriclab.runs.answer_files import write_answers
from rubriclab.runs.answers import import_answers
from rubriclab.runs.batch import write_batch
from rubriclab.store import Store
from rubriclab.study.plan import plan
from tests.labkit import study

DOCS = Path(ray_engine.__file__).parent
SERVED = Judge("j", "vllm", "org/test-model", base_urls=("http://127.0.0.1:9/v1",))


def test_the_engine_s_answers_become_judgments(tmp_path: Path) -> None:
    """Rows as ray[llm] 2.60.0 gives them: the fields of its vLLMOutputData, without sampling_params."""
    ready = plan(study(2, judges=(SERVED,), strategies=(Strategy("balanced"),)))
    with Store(":memory:") as store:
        write_batch(store, ready, tmp_path / "out")
        lines = [line for file in (tmp_path / "out").rglob("*.jsonl") for line in file.read_text().splitlines()]
        rows = []
        for number, line in enumerate(lines):
            row = ray_engine.asked(json.loads(line))
            assert set(row.pop("sampling_params")) == {"temperature", "max_tokens"}
            assert row["messages"][-1]["role"] == "user"
            full = row["limit"] if number == 0 else 1
            row |= {"generated_text": "4", "num_generated_tokens": full, "num_input_tokens": 90}
            rows.append(ray_engine.answer(row))
        (tmp_path / "answers").mkdir()
        write_answers(tmp_path / "answers" / "0.parquet", pa.Table.from_pylist(rows))
        taken = import_answers(store, ready, [tmp_path / "answers"])
        kept = store.archive_frame(taken.run)
    assert (taken.kept, taken.left, taken.failed) == (len(ready), 0, {})
    assert kept["finish"].value_counts().to_dict() == {"stop": len(ready) - 1, "length": 1}
    assert (kept["tokens_in"] == 90).all()
    assert kept["score"].iloc[1:].eq(4).all()


def test_the_engine_says_which_request_has_no_limit() -> None:
    row = {"custom_id": "k", "body": {"messages": [], "model": "m"}}
    with pytest.raises(ValueError, match="Request k sets no max_tokens"):
        ray_engine.asked(row)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_the_cluster_is_one_that_ray_can_read() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = importlib.util.find_spec("ray")
    assert found is not None
    assert found.origin is not None
    schema = json.loads((Path(found.origin).parent / "autoscaler" / "ray-schema.json").read_text())
    cluster = yaml.safe_load((DOCS / "cluster.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(cluster, schema)
    nodes = cluster["available_node_types"]
    assert cluster["head_node_type"] in nodes
    assert nodes["judge"]["max_workers"] <= cluster["max_workers"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**cluster, "nodes": 3}, schema)
