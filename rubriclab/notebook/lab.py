"""An open store and its runs as a notebook sees them: documents, tables, figures."""

from __future__ import annotations

import weakref
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd

from rubriclab.datasets.outfiles import write_file
from rubriclab.findings.gate import GATE, GateResult
from rubriclab.findings.topics import Findings, document
from rubriclab.model import TRIAL_ORIGIN, LabError, UnitChoice
from rubriclab.model.gate_limits import gate_limits
from rubriclab.model.wording import many
from rubriclab.notebook.shown import table_html
from rubriclab.report.charts import CHARTS, Drawn
from rubriclab.report.presentation import presentation, story
from rubriclab.runs.terminal import say
from rubriclab.store import RunInfo, Store
from rubriclab.store.opening import MEMORY

COLUMNS = ("run", "name", "axis", "dataset", "state", "done", "planned", "created", "simulated")


class Lab:
    """The runs of one store. Use as a context manager, or :meth:`close` it.

    A lab that nothing refers to any more closes its store by itself.

    >>> import rubriclab as rl
    >>> from rubriclab.model.places import EXAMPLE
    >>> run = rl.read(EXAMPLE, kind="run")
    >>> run.lab
    <Lab in memory: 1 run>
    >>> run.lab.runs()[["run", "axis", "state", "done"]]
                              run     axis     state  done
    0  recorded-example-d549a8af  options  finished   960
    >>> run.lab.run("recorded").name == run.name
    True
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._end = weakref.finalize(self, store.close)

    @property
    def closed(self) -> bool:
        return not self._end.alive

    def close(self) -> None:
        """Close the store, so that another process can open it. Closing twice is no fault."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def runs(self) -> pd.DataFrame:
        """All runs, newest first; ``done`` and ``planned`` count calls."""
        rows = [asdict(info) for info in self.store.runs()]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def run(self, name: str) -> Run:
        """The run of that name, or of a name that begins so. Raises LabError, listing the runs."""
        return Run(self, self.store.run(name).run)

    def __repr__(self) -> str:
        place = "in memory" if self.store.path == MEMORY else self.store.path
        if self.closed:
            return f"<Lab {place}: closed>"
        n = len(self.store.runs())
        return f"<Lab {place}: {n:,} {'run' if n == 1 else 'runs'}>"

    def _repr_html_(self) -> str:
        return table_html(repr(self).strip("<>"), [] if self.closed else self.runs())


class Run:
    """A run and all that its judgments say; it keeps the ``lab`` open that it is in.

    Findings are worked out when they are first asked for, and anew once there are more judgments.

    >>> import rubriclab as rl
    >>> from rubriclab.model.places import EXAMPLE
    >>> run = rl.read(EXAMPLE, kind="run")
    >>> run
    <Run recorded-example-d549a8af “Recorded example”: 960 of 960 calls, finished>
    >>> run.topics
    ('position', 'alignment', 'agreement', 'choice', ..., 'ranking', 'replacement', 'corrected_means')
    """

    def __init__(self, lab: Lab, name: str, reading: tuple[Any, ...] = ()) -> None:
        self.lab, self.name = lab, name
        self._reading = reading
        self._known: tuple[str, Findings] | None = None

    def read_as(
        self,
        smallest_effect: float | None = None,
        unit: UnitChoice | None = None,
        epsilon: float | None = None,
        cut: float | None = None,
    ) -> Run:
        """The same run under another smallest effect of interest (in steps of the scale), unit, epsilon or cut.

        ``unit``: what intervals resample: "item", "block", "prompt", or "auto". ``epsilon``: of the
        alternative annotator test. ``cut``: the lowest score that passes. Raises LabError with the
        first result for what they cannot be.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> run = rl.read(EXAMPLE, kind="run").read_as(smallest_effect=0.5)
        >>> {line["sesoi"] for line in run.results()["advice"] if line["unit"] == "points"}
        {0.5}
        """
        return Run(self.lab, self.name, (smallest_effect, unit, epsilon, cut))

    @property
    def info(self) -> RunInfo:
        """Its state, counts of calls, and what it was made with."""
        return self.lab.store.run(self.name)

    @property
    def findings(self) -> Findings:
        """The results by topic, ``run.findings["position"]``: frozen objects with every number."""
        store = self.lab.store
        revision = store.revision(self.name)
        if self._known is None or self._known[0] != revision:
            data = store.frame(self.name, probabilities=True).read_as(*self._reading)
            self._known = (revision, Findings(data))
        return self._known[1]

    @property
    def topics(self) -> tuple[str, ...]:
        """What this run has findings on, in the order in which they are shown."""
        return tuple(self.findings)

    def results(self) -> dict[str, Any]:
        """The document that ``results RUN --json`` prints: every finding as plain JSON values.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> first = rl.read(EXAMPLE, kind="run").results()["arms"][0]
        >>> first["judge"], round(first["position"]["v"], 3)
        ('smollm2-135m', 0.518)
        """
        return document(self.findings)

    def estimates(self) -> pd.DataFrame:
        """Every number that has an interval or a test, one a row.

        Columns: ``topic``; whom it is about (``arm``, its code, with ``judge, dataset, strategy,
        variant``); ``measure`` and ``level`` (which of several: a position, a criterion);
        ``value, low, high`` (95 % interval); ``n`` that it rests on; ``p`` and ``p_holm``
        (adjusted for all tests of its family); ``note``. NaN where there is none.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> table = rl.read(EXAMPLE, kind="run").estimates()
        >>> v = table[table["measure"] == "shift.extremes"]
        >>> v[["judge", "value", "low", "high", "n"]].round(2).to_string(index=False).split()[5:10]
        ['smollm2-135m', '1.08', '0.98', '1.19', '24.0']
        """
        return self.findings.estimates()

    def gate(self, **limits: float) -> GateResult:
        """Hold every judge of the run against limits, by interval: passes, fails or cannot tell.

        Raises StudyError for a limit that is none, LabError where none is named.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> run = rl.read(EXAMPLE, kind="run").read_as(unit="item")
        >>> result = run.gate(max_v=0.1, max_shift=0.2)
        >>> result.outcome, [(one.judge, one.condition.key, one.outcome) for one in result.decisions][:2]
        ('fails', [('smollm2-135m', 'max_v', 'fails'), ('smollm2-135m', 'max_shift', 'passes')])
        """
        return self.findings.of(GATE, limits=gate_limits(limits, "gate"))

    def judgments(self) -> pd.DataFrame:
        """Every judgment with what was shown and what the judge wrote, one a row.

        Among the columns: judge, dataset, strategy, variant, item_id, criterion, shown (from the
        first position on), status, score, position (1-based; -1 unread), text.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> table = rl.read(EXAMPLE, kind="run").judgments()
        >>> len(table), table["shown"][1], int(table["score"][1]), int(table["position"][1])
        (960, '[2, 3, 4, 5, 1]', 1, 5)
        """
        return self.lab.store.export_frame(self.name)

    def figures(self, topic: str) -> dict[str, Any]:
        """All figures of a topic, plotly Figures by their captions. Raises LabError for one the run has not.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> run = rl.read(EXAMPLE, kind="run")
        >>> list(run.figures("choice"))
        ['Odds by position', 'Odds by the score read just before']
        """
        return {drawn.caption: drawn.chart.figure for drawn in self._drawn(topic)}

    def figure(self, topic: str, caption: str = "") -> Any:
        """The first figure of a topic, a plotly Figure; or the first whose caption begins so.

        Raises LabError for a topic or caption that the run has not, with those that it has.

        >>> import rubriclab as rl
        >>> from rubriclab.model.places import EXAMPLE
        >>> run = rl.read(EXAMPLE, kind="run")
        >>> run.figure("position", "Scores given").data[0].type
        'bar'
        >>> run.figure("weather")
        Traceback (most recent call last):
        ...
        rubriclab.model.LabError: This run has no figure on “weather”. It has: position, ...
        """
        drawn = self._drawn(topic)
        for shown in drawn:
            if shown.caption.startswith(caption):
                return shown.chart.figure
        captions = ", ".join(f"“{shown.caption}”" for shown in drawn)
        raise LabError(f"No figure on {topic} begins “{caption}”. There are: {captions}.")

    def _drawn(self, topic: str) -> list[Drawn]:
        findings = self.findings
        known = [key for key in findings if key in CHARTS]
        drawn = list(CHARTS[topic](findings[topic], findings)) if topic in known else []
        if not drawn:
            # A topic can have charts in general and none for these judgments: it is not offered.
            known = [key for key in known if any(True for _ in CHARTS[key](findings[key], findings))]
            raise LabError(f"This run has no figure on “{topic}”. It has: {', '.join(known) or 'none'}.")
        return drawn

    def present(self, file: str | Path, *, judge: str | None = None) -> Path:
        """Write the run as a presentation of three steps, one HTML file that needs no network; its path.

        ``judge``: whose answers; without it those of the judge whose lie farthest apart. Raises LabError
        where nothing was read in two orders, and for a file that cannot be written.

        >>> import rubriclab as rl, tempfile
        >>> from rubriclab.model.places import EXAMPLE
        >>> run = rl.read(EXAMPLE, kind="run")
        >>> run.present(Path(tempfile.mkdtemp()) / "talk.html").name
        'talk.html'
        """
        path = Path(file)
        trial = self.info.origin == TRIAL_ORIGIN
        told = story(self.lab.store, self.name, None if trial else self.findings, judge=judge)
        write_file(path, presentation(told).encode())
        return path

    def close(self) -> None:
        """Close the lab that the run is in."""
        self.lab.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.lab.closed:
            return f"<Run {self.name}: its lab is closed>"
        info = self.info
        simulated = ", simulated" if info.simulated else ""
        return (
            f"<Run {self.name} “{info.name}”: {info.done:,} of {many(info.planned, 'call')}, {info.state}{simulated}>"
        )

    def _repr_html_(self) -> str:
        if self.lab.closed:
            return table_html(f"Run {self.name}", [], "Its lab is closed.")
        arms = self.findings.data.arms
        rows = pd.DataFrame(
            [(arm.judge, arm.dataset, arm.strategy, str(arm.variant)) for arm in arms],
            columns=["judge", "dataset", "strategy", "variant"],
        )
        return table_html(repr(self).strip("<>"), rows, f"Findings on: {', '.join(self.topics)}.")


_OPEN: weakref.WeakValueDictionary[Path, Lab] = weakref.WeakValueDictionary()


def opened(path: str | Path | None) -> Lab:
    """The lab of that store, made where there is none; in memory for no path.

    The same file twice in one process is the same lab: cells are run again.
    """
    if path is None or str(path) == MEMORY:
        return Lab(Store(MEMORY))
    place = Path(path).expanduser().absolute()
    known = _OPEN.get(place)
    if known is not None and not known.closed:
        return known
    lab = Lab(Store(path))
    for notice in lab.store.notices:
        say(f"Note: {notice}")
    _OPEN[place] = lab
    return lab
