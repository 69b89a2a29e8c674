"""The program `copyfit`."""

import sys

from copyfit.cli.app import run


def main() -> None:
    """Run the program with its arguments and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
