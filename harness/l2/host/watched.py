"""Lets the harness see the file-system calls of this process before they happen."""

from __future__ import annotations

import ctypes
import os
import socket

PLACE = "LMCONFORM_WATCH"
"""The environment variable that holds the number of a socket and the filter in hexadecimal digits."""
_STEP_SIZE = 8
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_NEW_LISTENER = 8
_SECCOMP = {"x86_64": 317, "aarch64": 277}


class _Program(ctypes.Structure):
    _fields_ = (("steps", ctypes.c_ushort), ("code", ctypes.c_void_p))


def install_if_asked() -> None:
    """Do what the environment asks for, if anything; the descriptor of the notifications goes over the socket.

    From then on the kernel holds the chosen calls of every thread until the harness says what becomes of them.
    """
    asked = os.environ.pop(PLACE, None)
    if asked is None:
        return
    number, _, program = asked.partition(" ")
    with socket.socket(fileno=int(number)) as channel:
        try:
            listener = _install(bytes.fromhex(program))
        except OSError as error:
            channel.send(f"no {error.strerror}".encode())
            return
        socket.send_fds(channel, [f"ok {os.getpid()}".encode()], [listener])
        os.close(listener)


def _install(program: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = _Program(len(program) // _STEP_SIZE, ctypes.addressof(code))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _failed("prctl")
    listener = int(libc.syscall(_SECCOMP[os.uname().machine], _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(filter_)))
    if listener < 0:
        raise _failed("seccomp")
    return listener


def _failed(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
