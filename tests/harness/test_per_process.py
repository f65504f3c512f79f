"""Values that each process draws for itself."""

import gc
import itertools
import os
import weakref

from harness.per_process import PerProcess


def test_a_process_that_was_forked_draws_anew():
    numbers = itertools.count()
    drawn = PerProcess(lambda: (next(numbers), os.getpid()))
    assert drawn.value == (0, os.getpid())
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, repr(drawn.value == (1, os.getpid())).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b"True"
    os.waitpid(child, 0)
    assert drawn.value == (0, os.getpid())


def test_an_object_that_nobody_holds_is_let_go():
    drawn = PerProcess(lambda: 1)
    held = weakref.ref(drawn)
    del drawn
    gc.collect()
    assert held() is None
