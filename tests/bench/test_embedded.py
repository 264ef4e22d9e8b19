"""What the embedded judge's bench counts and says; the model itself is asked in the bench."""

from __future__ import annotations

from benchmarks.embedded import Found, Straight, changed_tokens, table


def test_tokens_that_changed() -> None:
    prompts = [[1, 2, 3, 4], [1, 2, 5, 6], [1, 2, 5, 6], [1, 2, 5], [9]]
    # 4 of the first, 2 after [1, 2], the last of the same one again, the last of a beginning, a new one
    assert changed_tokens(prompts) == 4 + 2 + 1 + 1 + 1


def test_what_a_call_takes_its_time_for_adds_up() -> None:
    straight = Straight(seconds=10.0, cpu=16.0, reading=6.0, writing=3.0, read=2000, written=60)
    found = Found("m", 20, 9000, 2000, speed=400.0, token_cpu=5e-3, straight=straight, seconds=12.5, cpu=20.0)
    assert found.allowed == 4.0
    assert found.share == 0.4
    assert found.cpu_share == 0.5
    text = table(found)
    rows = [line.split() for line in text.splitlines() if line[:4] in ("read", "more", "writ", "the ")]
    assert [float(row[-2]) for row in rows if row[1] != "lab"] == [250.0, 50.0, 150.0, 50.0, 125.0]
    assert text.splitlines()[-1].startswith("MISSED  0.40")
