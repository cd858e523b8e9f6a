# SPDX-License-Identifier: BSD-2-Clause
"""A local port with a thread per connection; and HTTP requests read from one."""

import contextlib
import socket
import ssl
import threading

HEAD_MAX = 1 << 20


class Request:
    """As received: headers keep their order, their names are in lower case."""

    def __init__(self, method, target, headers, body):
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body

    def header(self, name):
        """None: no such header. Duplicates are joined, so that they are noticed: none may occur."""
        found = [value for key, value in self.headers if key == name]
        return ", ".join(found) if found else None

    def everything(self):
        head = "\n".join(f"{k}: {v}" for k, v in self.headers)
        return f"{self.method} {self.target}\n{head}\n\n".encode() + self.body


def read_request(stream):
    """None at the end of the connection."""
    line = stream.readline(HEAD_MAX)
    if not line:
        return None
    method, target, _ = line.decode("ascii").split(" ", 2)
    headers = []
    while True:
        line = stream.readline(HEAD_MAX).decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, value = line.split(":", 1)
        headers.append((name.lower(), value.strip()))
    request = Request(method, target, headers, b"")
    request.body = stream.read(int(request.header("content-length") or 0))
    return request


class Listener:
    """Subclasses define serve(connection, stream). stop() ends it with all its connections."""

    def __init__(self, context=None, address="127.0.0.1"):
        self.context = context
        self.socket = socket.create_server((address, 0), backlog=32)
        self.port = self.socket.getsockname()[1]
        self.lock = threading.Lock()
        self.open = set()
        self.connections = 0
        self.handshakes_failed = 0
        self.troubles = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            with self.lock:
                self.handshakes_failed += 1
            connection.close()
            return
        with self.lock:
            self.open.add(connection)
        try:
            with connection.makefile("rb") as stream:
                self.serve(connection, stream)
        except (OSError, ssl.SSLError):
            pass  # the client closed, as intended by some cases
        except Exception as e:  # an error on this side is reported to the caller
            self.troubles.append(f"{type(e).__name__}: {e}")
        with self.lock:
            self.open.discard(connection)
        close(connection)

    def stop(self):
        # Wakes accept(); close() alone does not.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        with self.lock:
            for connection in self.open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def close(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
