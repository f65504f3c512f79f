"""The real serialization of KV tensor wrappers, built without a device from fixed fields.

A wrapper's own constructor asks a device for a handle; here the object is made bare and given the fields that it would have.
"""

import ast
import importlib
import inspect
import io
import pickle
import pkgutil
import textwrap

import torch
from lmcache.v1.multiprocess import custom_types
from values import WRAPPER_CONFIG, Inapplicable

BASE = getattr(custom_types, "DeviceIPCWrapper", None) or custom_types.CudaIPCWrapper
MOST_VALUES = 10_000
HOMES = ("lmcache.v1.platform",)


def wrappers():
    """Class name to class, of every wrapper that this release can send."""
    for home in HOMES:
        try:
            package = importlib.import_module(home)
        except ImportError:
            continue
        for module in pkgutil.walk_packages(package.__path__, f"{home}."):
            if module.name.rsplit(".", 1)[-1] in ("ipc_wrapper", "ipc", "shm"):
                importlib.import_module(module.name)
    found, left = {}, [BASE]
    while left:
        cls = left.pop(0)
        found[cls.__name__] = cls
        left += cls.__subclasses__()
    if BASE.__name__ == "DeviceIPCWrapper":
        del found["DeviceIPCWrapper"]
    return found


def to_field(name, value, size):
    """A field of the contract as the wrapper holds it; ``size`` is what shapes are held in."""
    if name == "dtype":
        return getattr(torch, value)
    if name == "shape" and size == "torch.Size":
        return torch.Size(value)
    return real(value)


def real(value):
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    if isinstance(value, dict) and set(value) == {"dtype"}:
        return getattr(torch, value["dtype"])
    if isinstance(value, dict):
        return {name: real(member) for name, member in value.items()}
    return tuple(real(member) for member in value) if isinstance(value, list) else value


def to_contract(value, left):
    """The contract's form of a field. ``left`` counts values down: a small pickle can hold one thing a billion times."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError(f"a wrapper holds more than {MOST_VALUES} values")
    if isinstance(value, (bytes, bytearray)):
        return {"hex": bytes(value).hex()}
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [to_contract(member, left) for member in value]
    if isinstance(value, dict):
        return {name: to_contract(member, left) for name, member in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a wrapper holds a {type(value).__name__}")


def mp_encode_registration(args):
    cls = wrappers().get(args["wrapper"])
    if cls is None:
        raise Inapplicable(f"this release has no {args['wrapper']}")
    same = require_order_of_constructor(cls, list(args["fields"]))
    wrapper = object.__new__(cls)
    for name, value in args["fields"].items():
        found = to_field(name, value, args.get("size"))
        if name in same and getattr(wrapper, same[name]) == found:
            found = getattr(wrapper, same[name])  # one object, as in the constructor: a pickle writes it once
        setattr(wrapper, name, found)
    return {"bytes": {"hex": WRAPPER_CONFIG.serializer(wrapper).hex()}}


def require_order_of_constructor(cls, names):
    """A pickle writes fields in the order in which they were set, so that the question must have the constructor's order.

    Returns the fields that the constructor sets to another one: field to the other.
    """
    constructor = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__))).body[0]
    found, same = [], {}
    for node in ast.walk(constructor):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        own = [target for target in targets if is_own(target)]
        found += [(target.lineno, target.attr) for target in own]
        if own and is_own(node.value):
            same |= {target.attr: node.value.attr for target in own}
    set_there = list(dict.fromkeys(name for _, name in sorted(found)))
    if set_there != names:
        raise AssertionError(f"the constructor of {cls.__name__} sets {set_there}, the question has {names}")
    return same


def is_own(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def mp_decode_registration(args):
    """The fields of a wrapper; ``globals``, if given, are all that a pickle may refer to, and it is read so before."""
    wrappers()
    blob = bytes.fromhex(args["bytes"]["hex"])
    if args.get("globals"):
        Restricted(io.BytesIO(blob), {tuple(name) for name in args["globals"]}).load()
    return {"fields": described(WRAPPER_CONFIG.deserializer(blob))}


class Restricted(pickle.Unpickler):
    """Finds some names, and no others."""

    def __init__(self, file, allowed):
        super().__init__(file)
        self.allowed = allowed

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not to be found")
        return super().find_class(module, name)


def described(wrapper):
    """The class, and the fields that a wrapper was given: what belongs to this process alone is left out."""
    if not isinstance(wrapper, BASE):
        raise TypeError(f"the bytes hold a {type(wrapper).__name__}, not a {BASE.__name__}")
    local = ("_opened_handle", "_opens", "_lock")
    left = [MOST_VALUES]
    fields = {name: to_contract(value, left) for name, value in sorted(vars(wrapper).items()) if name not in local}
    return {"wrapper": type(wrapper).__name__, **fields}


SOURCE = f"{BASE.__module__}.{BASE.__name__}"
OPERATIONS = {
    "mp_encode_registration": (f"{SOURCE}.Serialize", mp_encode_registration),
    "mp_decode_registration": (f"{SOURCE}.Deserialize", mp_decode_registration),
}
