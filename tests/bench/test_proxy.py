"""The benchmark of the proxy: both pipelines send the same calls, and what it prints is what it measured."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from benchmarks import proxy
from benchmarks.__main__ import main
from benchmarks.proxy import Compared, Went
from benchmarks.server import served
from tests.proxies import proxied


def test_both_pipelines_make_the_same_calls() -> None:
    with served(1) as upstream, proxied(upstream) as at:
        direct = proxy.pipeline(upstream, items=6, at_once=2, logprobs=True, orders=True)
        before = at.proxy.status()["calls_upstream"]
        through = proxy.pipeline(at.base_url, items=6, at_once=2, logprobs=True, orders=False)
        status = at.proxy.status()
    assert (direct.items, direct.calls) == (6, 60)
    assert through.items == 6
    assert status["cured"] == 7, "one of them before the clock starts"
    assert status["calls_upstream"] - before == 70


def test_loss_and_processor_time_by_hand() -> None:
    direct = (Went(10, 100, 1.0, 0.05), Went(10, 100, 2.0, 0.05), Went(10, 100, 1.0, 0.07))
    through = (Went(10, 100, 1.25, 0.01, 0.03), Went(10, 100, 2.0, 0.01, 0.03), Went(10, 100, 1.0, 0.02, 0.05))
    found = Compared(10, direct, through)
    assert found.loss == 0.0, "the best round of each"
    assert Compared(10, direct, (through[0], through[0], through[0])).usual_loss == pytest.approx(0.2)
    assert (found.cpu_direct, found.cpu_pipeline, found.cpu_proxy) == pytest.approx((0.5, 0.1, 0.3))
    assert Compared(10, direct[:1], through[:1]).loss == pytest.approx(0.2)


@pytest.mark.parametrize(("slower", "code"), [(1.02, 0), (1.2, 1)])
def test_it_prints_what_is_met_and_what_is_missed(
    slower: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compared(options: Namespace) -> Compared:
        del options
        return Compared(10, (Went(10, 100, 1.0, 0.05),), (Went(10, 100, slower, 0.01, 0.03),))

    monkeypatch.setattr(proxy, "compare", compared)
    assert main(["proxy"]) == code
    said = capsys.readouterr().out
    assert ("MISSED  loss below 5 %" if code else "met     loss below 5 %") in said
    main(["proxy", "--json"])
    assert json.loads(capsys.readouterr().out)["met"] == (not code)
