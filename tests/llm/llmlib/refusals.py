# SPDX-License-Identifier: BSD-2-Clause
"""The endpoint's refusals: words and formats of llama.cpp's server, OpenAI and Anthropic."""

import email.utils
import json
import time

from . import replies
from .cases import case, ok


def refuse(x, status, message, kind="invalid_request_error", code=None, param=None, more=None,
           **headers):
    x.reply(status, {**replies.error(x.api, message, kind, code, param), **(more or {})}, **headers)


@case
def malformed(x):
    refuse(x, 400, "\"messages\" is \x1b[2Jrequired\r\nand\u202eso on" + " and on" * 200)


@case
def too_long(x):
    body = replies.error(x.api, "the request exceeds the available context size",
                         "exceed_context_size_error", 400)
    body["error"].update(n_prompt_tokens=9000, n_ctx=4096)
    x.reply(400, body)


@case
def too_long_openai(x):
    refuse(x, 400, "This model's maximum context length is 8192 tokens.", param="messages",
           code="context_length_exceeded")


@case
def too_long_anthropic(x):
    refuse(x, 400, "prompt is too long: 210000 tokens > 200000 maximum")


@case
def no_schema(x):
    if x.schema() is not None:
        refuse(x, 400, "Unable to generate parser for this template: unrecognized type")
    else:
        ok(x)


@case
def no_format(x):
    if x.asked("response_format") or x.asked("output_config"):
        refuse(x, 400, "Unknown name \"response_format\" or output_config")
    else:
        ok(x)


@case
def never_content(x):
    refuse(x, 400, "response_format: no such thing, whatever you do")


@case
def max_tokens(x):
    if x.asked("max_tokens"):
        refuse(x, 400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
               "'max_completion_tokens' instead.", code="unsupported_parameter", param="max_tokens")
    else:
        ok(x)


@case
def s401(x):
    refuse(x, 401, "Invalid API Key", "authentication_error", 401)


@case
def s401_echo(x):
    """The server repeats the key, in its message and in a header."""
    key = x.request.header("authorization") or x.request.header("x-api-key")
    refuse(x, 401, f"Incorrect API key provided: {key}", code="invalid_api_key", X_Key=key)


@case
def s401_escaped(x):
    """The key with JSON escapes: its bytes differ."""
    key = (x.request.header("authorization") or x.request.header("x-api-key")).split()[-1]
    escaped = "".join(f"\\u{ord(c):04x}" for c in key)
    x.reply(401, b'{"error":{"message":"bad key %s","type":"authentication_error","code":null}}' % escaped.encode())


@case
def s200_echo(x):
    key = (x.request.header("authorization") or x.request.header("x-api-key")).split()[-1]
    x.reply(200, replies.whole(x.api, json.dumps({"text": key})))


@case
def s403(x):
    refuse(x, 403, "Country, region, or territory not supported", "permission_error")


@case
def s404(x):
    refuse(x, 404, "The model `m` does not exist", "not_found_error", "model_not_found")


@case
def s404_plain(x):
    x.reply(404, b"404 page not found")


@case
def s413(x):
    refuse(x, 413, "Request exceeds the maximum size", "request_too_large")


@case
def s422(x):
    x.reply(422, {"detail": [{"loc": ["body", "n"], "msg": "extra fields not permitted"}]})


@case
def s429_once(x):
    if x.number == 1:
        refuse(x, 429, "Slow down", "rate_limit_error", "rate_limit_exceeded", Retry_After=1)
    else:
        ok(x)


@case
def s429_date_once(x):
    if x.number == 1:
        refuse(x, 429, "Slow down", "rate_limit_error",
               Retry_After=email.utils.formatdate(time.time() + 2, usegmt=True))
    else:
        ok(x)


@case
def s429_long(x):
    refuse(x, 429, "Slow down", "rate_limit_error", Retry_After=30)


@case
def s429_hour(x):
    refuse(x, 429, "Slow down", "rate_limit_error", Retry_After=3600)


@case
def s429_always(x):
    refuse(x, 429, "Slow down", "rate_limit_error", Retry_After=0)


@case
def quota(x):
    refuse(x, 429, "You exceeded your current quota, please check your plan",
           "insufficient_quota", "insufficient_quota")


@case
def s500_parse(x):
    refuse(x, 500, "The model produced output that does not match the expected peg-native format",
           "server_error", 500)


@case
def s500(x):
    x.reply(500, b"")


@case
def s502(x):
    x.reply(502, "<html><body><h1>502 Bad Gateway</h1></body></html>")


@case
def s503_once(x):
    if x.number == 1:
        refuse(x, 503, "Loading model", "unavailable_error", 503)
    else:
        ok(x)


@case
def s504_always(x):
    x.reply(504, "late", Retry_After=0)


@case
def s529(x):
    refuse(x, 529, "Overloaded", "overloaded_error", Retry_After=0)
