"""What ``results --against`` means: another run or another condition of the run in, rows of differences out."""

from __future__ import annotations

from rubriclab.core.operations import contrast
from rubriclab.core.topic import Row
from rubriclab.model.text import LabError
from rubriclab.notebook import Run


def contrast_rows(run: Run, against: str) -> list[Row]:
    """Rows A - B where A is the run and B is ``against``: a condition's number, else a run of the same store.

    Each names the other condition in ``of["against"]``. Raises LabError where there is no such run or condition.
    """
    if against.isdigit() and int(against) < len(run.table.conditions):
        other = int(against)
        rows = run.findings.rows
        return [
            row
            for code in range(len(run.table.conditions))
            if code != other
            for row in contrast([r for r in rows if r.condition == code], [r for r in rows if r.condition == other])
        ]
    if run.store is None:
        raise LabError(
            f"--against {against}: a file can only be held against its own conditions; import both as runs first."
        )
    info = run.store.run(against)
    other_run = Run(run.store.table(info.id), run.reading, store=run.store, id=info.id)
    return contrast(run.findings.rows, other_run.findings.rows, info.name)
