"""Numbers among the options: what reads them strictly, and within bounds."""

from __future__ import annotations

from collections.abc import Callable

import typer

from wire.numerals import NoNumber, read_decimal, read_integer, shown


def whole(least: int, most: int | None = None) -> Callable[[str | int], int]:
    """What reads an integer within bounds, which are allowed."""

    def integer(value: str | int) -> int:
        try:
            number = value if isinstance(value, int) else read_integer(value)
        except NoNumber:
            raise typer.BadParameter(f"{shown(str(value))!r} is no integer; write it in the digits 0 to 9") from None
        if number < least or (most is not None and number > most):
            bounds = f"{least} or more" if most is None else f"from {least} to {most}"
            raise typer.BadParameter(f"{number} is out of bounds; give {bounds}")
        return number

    return integer


def seconds(value: str | float) -> float:
    """Read a time."""
    try:
        return read_decimal(value) if isinstance(value, str) else value
    except NoNumber:
        raise typer.BadParameter(f"{shown(str(value))!r} is no number of seconds; write such as 15 or 0.5") from None


def part(value: str | float) -> float:
    """Read a ratio."""
    try:
        return read_decimal(value) if isinstance(value, str) else value
    except NoNumber:
        raise typer.BadParameter(f"{shown(str(value))!r} is no ratio; write such as 0.8") from None
