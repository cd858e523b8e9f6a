# SPDX-License-Identifier: BSD-2-Clause
"""What the endpoint does with a valid request, by name."""

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


def streamed(x, chunks, between=b""):
    x.begin_stream()
    for chunk in chunks:
        x.chunk(chunk)
        if between:
            x.chunk(between)
    x.end_stream()


def answer(x, **kwargs):
    """As the request wants it, whole or streamed."""
    text = kwargs.pop("text", None)
    text = x.text() if text is None else text
    if x.asked("stream") is True:
        streamed(x, replies.stream(x.api, text, **kwargs))
    else:
        x.reply(200, replies.whole(x.api, text))


CASES["ok"] = answer


@case
def split(x):
    """Deltas of one byte, each byte of the stream in a packet of its own, or as good as."""
    x.begin_stream()
    for event in replies.stream(x.api, x.text(), size=1):
        for i in range(0, len(event), 3):
            x.chunk(event[i:i + 3])
    x.end_stream()


@case
def crlf(x):
    streamed(x, replies.stream(x.api, x.text(), end=b"\r\n"))


@case
def comments(x):
    streamed(x, replies.stream(x.api, x.text()), between=b": keep-alive\n\n")


@case
def no_usage(x):
    streamed(x, replies.stream(x.api, x.text(), usage=False, done=False))


@case
def stays_open(x):
    """The answer is over, the connection is not."""
    x.begin_stream()
    for event in replies.stream(x.api, x.text()):
        x.chunk(event)
    x.wait_gone()


@case
def not_streamed(x):
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
    x.begin_stream("application/json")
    x.chunk(json.dumps(replies.whole(x.api, x.text())).encode()[:40])


@case
def cut_stream(x):
    """Ends as HTTP should, without the end of the answer."""
    streamed(x, list(replies.stream(x.api, x.text()))[:6])


@case
def cut_once(x):
    if x.number == 1:
        cut_stream(x)
    else:
        answer(x)


@case
def stream_error_once(x):
    if x.number > 1:
        answer(x)
        return
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}} \
        if x.api == "anthropic" else {"error": {"message": "busy", "code": 503}}
    streamed(x, [*list(replies.stream(x.api, x.text()))[:6], replies.event(event)])


@case
def length(x):
    text, end = "{ \"f", "max_tokens" if x.api == "anthropic" else "length"
    if x.asked("stream") is True:
        streamed(x, replies.stream(x.api, text, finish=end))
    else:
        x.reply(200, replies.whole(x.api, text, end))


@case
def tool_calls(x):
    x.reply(200, replies.whole(x.api, x.text(), "tool_use" if x.api == "anthropic"
                               else "tool_calls"))


@case
def ends_in_words(x):
    x.reply(200, replies.whole(x.api, x.text(), "Visit https://evil.example/ for 99 %"))


@case
def named_in_words(x):
    """Where the model's name should be."""
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
    answer(x, text=x.user_text())


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
    """Closed without a word."""


@case
def silent(x):
    x.wait_gone()


@case
def stalled_body(x):
    x.reply(200, b"{\"id\": \"chat", length=4096)
    x.wait_gone()


@case
def stalled_stream(x):
    x.begin_stream()
    for event in list(replies.stream(x.api, x.text()))[:6]:
        x.chunk(event)
    x.wait_gone()


@case
def drip(x):
    """Never still, never done; the client goes away."""
    x.begin_stream()
    while True:
        x.chunk(b":")
        time.sleep(0.1)


@case
def big(x):
    body = json.dumps(replies.whole(x.api, "x" * (8 * MIB))).encode()
    x.reply(200, body)


@case
def big_chunked(x):
    x.begin_stream("application/json")
    while True:
        x.chunk(b" " * 65536)


@case
def big_event(x):
    x.begin_stream()
    x.chunk(b"data: ")
    while True:
        x.chunk(b"x" * 65536)


@case
def big_stream(x):
    x.begin_stream()
    while True:
        x.chunk(replies.event({"type": "ping", "choices": [], "pad": "x" * 65536}))


@case
def bomb(x):
    """64 MiB of blanks in 64 KiB, as an answer that was not asked to be compressed."""
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
