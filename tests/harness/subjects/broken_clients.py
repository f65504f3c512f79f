"""Reference clients with one defect each, named on command lines as ``python:broken_clients:NAME``."""

import os
import signal
import threading
from pathlib import Path

from harness.client import ClientError
from harness.reference.lm import ReferenceClient


class WrongByte(ReferenceClient):
    """Adds 2 ** 24 to the length field of every request header."""

    name = "wrong byte"

    def encode_request(self, **members):
        header = super().encode_request(**members)["bytes"]
        return {"bytes": header[:7] + bytes([header[7] ^ 1]) + header[8:]}


class HangsOnTags(ReferenceClient):
    """Waits for ever where a key has a tag."""

    def parse_key(self, *, text, **members):
        if "%" in text:
            threading.Event().wait()
        return super().parse_key(text=text, **members)


class DiesOnLayers(ReferenceClient):
    """Ends its process by a signal where a key has layer 31."""

    def parse_key(self, *, text, **members):
        if text.endswith("@31"):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().parse_key(text=text, **members)


class AnswersNonsense(ReferenceClient):
    """Breaks the contract: a key is an object."""

    def parse_key(self, **_):
        return {"key": 7}


class FormatsKeysOnly(ReferenceClient):
    """Declares one operation."""

    def hello(self, **members):
        return {**super().hello(**members), "operations": ["format_key"]}


class OldestOnly(ReferenceClient):
    """Declares one release."""

    def hello(self, **members):
        return {**super().hello(**members), "releases": ["0.3.1"]}


class RefusesHello(ReferenceClient):
    """Cannot be started."""

    def hello(self, **_):
        raise ClientError("refused", "not today")


class StopsAndTells(ReferenceClient):
    """Answers three times, then writes to the pipe named in the environment and answers no more."""

    def __init__(self):
        super().__init__()
        self.answered = 0

    def parse_key(self, **members):
        self.answered += 1
        if self.answered > 3:
            Path(os.environ["STOPPED"]).write_text("stopped")
            threading.Event().wait()
        return super().parse_key(**members)
