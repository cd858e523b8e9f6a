# SPDX-License-Identifier: BSD-2-Clause
"""The endpoint's reactions to a valid request, by name."""

import gzip
import json
import time

from . import replies

REASONS = {200: "OK", 301: "Moved Permanently", 307: "Temporary Redirect", 400: "Bad Request",
           401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 413: "Content Too Large",
           422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable", 529: "Overloaded"}
MIB = 1 << 20
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def ok(x):
    x.reply(200, replies.whole(x.api, x.text()))


@case
def parts(x):
    body = replies.whole(x.api, "")
    if x.api == "openai":
        body["choices"][0]["message"].update(
            reasoning_content="I think {", content=[{"type": "text", "text": "{\"text\":"},
                                                    {"type": "text", "text": "\"a\"}"}])
    else:
        body["content"] = [{"type": "thinking", "thinking": "I think {", "signature": "s"},
                           {"type": "text", "text": "{\"text\":\"a\"}"}]
    x.reply(200, body)


@case
def cut_length(x):
    body = json.dumps(replies.whole(x.api, x.text())).encode()
    x.reply(200, body[:len(body) // 2], length=len(body))


@case
def cut_chunked(x):
    x.begin_chunks()
    x.chunk(json.dumps(replies.whole(x.api, x.text())).encode()[:40])


@case
def cut_once(x):
    if x.number == 1:
        cut_chunked(x)
    else:
        ok(x)


@case
def error_once(x):
    """In the body, with status 200."""
    if x.number > 1:
        ok(x)
    else:
        x.reply(200, {"error": {"message": "busy", "code": 503}})


@case
def length(x):
    x.reply(200, replies.whole(x.api, "{ \"f", "max_tokens" if x.api == "anthropic" else "length"))


@case
def tool_calls(x):
    x.reply(200, replies.whole(x.api, x.text(), "tool_use" if x.api == "anthropic"
                               else "tool_calls"))


@case
def ends_in_words(x):
    x.reply(200, replies.whole(x.api, x.text(), "Visit https://evil.example/ for 99 %"))


@case
def named_in_words(x):
    """In the place of the model's name."""
    body = replies.whole(x.api, x.text())
    body["model"] = "m. Visit https://evil.example/ for 99 %"
    x.reply(200, body)


@case
def filtered(x):
    x.reply(200, replies.whole(x.api, "", "refusal" if x.api == "anthropic"
                               else "content_filter"))


@case
def refusal(x):
    x.reply(200, replies.whole(x.api, "", refusal="I will not speak of caches.\x1b[31m"))


@case
def empty(x):
    x.reply(200, replies.whole(x.api, " \n"))


@case
def echo(x):
    x.reply(200, replies.whole(x.api, x.user_text()))


@case
def few_tokens(x):
    x.reply(200, replies.whole(x.api, x.text(), usage=(512, 10)))


@case
def garbage(x):
    x.reply(200, b"{\"choices\": [}" + bytes(range(256)))


@case
def page(x):
    x.reply(200, "<html><script>alert(1)</script><h1>It works!</h1></html>")


@case
def not_http(x):
    x.send(b"SSH-2.0-OpenSSH_9.2p1\r\n" * 50)


@case
def nothing(x):
    """Closed without a reply."""


@case
def silent(x):
    x.wait_gone()


@case
def stalled_body(x):
    x.reply(200, b"{\"id\": \"chat", length=4096)
    x.wait_gone()


@case
def drip(x):
    """Sends slowly and endlessly; the client gives up."""
    x.begin_chunks()
    while True:
        x.chunk(b" ")
        time.sleep(0.1)


@case
def big(x):
    body = json.dumps(replies.whole(x.api, "x" * (8 * MIB))).encode()
    x.reply(200, body)


@case
def big_chunked(x):
    x.begin_chunks()
    while True:
        x.chunk(b" " * 65536)


@case
def bomb(x):
    """64 MiB of blanks in 64 KiB, although no compression was requested."""
    body = gzip.compress(b" " * (64 * MIB), 9)
    x.reply(200, body, Content_Encoding="gzip")


@case
def header_flood(x):
    x.send(b"HTTP/1.1 200 OK\r\n")
    for i in range(1 << 20):
        x.send(b"X-%d: %s\r\n" % (i, b"y" * 1000))


@case
def header_line(x):
    x.send(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(1 << 20):
        x.send(b"y" * 1000)


@case
def redirect(x):
    x.reply(307, "moved", Location=x.server.elsewhere)


@case
def redirect_odd(x):
    x.reply(301, "moved", Location="file:///etc/passwd")
