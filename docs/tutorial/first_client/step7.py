import json
import socket
import struct
import sys
from pathlib import Path

RELEASE = "0.5.6"
COMMANDS = {"PUT": 1, "GET": 2, "EXIST": 3, "LIST": 4, "HEALTH": 5}
FORMATS = "UNDEFINED KV_2LTD KV_T2D KV_2TD BINARY BINARY_BUFFER KV_MLA_FMT EC_TD HS_TD".split()
DTYPES = {None: 0, "float16": 2, "bfloat16": 3, "float32": 4, "float64": 5, "uint8": 6, "float8_e4m3fn": 7, "float8_e5m2": 8}
LOCATIONS = [None, "LocalCPUBackend", "LocalDiskBackend"]
NAMES_IN_KEYS = {"float16": "half", "float32": "float", "float64": "double"}
NAMES_IN_KEYS |= {f"float8_{kind}": f"fp8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")}


CONNECTIONS = {}


class Refused(Exception):
    pass


def key_text(key):
    ((kind, digits),) = key["chunk_hash"].items()
    parts = [key["model"], key["world_size"], key["worker_id"]]
    parts += [f"{int(digits):x}" if kind == "int" else digits, NAMES_IN_KEYS.get(key["dtype"], key["dtype"])]
    parts += [] if key["layer"] is None else [key["layer"]]
    return "@".join([*map(str, parts), *(f"{name}%{value}" for name, value in key["tags"])])


def request(command, key, length=0, format="KV_2LTD", dtype="float16", shape=(0, 0, 0, 0), location=None):
    text = key_text(key).encode()
    if len(text) > 150 or len(shape) > 4:
        raise Refused("a key has at most 150 bytes, a shape at most 4 dimensions")
    try:
        numbers = [COMMANDS[command], length, FORMATS.index(format), DTYPES[dtype], LOCATIONS.index(location), *shape]
        return struct.pack("<9i", *numbers, *[0] * (4 - len(shape))) + text.ljust(150)
    except (KeyError, ValueError, struct.error) as error:
        raise Refused(f"lmcache {RELEASE} has no number for this: {error}") from error


def hello(scratch, **_):
    global SCRATCH
    SCRATCH = Path(scratch)
    operations = ["encode_request", "connect", "put", "exist", "close"]
    return {"name": "first", "version": "1", "language": "Python", "operations": operations, "releases": [RELEASE]}


def state(**_):
    return {"connections": len(CONNECTIONS)}


def bye(**_):
    return {}


def encode_request(command, key, length, format, dtype, shape, location, **_):
    return {"bytes": {"hex": request(command, key, length, format, dtype, shape, location).hex()}}


def connect(connection, host, port, timeout_ms, **_):
    CONNECTIONS[connection] = socket.create_connection((host, port), timeout_ms / 1000)
    return {}


def put(connection, key, format, dtype, shape, location, payload, **_):
    content = content_of(payload)
    exchange(connection, request("PUT", key, len(content), format, dtype, shape, location) + content, reply=0)
    return {}


def exist(connection, key, **_):
    code, *_ = struct.unpack("<9i", exchange(connection, request("EXIST", key), reply=36))
    return {"exists": code == 200}


def close(connection, **_):
    if connection in CONNECTIONS:
        CONNECTIONS.pop(connection).close()
    return {}


def content_of(value):
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    content = (SCRATCH / value["file"]).read_bytes()
    (SCRATCH / value["file"]).unlink()
    return content


def exchange(connection, message, reply):
    if connection not in CONNECTIONS:
        raise ConnectionError(f"{connection} is not connected")
    try:
        CONNECTIONS[connection].sendall(message)
        return receive(CONNECTIONS[connection], reply)
    except OSError:
        close(connection)
        raise


def receive(sock, size):
    received = b""
    while len(received) < size:
        piece = sock.recv(size - len(received))
        if not piece:
            raise ConnectionError("the server closed the connection")
        received += piece
    return received


OPERATIONS = {"hello": hello, "state": state, "bye": bye, "encode_request": encode_request}
OPERATIONS |= {"connect": connect, "put": put, "exist": exist, "close": close}


def answer(op, args):
    if op not in OPERATIONS or args.get("release", RELEASE) != RELEASE:
        return {"unsupported": {"reason": f"there is no {op} yet, or not for this release"}}
    try:
        return {"ok": OPERATIONS[op](**args)}
    except Refused as error:
        return failed("refused", error)
    except TimeoutError as error:
        return failed("timeout", error)
    except OSError as error:
        return failed("connection", error)
    except Exception as error:
        return failed("internal", error)


def failed(kind, error):
    return {"error": {"class": kind, "message": f"{error!r}"}}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], **answer(asked["op"], asked["args"])}), flush=True)
    if asked["op"] == "bye":
        break
