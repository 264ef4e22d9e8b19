"""``python -m rubriclab``: arguments in, the command line's answer and exit code out."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from rubriclab.cli.main import run_command

    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
