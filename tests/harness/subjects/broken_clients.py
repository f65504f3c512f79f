"""Reference clients with one defect each, named on command lines as ``python:broken_clients:NAME``."""

import ctypes
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
            signal.raise_signal(signal.SIGSEGV)  # in this thread, so that no answer overtakes it
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
    """Answers three times, then writes its process id to the pipe named in the environment and answers no more."""

    def __init__(self):
        super().__init__()
        self.answered = 0

    def parse_key(self, **members):
        self.answered += 1
        if self.answered > 3:
            Path(os.environ["STOPPED"]).write_text(str(os.getpid()))
            threading.Event().wait()
        return super().parse_key(**members)


class HoldsTheInterpreter(ReferenceClient):
    """Sleeps in C, without letting other threads run, where a key has layer 31."""

    def parse_key(self, *, text, **members):
        if text.endswith("@31"):
            ctypes.PyDLL(None).sleep(600)
        return super().parse_key(text=text, **members)


class DiesAlways(ReferenceClient):
    """Ends its process whatever key it is to read."""

    def parse_key(self, **_):
        os._exit(7)


class SlowOnFirstRequest(ReferenceClient):
    """Takes its time with the key of the first case, until the file named in the environment is there."""

    def encode_request(self, **members):
        while not Path(os.environ["GO_ON"]).exists():
            threading.Event().wait(0.05)
        return super().encode_request(**members)


class NotesItsProcess(ReferenceClient):
    """Appends the number of its process to the file named in the environment, and fails at nothing."""

    def __init__(self):
        super().__init__()
        with Path(os.environ["STARTS"]).open("a") as starts:
            starts.write(f"{os.getpid()}\n")


class OneAtATime(ReferenceClient):
    """Declares nothing of several requests at once."""

    def hello(self, **members):
        return {**super().hello(**members), "concurrent": False}
