"""Makes an L2 adapter as the multiprocess server does: by the configuration and the factory of the release.

Imports the real lmcache and nothing of ours but what lies in this folder.
"""

import functools
import sys

from lmcache.v1.distributed.l2_adapters import L2AdapterInterface, config, create_l2_adapter, factory

__all__ = ["L2AdapterInterface", "builtin", "plugin"]

PLUGIN = "plugin"


def builtin(name, memory):
    """What makes an adapter that lmcache ships, such as ``fs``, from the parameters of its JSON."""
    load(name)
    if name not in known():
        raise LookupError(f"this release has no adapter {name!r}; it has {', '.join(sorted(known()))}")
    return functools.partial(make, name, memory)


def plugin(module, name, memory):
    """What makes a class of somebody else, by the adapter type ``plugin``: it chooses the configuration class, too."""
    load(PLUGIN)

    def made(**params):
        return make(PLUGIN, memory, module_path=module, class_name=name, adapter_params=params)

    made.__version__ = getattr(sys.modules.get(module), "__version__", None)
    return made


def make(kind, memory, **members):
    chosen = config._L2_ADAPTER_CONFIG_REGISTRY[kind]
    adapter = create_l2_adapter(chosen.from_dict({"type": kind, **members}), memory.describe())
    if hasattr(adapter, "set_backend_identity"):
        adapter.set_backend_identity(kind, shared=False)
    return adapter


def load(name):
    """Import the module of an adapter; up to 0.4.3 all of them are there from the start."""
    if hasattr(factory, "ensure_adapter_loaded"):
        factory.ensure_adapter_loaded(name)


def known():
    if hasattr(factory, "load_all_adapters"):
        factory.load_all_adapters()
    return set(config.get_registered_l2_adapter_types())
