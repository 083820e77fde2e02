"""The console script `tidegate`: the command line, called as a library."""

import sys

from tidegate._tidegate import run_command


def main() -> int:
    """Run the command with the arguments of this process; return its exit code."""
    return run_command(sys.argv)
