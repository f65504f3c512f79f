"""A client of LMCache's lm:// remote store in plain Python, written to be copied.

lmconform makes an object of the class Client and calls its methods: one for each operation of docs/reference/client-protocol.md.
Arguments are the members of "args" and a result is the members of "ok", with bytes as bytes; `**_` takes arguments that later
versions of the contract may add. Three exceptions are all that is shared with the harness. The wire itself is in lm_wire.py,
sockets are in lm_connection.py.
"""

import math
import os
import struct
from contextlib import suppress

from harness.client import ClientError, MissError, UnsupportedError

import lm_wire as lm
from lm_connection import Connection
from lm_wire import Description, Release, malformed, refused


class Client:
    """One method for each operation. What hello does not declare is reported as unsupported and is not held against a client."""

    def __init__(self):
        self._connections = {}

    def hello(self, *, protocol, **_):
        if protocol != 1:
            raise refused("this client speaks version 1 of the contract")
        operations = [name for name in dir(self) if not name.startswith("_") and name not in ("hello", "state", "bye")]
        return {
            "name": "plain Python example",
            "version": "1.0.0",
            "language": "Python",
            "operations": operations,
            "releases": lm.RELEASES,
            # Methods are then called from several threads; leave it out, and they never are.
            "concurrent": True,
        }

    def state(self, **_):
        counted = {"connections": sum(connection.is_open for connection in list(self._connections.values()))}
        with suppress(OSError):
            counted["file_descriptors"] = len(os.listdir("/proc/self/fd")) - 1
            counted["threads"] = len(os.listdir("/proc/self/task"))
            with open("/proc/self/statm") as memory:
                counted["resident_bytes"] = int(memory.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        return counted

    def bye(self, **_):
        while self._connections:
            self._connections.popitem()[1].close()
        return {}

    # Pure operations. Arguments have the names of the contract, so that `format` and `bytes` are not Python's own in here.

    def encode_request(self, *, release, command, key, length, format, dtype, shape, location, **_):
        lm.number_of(lm.COMMANDS, command, "command")
        release = Release(release)
        about = Description(length, format, dtype, shape, location)
        return {"bytes": lm.encode_request(release, command, lm.format_key(release, key), about)}

    def decode_request(self, *, release, bytes, **_):
        release = Release(release)
        command, key, about = lm.decode_request(release, bytes)
        return {"command": command, "key": lm.parse_key(release, key, layers=release.servers_read_layers), **vars(about)}

    def encode_reply(self, *, release, code, length, format, dtype, shape, location, **_):
        return {"bytes": lm.encode_reply(Release(release), code, Description(length, format, dtype, shape, location))}

    def decode_reply(self, *, release, bytes, **_):
        code, about = lm.decode_reply(Release(release), bytes)
        return {"code": code, **vars(about)}

    def encode_metadata(self, *, release, length, format, groups, **_):
        release = Release(release)
        if len(groups) != 1 and not release.several_groups:
            raise refused(f"{release.name} describes exactly one group")
        numbers = [length, lm.format_number(release, format)]
        for group in groups:
            numbers += [lm.number_of(lm.DTYPES, group["dtype"], "dtype"), *lm.wire_shape(release, group["shape"])]
        return {"bytes": lm.words(*numbers)}

    def decode_metadata(self, *, release, bytes, groups, **_):
        release = Release(release)
        if groups != 1 and not release.several_groups:
            raise refused(f"{release.name} describes exactly one group")
        if len(bytes) < 8 + 20 * groups:
            raise malformed(f"{groups} groups take {8 + 20 * groups} bytes, got {len(bytes)}")
        length, form = struct.unpack_from("<2i", bytes)
        form = lm.format_name(release, form)
        found = [struct.unpack_from("<5i", bytes, 8 + 20 * group) for group in range(groups)]
        described = [{"dtype": lm.dtype_name(dtype), "shape": lm.caller_shape(release, form, shape)} for dtype, *shape in found]
        return {"length": length, "format": form, "groups": described}

    def format_key(self, *, release, key, **_):
        return {"text": lm.format_key(Release(release), key)}

    def parse_key(self, *, release, text, **_):
        return {"key": lm.parse_key(Release(release), text)}

    def chunk_keys(self, *, release, tokens, algorithm, none_hash, chunk_size, save_unfull_chunk, skip, returns=None, **key):
        release = Release(release)
        link = lm.link_function(release, algorithm, none_hash, returns)
        chunks = lm.chunk_keys(release, key, tokens, link, none_hash, chunk_size, save_unfull_chunk, skip)
        return {"chunks": [{"start": start, "end": end, "key": text} for start, end, text in chunks]}

    def pack_layout(self, *, release, format, dtype, paged, paged_shape, slots, **_):
        shape, paged_size, size, places = lm.rows(format, dtype, paged_shape, slots)
        if len(paged) != paged_size:
            raise refused(f"the paged memory has {paged_size} bytes, got {len(paged)}")
        chunk = bytearray(math.prod(shape) * lm.SIZES[dtype])
        for in_paged, in_chunk in places:
            chunk[in_chunk : in_chunk + size] = paged[in_paged : in_paged + size]
        return {"bytes": bytes(chunk), "shape": shape}

    def unpack_layout(self, *, release, format, dtype, bytes, shape, slots, paged_shape, **_):
        expected, paged_size, size, places = lm.rows(format, dtype, paged_shape, slots)
        if shape != expected or len(bytes) != math.prod(shape) * lm.SIZES[dtype]:
            raise refused(f"the chunk has the shape {expected}, got {shape} and {len(bytes)} bytes")
        paged = bytearray(paged_size)
        for in_paged, in_chunk in places:
            paged[in_paged : in_paged + size] = bytes[in_chunk : in_chunk + size]
        return {"paged": memoryview(paged).tobytes()}

    # Connected operations: each sends its own request, once, and nothing else

    def connect(self, *, connection, protocol, host, port, release, timeout_ms, **_):
        if protocol != "lm":
            raise UnsupportedError(f"this client speaks lm, not {protocol}")
        self.close(connection=connection)
        self._connections[connection] = Connection(Release(release), host, port, timeout_ms / 1000)
        return {}

    def put(self, *, connection, key, format, dtype, shape, location, payload, **_):
        server = self._named(connection)
        about = Description(len(payload), format, dtype, shape, location)
        header = lm.encode_request(server.release, "PUT", lm.format_key(server.release, key), about)
        with server.exchange():
            server.send(header, payload)  # and no reply: servers do not acknowledge a PUT
        return {}

    def get(self, *, connection, key, expect, **_):
        server = self._named(connection)
        shape = lm.wire_shape(server.release, expect["shape"])
        wanted = Description(lm.payload_size(expect), expect["format"], expect["dtype"], shape)
        header = lm.encode_request(server.release, "GET", lm.format_key(server.release, key), lm.NOTHING)
        with server.exchange():
            server.send(header)
            success, about = server.reply()
            if success:
                # Servers check nothing. Compare everything before a byte is read or room is made for it.
                got = Description(about.length, about.format, about.dtype, lm.wire_shape(server.release, about.shape))
                if got != wanted:
                    raise refused(f"expected {wanted}, the server has {got}")
                payload = server.receive(about.length)
        if not success:
            raise MissError
        return {"payload": payload, "format": about.format, "dtype": about.dtype, "shape": about.shape}

    def exist(self, *, connection, key, **_):
        server = self._named(connection)
        return {"exists": server.answer("EXIST", lm.format_key(server.release, key))}

    def health(self, *, connection, **_):
        server = self._named(connection)
        return {"healthy": server.answer("HEALTH", lm.any_key(server.release))}

    def list(self, *, connection, **_):
        """Real servers never answer: the wait ends in a timeout, and the socket with it, because an answer might still come."""
        server = self._named(connection)
        with server.exchange():
            server.send(lm.encode_request(server.release, "LIST", lm.any_key(server.release), lm.NOTHING))
            success, about = server.reply()
            if not success or about.length > 16 << 20:
                raise malformed("no list of keys that this client would read")
            try:
                return {"keys": server.receive(about.length).decode().split("\n")}
            except UnicodeDecodeError:
                raise malformed("the list of keys is not UTF-8") from None

    def close(self, *, connection, **_):
        known = self._connections.pop(connection, None)
        if known is not None:
            known.close()
        return {}

    def _named(self, name):
        try:
            return self._connections[name]
        except KeyError:
            raise ClientError("connection", f"there is no connection {name!r}") from None
