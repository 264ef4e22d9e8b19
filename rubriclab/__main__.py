"""Start the command line: ``python -m rubriclab`` and the program ``rubriclab``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from rubriclab.cli.main import run_command

        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:  # before a command began, or a second Ctrl-C
        code = 3
    sys.exit(code)


if __name__ == "__main__":
    main()
