"""``python -m rubriclab``: arguments in, the command line's answer and exit code out."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from rubriclab.cli.main import run_command

        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:  # before a command began, or for the second time
        code = 3
    sys.exit(code)


if __name__ == "__main__":
    main()
