"""A conversation between lmcache's own client and server, recorded where it passes, and told by the dissector of Wireshark."""

import contextlib
import selectors
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from fixturegen.venv import VenvEnvironment
from harness.clients.spec import open_client
from reports.pcap import Event, segments, write_pcap

sys.path.append(str(Path(__file__).parents[1] / "machine"))
from sharks import PORT, rows, run

pytestmark = pytest.mark.live
PATIENCE = 30
SHAPE = [2, 2, 4, 8]
PAYLOAD = bytes(range(256))


@contextlib.contextmanager
def recorded(host, port):
    """An address that leads to a server, and the events of the one connection that passes there."""
    events, began = [], time.monotonic()

    def pass_on():
        inner, _ = listener.accept()
        outer = socket.create_connection((host, port), timeout=PATIENCE)
        with inner, outer, selectors.DefaultSelector() as ready:
            events.append(Event(time.monotonic() - began, 0, "client", "open"))
            ready.register(inner, selectors.EVENT_READ, ("client", outer))
            ready.register(outer, selectors.EVENT_READ, ("server", inner))
            while ready.get_map():
                for key, _ in ready.select(PATIENCE):
                    sender, other = key.data
                    data = key.fileobj.recv(65536)
                    events.append(Event(time.monotonic() - began, 0, sender, "data" if data else "half-close", data))
                    if data:
                        other.sendall(data)
                    else:
                        other.shutdown(socket.SHUT_WR)
                        ready.unregister(key.fileobj)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=pass_on, daemon=True)
        thread.start()
        yield listener.getsockname(), events
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_the_real_client_and_server_say_is_decoded(pinned_release, tshark, tmp_path):
    key = {
        "model": "meta-llama/Llama-3.1-8B",
        "world_size": 1,
        "worker_id": 0,
        "chunk_hash": {"int": str(0x1A2B3C4D5E6F7081)},
        "dtype": "bfloat16",
        "fmt": None,
        "layer": None,
        "tags": [],
    }
    about = {"format": "KV_2LTD", "dtype": "float16", "shape": SHAPE}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(VenvEnvironment().server(pinned_release))
        client = open_client(f"lmcache:{pinned_release}")
        (host, port), events = stack.enter_context(recorded(server.host, server.port))
        stack.callback(client.stop)

        def call(op, **args):
            return client.call(op, {"connection": "a", **args}, deadline=PATIENCE)

        call("connect", protocol="lm", host=host, port=port, release=str(pinned_release), timeout_ms=5000)
        call("exist", key=key)
        call("put", key=key, location=None, payload=PAYLOAD, **about)
        call("get", key=key, expect=about)
        call("close")
    with (tmp_path / "real.pcap").open("wb") as file:
        write_pcap(file, segments(events), port=PORT)
    packets = rows(tshark, tmp_path / "real.pcap")
    # What comes in one packet is a matter of the moment: the GET may leave with the payload of the PUT before it.
    said = [(row.sender, command) for row in packets for command in row["command"]]
    assert said == [("client", "3"), ("server", "3"), ("client", "1"), ("client", "2"), ("server", "2")]
    assert _all(packets, "reply.code") == ["400", "200"]
    assert set(_all(packets, "key")) == {"meta-llama/Llama-3.1-8B@1@0@1a2b3c4d5e6f7081@bfloat16"}
    assert _all(packets, "payload") == [PAYLOAD.hex()] * 2
    assert _all(packets, "shape")[2] == f"[{', '.join(map(str, SHAPE))}]"
    assert len(set(_all(packets, "tcp.stream"))) == 1
    assert not run(tshark, tmp_path / "real.pcap", "-Y", "lmcache && _ws.expert.severity >= 6291456")


def _all(packets, name):
    return [value for row in packets for value in row[name]]
