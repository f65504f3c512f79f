"""Opens a connector the way the release does: by its own loader, inside its own ``RemoteBackend``.

``form`` says how the config names it: ``plugin`` (the class in ``remote_storage_plugins``), ``adapter`` (a ``ConnectorAdapter``
there, and a URL for it), ``external`` (an ``external://`` URL), ``builtin`` (a plugin that lmcache has an adapter for), ``url``.
"""

import asyncio
import importlib

import engine
from lmcache.v1.storage_backend import connector as loader

PREFIX = "remote_storage_plugin"
CHUNK = 16
"""Tokens of a full chunk."""


class Missing(Exception):
    """There is no such module or class."""


def require_class(request):
    """Find out what the loader would only log."""
    if request["form"] in {"plugin", "adapter", "external"}:
        try:
            getattr(importlib.import_module(request["module"]), request["class"])
        except Exception as error:
            raise Missing(f"{request['module']}:{request['class']} cannot be imported") from error


class Opened:
    """A connector with everything around it. ``plain`` is the author's object, ``wrapped`` what lmcache calls."""

    def __init__(self, request):
        require_class(request)
        self.loop = engine.Loop()
        name, form = request["name"], request["form"]
        self.config = engine.make_config({"chunk_size": CHUNK, "remote_serde": "naive", **settings(request)})
        self.metadata = engine.make_metadata(request["layout"], CHUNK)
        self.local, self.watch = engine.make_local_backend(self.config, self.metadata, request["pool"])
        self.backend = engine.make_remote_backend(
            self.config, self.metadata, self.loop.loop, self.local, name if form in {"plugin", "builtin"} else None
        )
        if self.backend.connection is None:
            self._say_why(name, form)
        self.wrapped = self.backend.connection
        self.plain = self.wrapped.getWrappedConnector()

    def _say_why(self, name, form):
        """``RemoteBackend`` logs what went wrong and goes on without; the loader alone raises it."""
        url = f"plugin://{name}" if form in {"plugin", "builtin"} else self.config.remote_url
        given = [url, self.loop.loop, self.local, self.config]
        found = loader.CreateConnector.__code__.co_varnames[: loader.CreateConnector.__code__.co_argcount]
        more = {"metadata": self.metadata, "plugin_name": name if form in {"plugin", "builtin"} else None}
        loader.CreateConnector(*given, **{key: value for key, value in more.items() if key in found})
        raise ConnectionError("RemoteBackend has no connection, but the loader makes one when asked again")

    def tasks(self):
        """Tasks of the connector on the loop, by name of their coroutine."""
        pending = [task for task in asyncio.all_tasks(self.loop.loop) if not task.done()]
        names = [getattr(task.get_coro(), "__qualname__", "?") for task in pending]
        return sorted(name for name in names if not name.startswith("Loop._beat"))


def settings(request):
    """What stands in the config."""
    name, form = request["name"], request["form"]
    extra = {f"{PREFIX}.{name}.{key}": value for key, value in request["params"].items()}
    extra.update(request["extra_config"])
    found = dict(request["config"])
    if form in {"plugin", "adapter"}:
        extra[f"{PREFIX}.{name}.module_path"] = request["module"]
        extra[f"{PREFIX}.{name}.class_name"] = request["class"]
    if form in {"plugin", "adapter", "builtin"}:
        found["remote_storage_plugins"] = [name]
    if form == "external":
        found["remote_url"] = f"external://lmconform:0/{request['module']}/?connector_name={request['class']}"
    elif form in {"url", "adapter"}:
        found["remote_url"] = request["url"]
    else:
        found["remote_url"] = None
    return {**found, "extra_config": extra}
