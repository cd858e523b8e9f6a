# SPDX-License-Identifier: BSD-2-Clause
"""Bodies as servers of both APIs send them: answers, errors."""

MODEL = "replayed-1"
IN, OUT = 123, 45


def made(schema):
    """A value that a schema allows, as a server would enforce it."""
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


def error(api, message, kind, code=None, param=None, **more):
    inner = {"message": message, "type": kind, **more}
    if api == "anthropic":
        return {"type": "error", "error": inner, "request_id": "req_1"}
    return {"error": {**inner, "param": param, "code": code}}
