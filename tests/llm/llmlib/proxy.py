# SPDX-License-Identifier: BSD-2-Clause
"""An HTTP proxy that leads to one place only, whatever name is requested, and records what it
saw."""

import socket
import threading

from .listener import Listener, close, read_request


def pump(source, sink):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
    except OSError:
        pass
    close(sink)


class Proxy(Listener):
    def __init__(self, port):
        self.to = port
        self.requests = []
        super().__init__()

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def serve(self, connection, stream):
        request = read_request(stream)
        if request is None:
            return
        with self.lock:
            self.requests.append(request)
        onward = socket.create_connection(("127.0.0.1", self.to))
        if request.method == "CONNECT":
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + request.target.split("/", 3)[3]
            head = [f"{request.method} {path} HTTP/1.1",
                    *(f"{k}: {v}" for k, v in request.headers), "", ""]
            onward.sendall("\r\n".join(head).encode() + request.body)
        back = threading.Thread(target=pump, args=(onward, connection), daemon=True)
        back.start()
        if request.method == "CONNECT":
            pump(connection, onward)
        back.join()
        close(onward)
