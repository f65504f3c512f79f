"""Reference clients that fail in one operation, named in the environment, or at being started again."""

import os
import signal
import threading
import time
from pathlib import Path

from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient


def _hang(**_):
    threading.Event().wait()


def _die(**_):
    os.kill(os.getpid(), signal.SIGKILL)


class _FailsIn:
    """Does something else instead of the operation in ``FAILS_IN``, or of its nth call and all later ones (``OP:N``)."""

    def __init__(self):
        super().__init__()
        op, _, after = os.environ["FAILS_IN"].partition(":")
        self._after = int(after or 0)
        self._right = getattr(self, op)
        setattr(self, op, self._counted)

    def _counted(self, **members):
        self._after -= 1
        return self._right(**members) if self._after >= 0 else type(self).wrong(**members)


class HangsIn(_FailsIn, ReferenceClient):
    wrong = staticmethod(_hang)


class DiesIn(_FailsIn, ReferenceClient):
    wrong = staticmethod(_die)


class EveryOther(ReferenceClient):
    """Hangs in every second ``parse_key`` of its life and of those before, which a file counts."""

    def parse_key(self, **members):
        file = Path(os.environ["COUNT"])
        count = len(file.read_bytes()) if file.exists() else 0
        file.write_bytes(b"x" * (count + 1))
        if count % 2:
            _hang()
        return super().parse_key(**members)


class StartsSlowly(ReferenceClient):
    """Takes ``SLOWLY`` seconds to start, and dies in every ``parse_key``."""

    def __init__(self):
        time.sleep(float(os.environ["SLOWLY"]))
        super().__init__()

    def parse_key(self, **_):
        os._exit(7)


class LeavesBehind(ReferenceClient):
    """Dies in ``parse_key`` and cannot be started again once the file ``GONE`` is there."""

    def __init__(self):
        if Path(os.environ["GONE"]).exists():
            os._exit(9)
        super().__init__()

    def parse_key(self, **_):
        Path(os.environ["GONE"]).touch()
        os._exit(7)


class Grows(ReferenceClient):
    """Takes all the memory that it can get for every key."""

    def parse_key(self, **_):
        held = []
        while True:
            held.append(b"\1" * (8 << 20))


class _MpFailsIn(_FailsIn, ReferenceMpClient):
    """The same for an operation on the multiprocess server."""


class MpHangsIn(_MpFailsIn):
    wrong = staticmethod(_hang)


class MpDiesIn(_MpFailsIn):
    wrong = staticmethod(_die)


class MpLiesIn(ReferenceMpClient):
    """Does nothing in the operations in ``FAILS_IN``, and answers as if it had."""

    def __init__(self):
        super().__init__()
        for op in os.environ["FAILS_IN"].split():
            setattr(self, op, lambda **_: {})
