"""Check one whole run against a server that wants to harm the lab.

The run walks through the server's list of attacks, in a process whose memory is watched.
"""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from rubriclab.judges.keys import mask_secrets
from tests.hostile_server import FAMILIES, KEY, KINDS, MODEL, STOPPING, HostileServer
from tests.servers import running
from tests.study.kit import small_plan

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
ITEMS, MOST_MB = 10, 100
LARGE = ("huge_text", "many_values", "endless_chunks", "many_choices", "endless_error")
# Of two that stop a judge at once only the first is said, so each comes without another one in
# flight too.
ALONE = tuple(part for family in sorted(STOPPING) for part in (*["good"] * 8, family))
SCHEDULE = ("good",) * 20 + FAMILIES * 2 + LARGE * 4 + ALONE
"""What the calls get in their order of arrival: a good start, everything twice, the largest at
once, a good end.
"""


def test_a_whole_run_in_bounded_memory(tmp_path: Path) -> None:
    families: dict[str, str] = {}

    def rule(key: str, nth: int) -> str:
        """The call's own family; what stops a judge only once, so that the run can go on."""
        family = families.setdefault(
            key, SCHEDULE[len(families)] if len(families) < len(SCHEDULE) else "good"
        )
        return "good" if family in STOPPING and nth else family

    store = tmp_path / "lab.duckdb"
    with running(HostileServer(rule)) as server:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.integration.test_hostile_server",
                server.base_url,
                str(store),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    more = report["after"] - report["before"]
    print(f"{report['before']:.0f} MB before, {more:.0f} more; {len(report['pauses'])} pauses")
    assert report["state"] == "finished"
    assert more < MOST_MB
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}
    with duckdb.connect(str(store), read_only=True) as opened:
        kinds = dict(
            opened.execute("SELECT key, kind FROM calls WHERE final AND run = 2").fetchall()
        )
        ((rows,),) = opened.execute("SELECT count(*) FROM judgments WHERE run = 2").fetchall()
        tables = [
            name for (name,) in opened.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        ]
        kept = "\n".join(str(opened.execute(f"FROM {name}").fetchall()) for name in tables)
    # Every call has one row, which says what became of it; what stops a judge is said at the pause
    # instead.
    assert len(kinds) == rows == 20 * ITEMS
    expected = {
        key: "" if family in STOPPING else KINDS[family] for key, family in families.items()
    }
    assert {families[key]: kind for key, kind in kinds.items() if kind != expected[key]} == {}
    said = " ".join(report["pauses"])
    for words in ("moved to", "HTTP 401", "answered as", "a pause of 1,000,000,000 s"):
        assert words in said
    assert mask_secrets(kept + said, (KEY,)) == kept + said
    assert KEY.encode() not in store.read_bytes()


def run_all(base_url: str, store: str) -> dict[str, object]:
    """A small run first, that loads everything; then the walk, resumed at every pause."""
    import resource

    from rubriclab.model.judge import JudgeSettings
    from rubriclab.runs import asking
    from rubriclab.runs.runner import Run, RunSnapshot
    from rubriclab.store.store import Store

    def megabytes() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def judged(items: int, name: str) -> RunSnapshot:
        judge = JudgeSettings(
            name=name,
            kind="openai",
            model=MODEL,
            base_urls=(base_url,),
            key_env="K_API_KEY",
            timeout=4.0,
            seed=items,
        )
        return (
            Run(opened, small_plan(items, judges=(judge,)), secrets={"K_API_KEY": KEY}, agree=True)
            .start()
            .wait(600)
        )

    asking.backoff = lambda attempt: 0.01 * attempt
    pauses: list[str] = []
    with Store.open(store) as opened:
        assert judged(1, "warm").state == "finished"
        before = megabytes()
        while (end := judged(ITEMS, "walked")).state == "paused" and len(pauses) < 100:
            pauses.append(end.reason)
        return {"state": end.state, "pauses": pauses, "before": before, "after": megabytes()}


if __name__ == "__main__":
    print(json.dumps(run_all(*sys.argv[1:])))
