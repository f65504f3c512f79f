"""The reference client with one defect each: those that an earlier state of the matrix let pass."""

import math
import os
import threading

from harness.client import ClientError
from harness.reference.lm import ReferenceClient


class CountsElements(ReferenceClient):
    """Takes a shape for right when it has as many elements."""

    def _check_expected(self, link, about, expect, size):
        same = math.prod(about.shape) == math.prod(expect["shape"])
        described = {**expect, "shape": list(about.shape)} if same else expect
        super()._check_expected(link, about, described, size)


class StoresTwice(ReferenceClient):
    """Sends every PUT again, to be sure."""

    def put(self, **members):
        super().put(**members)
        return super().put(**members)


class SwallowsPutErrors(ReferenceClient):
    """Says that a value is stored when the connection is gone."""

    def put(self, **members):
        try:
            return super().put(**members)
        except ClientError as error:
            if error.kind in {"connection", "timeout"}:
                return {}
            raise


class HealthyByConnecting(ReferenceClient):
    """Takes an open connection for a healthy server and asks nothing."""

    def health(self, *, connection, **_):
        with self._connection(connection).exchange():
            return {"healthy": True}


class HealthyWhateverComes(ReferenceClient):
    """Takes any answer to HEALTH for a good one."""

    def health(self, **members):
        super().health(**members)
        return {"healthy": True}


class CutsKeys(ReferenceClient):
    """Cuts a key that is too long for its field."""

    def _key(self, link, key):
        return super()._key(link, key).encode()[:150].decode(errors="ignore")


class IgnoresTheTimeout(ReferenceClient):
    """Waits for a reply as long as it likes."""

    def get(self, *, connection, **members):
        link = self._connection(connection)
        limit, link._timeout = link._timeout, 8
        try:
            return super().get(connection=connection, **members)
        finally:
            link._timeout = limit


class StoresWithoutATimeout(ReferenceClient):
    """Waits for ever for a server to take the bytes of a PUT."""

    def put(self, *, connection, **members):
        link = self._connection(connection)
        limit, link._timeout = link._timeout, 3600
        try:
            return super().put(connection=connection, **members)
        finally:
            link._timeout = limit


class DropsTheLocation(ReferenceClient):
    """Sends no location with a PUT."""

    def put(self, *, location, **members):
        del location
        return super().put(location=None, **members)


class ReopensWhatWasClosed(ReferenceClient):
    """Goes on with a connection that its owner closed."""

    def close(self, *, connection, **_):
        if connection in self._connections:
            self._connections[connection]._drop()
        return {}


class GivesUpListAtOnce(ReferenceClient):
    """Does not wait for the answer to LIST."""

    def list(self, **_):
        raise ClientError("timeout", "LIST is never answered anyway")


class KeepsDescriptors(ReferenceClient):
    """Forgets to close the second descriptor of each socket."""

    def close(self, *, connection, **members):
        link = self._connections.get(connection)
        if link is not None and link.is_open:
            self.kept = [*getattr(self, "kept", []), os.dup(link._socket.fileno())]
            link._socket.shutdown(2)
        return super().close(connection=connection, **members)


class KeepsWhatBroke(ReferenceClient):
    """Sets sockets aside when they broke, and never closes them."""

    def exist(self, *, connection, **members):
        link = self._connection(connection)
        before = link._socket
        spare = os.dup(before.fileno()) if before is not None else None
        try:
            answer = super().exist(connection=connection, **members)
        except ClientError:
            spare = None
            raise
        finally:
            if spare is not None:
                os.close(spare)
        return answer


class KeepsThreads(ReferenceClient):
    """Starts a thread for each connection, which waits for ever."""

    def connect(self, **members):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        return super().connect(**members)


class KeepsValues(ReferenceClient):
    """Keeps a copy of everything that it loads."""

    def get(self, **members):
        answer = super().get(**members)
        self.kept = [*getattr(self, "kept", []), bytearray(answer["payload"])]
        return answer


class LeavesConnectionsOpen(ReferenceClient):
    """Closes nothing at its end."""

    kept = []  # noqa: RUF012  # so that no garbage collector closes them either

    def bye(self, **_):
        self.kept.append(dict(self._connections))
        return {}
