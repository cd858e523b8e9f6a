# SPDX-License-Identifier: BSD-2-Clause
"""The required form of a request: our copy of both APIs' schemas, and the rules that these
cannot express."""

import json
import os

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = {}
for _api, _name in (("openai", "openai-chat"), ("anthropic", "anthropic-messages")):
    with open(os.path.join(HERE, "..", "schemas", f"{_name}.json"), encoding="utf-8") as f:
        SCHEMAS[_api] = json.load(f)
        jsonschema.Draft7Validator.check_schema(SCHEMAS[_api])


def api_of(target):
    path = target.split("?")[0]
    if path.endswith("/v1/messages"):
        return "anthropic"
    return "openai" if path.endswith("/chat/completions") else None


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError(f"a name is there twice: {names}")
    return dict(pairs)


def closed_objects(schema, place="schema"):
    """Both vendors enforce a schema only if every object lists all its possible keys."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield f"{place}: additionalProperties is not false"
        if set(schema.get("required", ())) != set(schema.get("properties", ())):
            yield f"{place}: not all properties are required"
    for name, inner in schema.get("properties", {}).items():
        yield from closed_objects(inner, f"{place}.{name}")
    for name in ("items", "anyOf", "allOf"):
        inner = schema.get(name)
        for one in inner if isinstance(inner, list) else [inner]:
            yield from closed_objects(one, f"{place}.{name}")


def asked_schema(api, body):
    """The schema for the answer, None if the request has none."""
    if api == "anthropic":
        return body.get("output_config", {}).get("format", {}).get("schema")
    return body.get("response_format", {}).get("json_schema", {}).get("schema")


def header_errors(api, request):
    if request.method != "POST":
        yield f"method {request.method}"
    if request.header("content-type") != "application/json":
        yield f"content-type: {request.header('content-type')}"
    if request.header("content-length") != str(len(request.body)):
        yield f"content-length: {request.header('content-length')} of {len(request.body)}"
    if not (request.header("user-agent") or "").startswith("cachemon/"):
        yield f"user-agent: {request.header('user-agent')}"
    for name in ("expect", "cookie", "accept-encoding", "referer", "proxy-authorization"):
        if request.header(name) is not None:
            yield f"{name}: {request.header(name)}"
    version = request.header("anthropic-version")
    if version != ("2023-06-01" if api == "anthropic" else None):
        yield f"anthropic-version: {version}"
    wrong = "authorization" if api == "anthropic" else "x-api-key"
    if request.header(wrong) is not None:
        yield f"{wrong} where the API has another header"


def body_errors(api, body):
    for e in jsonschema.Draft7Validator(SCHEMAS[api]).iter_errors(body):
        yield f"{'.'.join(map(str, e.absolute_path))}: {e.message}"[:300]
    yield from closed_objects(asked_schema(api, body) or {})
    if api == "openai" and body.get("response_format", {}).get("type") == "json_object":
        if not any("json" in m["content"].lower() for m in body["messages"]):
            yield "json_object needs the word JSON in a message"


def errors_of(request):
    """(api, body, errors)."""
    api = api_of(request.target)
    if not api:
        return None, None, [f"no such endpoint: {request.target}"]
    try:
        body = json.loads(request.body.decode("utf-8"), object_pairs_hook=no_duplicates)
    except ValueError as e:
        return api, None, [f"the body is no JSON: {e}"]
    return api, body, [*header_errors(api, request), *body_errors(api, body)]
