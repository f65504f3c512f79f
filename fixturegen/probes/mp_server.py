"""Starts the multiprocess server of a release that asks for CUDA at its start: ``mp_server.py MODULE ARGUMENT...``.

These releases import cupy and their CUDA operations, and call ``torch.cuda`` before they serve, although nothing of the control
plane uses a device. Here those modules are empty and those calls do nothing; everything else is the release as it is.
"""

import importlib.machinery
import runpy
import sys
import types

import torch

EMPTY = ("cupy", "cupy.cuda", "lmcache.c_ops")
"""Modules that do not load without CUDA. Of cupy, two classes stand in type annotations."""


class NoRuntime:
    """What ``torch.cuda.cudart()`` gives: memory that is to be pinned stays as it is."""

    @staticmethod
    def cudaHostRegister(*_arguments: object) -> int:  # noqa: N802  # the name of CUDA
        """Success."""
        return 0

    cudaHostUnregister = cudaHostRegister  # noqa: N815


def nothing(*_arguments: object, **_named: object) -> None:
    """What a call does that only matters with a device."""


for name in EMPTY:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules[name] = module
sys.modules["cupy"].cuda = sys.modules["cupy.cuda"]
sys.modules["cupy.cuda"].Stream = sys.modules["cupy.cuda"].ExternalStream = object
for name in ("init", "synchronize", "empty_cache"):
    setattr(torch.cuda, name, nothing)
torch.cuda.cudart = NoRuntime

sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
