# SPDX-License-Identifier: BSD-2-Clause
"""Bodies as servers of both APIs make them: whole answers, streams, errors."""

import json

MODEL = "replayed-1"
IN, OUT = 123, 45


def made(schema):
    """A value that a schema allows: what a server that is told one holds its model to."""
    if schema is None:
        return {"text": "no schema was asked for"}
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return made(schema["anyOf"][0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: made(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [made(schema["items"])] * schema.get("minItems", 0)
    return {"string": "so it is, äöü € 💾", "integer": 1, "number": 1, "boolean": True,
            "null": None}[kind]


def whole(api, text, end=None, refusal=None, usage=(IN, OUT)):
    if api == "anthropic":
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
                "content": [{"type": "text", "text": text}] if text else [],
                "stop_reason": end or "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": usage[0], "output_tokens": usage[1]}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text,
                                                 "refusal": refusal},
                         "logprobs": None, "finish_reason": end or "stop"}],
            "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1],
                      "total_tokens": sum(usage)}}


def event(data, name=None, end=b"\n"):
    """data: bytes, or a value."""
    if not isinstance(data, bytes):
        data = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogateescape")
    head = b"event: " + name.encode() + end if name else b""
    return head + b"data: " + data + end + end


def pieces_of(text, size):
    """Bytes of the text in pieces that may end within a character; as text that json.dumps and
    event() give back byte for byte."""
    raw = text.encode()
    return [raw[i:i + size].decode("utf-8", "surrogateescape") for i in range(0, len(raw), size)]


def openai_stream(text, size, finish="stop", usage=True, done=True, end=b"\n"):
    def chunk(delta, finish=None):
        return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                      "model": MODEL, "choices": [{"index": 0, "delta": delta,
                                                   "finish_reason": finish}],
                      "usage": None}, end=end)

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces_of(text, size):
        yield chunk({"content": piece})
    if finish:
        yield chunk({}, finish)
    if usage:
        yield event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                     "model": MODEL, "choices": [],
                     "usage": {"prompt_tokens": IN, "completion_tokens": OUT}}, end=end)
    if done:
        yield event(b"[DONE]", end=end)


def anthropic_stream(text, size, finish="end_turn", usage=True, done=True, end=b"\n"):
    def named(data):
        return event(data, data["type"], end)

    yield named({"type": "message_start",
                 "message": {**whole("anthropic", ""), "stop_reason": None,
                             "usage": {"input_tokens": IN, "output_tokens": 1}}})
    yield named({"type": "content_block_start", "index": 0,
                 "content_block": {"type": "text", "text": ""}})
    yield named({"type": "ping"})
    for piece in pieces_of(text, size):
        yield named({"type": "content_block_delta", "index": 0,
                     "delta": {"type": "text_delta", "text": piece}})
    yield named({"type": "content_block_stop", "index": 0})
    if finish:
        yield named({"type": "message_delta", "delta": {"stop_reason": finish,
                                                        "stop_sequence": None},
                     "usage": {"output_tokens": OUT} if usage else {}})
    if done:
        yield named({"type": "message_stop"})


def stream(api, text, size=7, **kwargs):
    return (anthropic_stream if api == "anthropic" else openai_stream)(text, size, **kwargs)


def error(api, message, kind, code=None, param=None, **more):
    inner = {"message": message, "type": kind, **more}
    if api == "anthropic":
        return {"type": "error", "error": inner, "request_id": "req_1"}
    return {"error": {**inner, "param": param, "code": code}}
