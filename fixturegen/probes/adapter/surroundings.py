"""Lets the modules of lmcache's client load where CUDA and the libraries of its other backends are missing.

Nothing of the code under test is replaced. Three packages are entered without running their ``__init__``, which only imports
every other backend; libraries that the pinned environment lacks become modules without content.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

ENTERED = ("lmcache.v1.cache_controller", "lmcache.v1.storage_backend", "lmcache.v1.storage_backend.connector")
MISSING = ("redis", "zmq", "aiofile", "aiofiles", "httpx", "nvtx", "fastapi", "uvicorn")


def surround():
    """Call once, before anything of lmcache's client is imported."""
    sys.meta_path.append(Missing())
    import lmcache.v1  # noqa: F401 # the parents of the packages below

    for name in ENTERED:
        parent, _, leaf = name.rpartition(".")
        package = types.ModuleType(name)
        package.__path__ = [str(Path(folder) / leaf) for folder in sys.modules[parent].__path__]
        sys.modules[name] = package
        setattr(sys.modules[parent], leaf, package)


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: what nobody else finds and is on the list becomes a module whose every name is an empty class."""

    def find_spec(self, name, _path=None, _target=None):
        if name.partition(".")[0] in MISSING:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Nothing(spec.name)

    def exec_module(self, module):
        module.__path__ = []


class Nothing(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
