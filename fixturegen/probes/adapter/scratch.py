"""Bytes of the contract: hexadecimal in the line, or a file in the scratch directory."""

import itertools
import os
import re
from pathlib import Path

from outcomes import Refused

HEX_LIMIT = 64 * 1024
NUMBERS = itertools.count(1)

place = {"folder": Path()}


def enter(folder):
    """The directory that ``hello`` named."""
    place["folder"] = Path(folder)


def taken(value):
    """The bytes of a value; a file is deleted."""
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", value["file"]):
        raise Refused(f"{value['file']!r} is no file name")
    path = place["folder"] / value["file"]
    data = path.read_bytes()
    path.unlink()
    return data


def left(data):
    """The value of bytes."""
    if len(data) <= HEX_LIMIT:
        return {"hex": bytes(data).hex()}
    name = f"lmcache-{os.getpid()}-{next(NUMBERS)}"
    (place["folder"] / name).write_bytes(data)
    return {"file": name, "length": len(data)}
