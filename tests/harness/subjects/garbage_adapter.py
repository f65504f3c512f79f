"""An adapter that answers one operation with a line that is no JSON."""

import sys

from harness.clients.host import Host
from harness.reference.lm import ReferenceClient


class GarbageHost(Host):
    def answer(self, op, args):
        self.op = op
        return super().answer(op, args)

    def _line(self, number, answer):
        return b"Segmentation fault (not really)\n" if self.op == "parse_key" else super()._line(number, answer)


sys.exit(GarbageHost(ReferenceClient()).serve(sys.stdin.buffer, sys.stdout.buffer))
