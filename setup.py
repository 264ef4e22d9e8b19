"""What pyproject.toml cannot say: app.py, the pages and the data stay at the top of a clone, where
``streamlit run app.py`` wants them; a wheel carries them as ``rubriclab/lab``, laid out the same.
An editable install copies nothing.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FILES = (
    "app.py",
    "pages/*.py",
    "data/*.*",
    "data/rubrics/*",
    "data/presets/*",
    "data/published/*",
    "docs/pipelines.md",
    "docs/papers.bib",
    ".streamlit/config.toml",
)


class BuildWithLab(build_py):
    """Packages as ever, then the lab's own files."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "rubriclab", "lab")
        shutil.rmtree(target, ignore_errors=True)
        for pattern in FILES:
            files = sorted(Path().glob(pattern))
            if not files:
                raise SystemExit(
                    f"{pattern} is missing beside setup.py: the lab would not be whole."
                )
            for path in files:
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / path)


setup(cmdclass={"build_py": BuildWithLab})
