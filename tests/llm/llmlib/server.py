# SPDX-License-Identifier: BSD-2-Clause
"""The endpoint: checks every request against the contract, records it, and replies as its case
says. The case is the first part of the path, CASE or CASE~ANYTHING; the latter is counted
separately."""

import json

from . import cases, contract, refusals, replies  # noqa: F401 - refusals are cases too
from .listener import Listener, read_request


class Exchange:
    """One request and the way to reply."""

    def __init__(self, server, connection, request):
        self.server = server
        self.connection = connection
        self.request = request
        self.api, self.body, self.errors = contract.errors_of(request)
        self.name = request.target.split("/")[1]
        self.number = 1  # of the requests of this name
        self.status = 0

    def asked(self, *names):
        value = self.body
        for name in names:
            value = value.get(name, {}) if isinstance(value, dict) else {}
        return value

    def user_text(self):
        return self.body["messages"][-1]["content"]

    def schema(self):
        return contract.asked_schema(self.api, self.body)

    def text(self):
        """The model's text, unless the case has another one."""
        if self.server.text:
            return self.server.text(self)
        return json.dumps(replies.made(self.schema()), ensure_ascii=False)

    def send(self, data):
        self.connection.sendall(data)

    def head(self, status, headers):
        self.status = status
        lines = [f"HTTP/1.1 {status} {cases.REASONS.get(status, 'Other')}",
                 *(f"{k}: {v}" for k, v in headers.items()), "Connection: close", "", ""]
        self.send("\r\n".join(lines).encode("utf-8"))

    def reply(self, status, body, length=None, **headers):
        """A complete one; length: the value of Content-Length."""
        kind = "text/html" if isinstance(body, str) else "application/json"
        raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) \
            else json.dumps(body).encode()
        self.head(status, {"Content-Type": kind,
                           "Content-Length": len(raw) if length is None else length,
                           **{k.replace("_", "-"): v for k, v in headers.items()}})
        self.send(raw)

    def begin_chunks(self):
        self.head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def wait_gone(self):
        """Sends nothing until the client closes, or the server is stopped."""
        while self.connection.recv(4096):
            pass


class Server(Listener):
    def __init__(self, context=None, text=None):
        self.exchanges = []
        self.counts = {}
        self.text = text
        self.elsewhere = None  # the target of redirects
        super().__init__(context)

    def url(self, name, host="127.0.0.1", tail="/v1"):
        return f"{'https' if self.context else 'http'}://{host}:{self.port}/{name}{tail}"

    def of(self, name):
        with self.lock:
            return [x for x in self.exchanges if x.name == name]

    def serve(self, connection, stream):
        request = read_request(stream)
        if request is None:
            return
        x = Exchange(self, connection, request)
        with self.lock:
            self.exchanges.append(x)
            self.counts[x.name] = x.number = self.counts.get(x.name, 0) + 1
        if x.errors:
            x.reply(400, {"error": {"message": f"contract: {x.errors[0]}", "code": None,
                                    "type": "invalid_request_error"}})
            return
        cases.CASES[x.name.split("~")[0]](x)
