"""The least that an adapter could do: ``python echo.py SIZE`` answers each line with one of so many bytes.

A request whose line names a file has it read and deleted first, as a client takes a long value.
"""

import sys
from pathlib import Path


def main() -> None:
    """Answer until the end of input."""
    answer = b"x" * (int(sys.argv[1]) - 1) + b"\n"
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        if line.startswith(b"/"):
            path = Path(line.strip().decode())
            path.read_bytes()
            path.unlink()
        answers.write(answer)
        answers.flush()


if __name__ == "__main__":
    main()
