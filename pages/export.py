"""Export a report, a judge card, tables, figures, or the data of a run."""

from rubriclab.app import export, frame

frame.show("export", export.page)
