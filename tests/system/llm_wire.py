#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Requests to a model: every possible reply of a server, its result, and what other parties can
see. The endpoint is our own and checks each request."""

import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "llm")]

from llmlib import asking, replies  # noqa: E402
from llmlib.asking import KEY  # noqa: E402
from llmlib.certificates import Certificates  # noqa: E402
from llmlib.listener import Listener  # noqa: E402
from llmlib.proxy import Proxy  # noqa: E402
from llmlib.server import Server  # noqa: E402
from syslib.part import Part, check, equal  # noqa: E402

part = Part(__doc__)
APIS = ("openai", "anthropic")


class World(asking.World):
    """The endpoint, and a second one that must not get a request."""

    def __init__(self, args, work, stack):
        super().__init__(args, work, stack)
        self.server = self.serve(stack, Server())
        self.other = self.serve(stack, Server())
        self.server.elsewhere = self.other.url("ok").replace("127.0.0.1", "localhost")
        self.certificates = Certificates(self.directory("certificates"))

    def each(self, name, outcome, words=(), apis=APIS, **kwargs):
        """The same for both APIs."""
        for api in apis:
            said = self.ask(self.server, name, api=api, **kwargs)
            equal(f"{name}, {api}: outcome ({said['reason']})", said["outcome"], outcome)
            for word in words:
                check(word in said["reason"], f"{name}, {api}: '{word}' is not in {said['reason']!r}")
            yield said

    def all(self, *args, **kwargs):
        return list(self.each(*args, **kwargs))


@part.case
def answered(world, _):
    """With values, by both APIs."""
    want = json.dumps(replies.made(asking.SCHEMA), ensure_ascii=False)
    for said in world.all("ok", "answered", attempts=1):
        equal("text", said["text"], want)
        equal("figures", (said["tokens_in"], said["tokens_out"], said["model"]),
              (replies.IN, replies.OUT, replies.MODEL))
        equal("host", said["host"], f"127.0.0.1:{world.server.port}")
        equal("warning", said["warning"], "")
    for said in world.all("parts", "answered", attempts=1):
        equal("text", said["text"], '{"text":"a"}')


@part.case
def request_is_told(world, _):
    """The bytes shown before are the bytes sent."""
    for api in APIS:
        said = world.ask(world.server, "ok", api=api)
        equal("body", world.body(world.server, api), said["requests"][0].request.body)


@part.case
def cut(world, _):
    """An incomplete reply is requested again, and never read."""
    world.all("cut_length", "broken", ("incomplete answer",), attempts=3)
    world.all("cut_chunked", "broken", ("incomplete answer",), attempts=3)
    for name in ("cut_once", "error_once"):
        world.all(name, "answered", attempts=2)


@part.case
def not_an_answer(world, _):
    """A complete answer or none; only in the formats of the API."""
    for said in world.all("length", "broken", ("max_tokens (1500)",), attempts=1):
        equal("text", said["text"], None)
    world.all("tool_calls", "broken", ("did not finish",), attempts=1)
    world.all("filtered", "declined", ("declined",), attempts=1)
    # A model's own words are never passed on unchecked, wherever they are in the reply.
    for said in world.all("refusal", "declined", ("declined to answer",), apis=("openai",),
                          attempts=1):
        check("caches" not in said["reason"], said["reason"])
    for said in world.all("ends_in_words", "broken", ("did not finish",), attempts=1):
        check("Visit" not in said["reason"], said["reason"])
    for said in world.all("named_in_words", "answered", attempts=1):
        equal("model", said["model"], "m")
    world.all("empty", "declined", ("empty answer",), attempts=1)
    for name in ("garbage", "page", "not_http"):
        for said in world.all(name, "broken", ("CACHEMON_LLM_URL",), attempts=1):
            check("script" not in said["reason"], said["reason"])
    # Its own words are checked elsewhere.
    for said in world.all("echo", "answered", attempts=1):
        equal("text", said["text"], "What is to be done?")


@part.case
def sizes(world, _):
    """Bodies and headers over the limits, and one that exceeds them when unpacked."""
    for name in ("big", "big_chunked", "header_flood"):
        world.all(name, "broken", ("too big",), attempts=1)
    world.all("header_line", "broken", ("too big",), attempts=1)
    world.all("bomb", "broken", ("compressed",), attempts=1)


@part.case
def refused_for_good(world, _):
    """Tried once: it would be refused again."""
    for name, words in (("malformed", ("400", "\\x1b[2Jrequired\\x0d\\x0aand", "\"")),
                        ("s401", ("401", "Invalid API Key", "check that the key is right")),
                        ("s403", ("403", "not supported")),
                        ("s404", ("404", "does not exist", "CACHEMON_LLM_MODEL")),
                        ("s404_plain", ("404",)), ("s422", ("422",)),
                        ("quota", ("429", "quota"))):
        world.all(name, "refused", words, attempts=1)
    said = world.ask(world.server, "s401", key=None)
    equal("outcome", said["outcome"], "refused")
    check("no key was sent" in said["reason"], said["reason"])


@part.case
def too_long(world, _):
    """A separate result, so that a shorter prompt can be tried."""
    for name, words in (("too_long", ("available context",)), ("too_long_openai", ("8192",)),
                        ("too_long_anthropic", ("too long",)), ("s413", ("413",))):
        for said in world.all(name, "refused", ("too long", *words), attempts=1):
            check(said["too_long"], f"{name}: is not marked")
    for said in world.all("s404", "refused", attempts=1):
        check(not said["too_long"], "another refusal is marked")


def forms(said):
    return [(x.asked("response_format", "type") or x.asked("output_config", "format", "type")
             or "plain") for x in said["requests"]]


@part.case
def json_forms(world, _):
    """JSON is requested in the form that the user chose, by default with a schema. A server that
    does not know the form refuses once, and the line names the option."""
    left = {"openai": {"schema": "object", "object": "none"}, "anthropic": {"schema": "none"}}
    sent = {"openai": {"schema": "json_schema", "object": "json_object", "none": "plain"},
            "anthropic": {"schema": "json_schema", "none": "plain"}}
    for api in APIS:
        for form, kind in sent[api].items():
            name = "never_content" if form == "none" else "no_format"
            said = world.ask(world.server, name, "--json", form, api=api, attempts=1)
            equal("forms", (forms(said), said["outcome"]), ([kind], "refused"))
            option = left[api].get(form)
            equal("an option is named", "--llm-json" in said["reason"], option is not None)
            check(option is None or f"--llm-json {option}" in said["reason"], said["reason"])
        for form in list(sent[api])[1:]:
            for options, env in ((("--json", form), {}), ((), {"CACHEMON_LLM_JSON": form})):
                said = world.ask(world.server, "no_schema", *options, api=api, env=env, attempts=1)
                equal("forms", (forms(said), said["outcome"]), ([sent[api][form]], "answered"))
                check(asking.SCHEMA_TEXT in json.dumps(said["requests"][0].body), "the prompt lacks the schema")
    said = world.ask(world.server, "no_format", "--json", "none", attempts=1)
    equal("without a form", said["outcome"], "answered")


@part.case
def other_words(world, _):
    """A limit under its other name: at once, without using up attempts."""
    said, = world.all("max_tokens", "answered", apis=("openai",), attempts=2)
    equal("limit", said["requests"][1].asked("max_completion_tokens"), 1500)


@part.case
def again(world, _):
    """Temporary errors are retried after the time that the server gives, as long as there is
    time."""
    for name, least, most in (("s429_once", 1, 2.5), ("s429_date_once", 0.9, 3.5)):
        for said in world.all(name, "answered", attempts=2, limit=10):
            check(least <= said["wall"] <= most, f"{name}: took {said['wall']:.2f} s")
    world.all("s503_once", "answered", attempts=2)
    for name, words in (("s429_always", ("429", "Slow down")), ("s500", ("500",)),
                        ("s502", ("502",)), ("s504_always", ("504",)),
                        ("s529", ("529", "Overloaded")), ("s500_parse", ("500",))):
        for said in world.all(name, "refused", (*words, "after 3 attempts"), attempts=3):
            check("<" not in said["reason"], said["reason"])
    for name, words in (("s429_long", ("wait 30 s",)), ("s429_hour", ("wait 3600 s",))):
        for said in world.all(name, "refused", ("429", *words), attempts=1, limit=10):
            check(said["wall"] < 2, f"{name}: took {said['wall']:.2f} s")
    # More than a minute is not waited for, even if there is time.
    said, = world.all("s429_hour", "refused", apis=("openai",), limit=4000)
    check(said["wall"] < 2, f"took {said['wall']:.2f} s")


@part.case
def time_limits(world, _):
    """Silence, slow trickling and stalling end at their limits, and not sooner."""
    for name in ("silent", "drip"):
        for said in world.all(name, "unreachable", ("did not answer within 1.5 s",), attempts=1, limit=1.5,
                              apis=("openai",)):
            check(1.4 <= said["wall"] <= 3, f"{name}: took {said['wall']:.2f} s")
    for said in world.all("stalled_body", "unreachable", ("stalled mid-answer", "no data for 1 s"), attempts=3, stall=1,
                          limit=30):
        # Three stalls, each detected within a second, and two waits of at most 1 s and 2 s.
        check(3 <= said["wall"] <= 9.5, f"took {said['wall']:.2f} s")


@part.case
def unreachable(world, stack):
    """No listener, no such name, and a server that hangs up."""
    closed = Listener()
    closed.stop()
    for url, words in ((f"http://127.0.0.1:{closed.port}/v1", ("cannot be reached",)),
                       ("https://no-such-host.invalid/v1", ("no-such-host.invalid",))):
        said = world.ask_url(url, limit=8)
        equal("outcome", said["outcome"], "unreachable")
        for word in words:
            check(word in said["reason"], said["reason"])
    world.all("nothing", "unreachable", ("cannot be reached",), attempts=3)


@part.case
def redirects(world, _):
    """A redirect is not followed; a line names its target, which gets no connection."""
    before = world.other.connections
    world.all("redirect", "refused", ("307", '"localhost"', "not followed"), attempts=1)
    world.all("redirect_odd", "refused", ("301", "not followed"), attempts=1)
    equal("connections elsewhere", world.other.connections, before)


@part.case
def tls(world, stack):
    """A certificate is accepted only from its CA and only for its name; and the client's own."""
    made = world.certificates
    server = world.serve(stack, Server(made.context()))
    said = world.ask(server, "ok", attempts=0)
    equal("without the CA", said["outcome"], "unreachable")
    check("is not trusted" in said["reason"] and "CACHEMON_LLM_CA" in said["reason"], said["reason"])
    equal("with the CA", world.ask(server, "ok", "--ca", made.ca)["outcome"], "answered")
    said = world.ask(server, "ok", env={"CACHEMON_LLM_CA": made.ca})
    equal("by the environment", said["outcome"], "answered")
    said = world.ask(server, "ok", "--ca", made.ca, host="localhost", attempts=0)
    equal("for another name", said["outcome"], "unreachable")
    said = world.ask(server, "ok", "--ca", "/nonexistent.pem", attempts=0)
    check("CA file" in said["reason"], said["reason"])

    server = world.serve(stack, Server(made.context(wants_client=True)))
    own = ("--cert", made.path("client.pem"), "--cert-key", made.path("client.key"))
    said = world.ask(server, "ok", "--ca", made.ca, *own)
    equal("with a certificate", said["outcome"], "answered")
    equal("without one", world.ask(server, "ok", "--ca", made.ca, attempts=0)["outcome"],
          "unreachable")
    said = world.ask(server, "ok", "--ca", made.ca, own[0], own[1], "--cert-key", made.ca,
                     attempts=0)
    check("client certificate" in said["reason"], said["reason"])


@part.case
def proxies(world, stack):
    """Used if the environment sets it, without access to the content of TLS; never for this
    machine, and not for names in no_proxy."""
    made = world.certificates
    server = world.serve(stack, Server(made.context()))
    proxy = world.serve(stack, Proxy(server.port))
    env = {"https_proxy": proxy.url(), "http_proxy": proxy.url()}
    said = world.ask(server, "ok", "--ca", made.ca, env=env, host="model.test")
    equal("by CONNECT", said["outcome"], "answered")
    equal("asked the proxy", [(r.method, r.target) for r in proxy.requests],
          [("CONNECT", f"model.test:{server.port}")])
    check(KEY.encode() not in proxy.requests[0].everything(), "the proxy got the key")
    said = world.ask(server, "ok", "--ca", made.ca, env=env)
    equal("this machine", (said["outcome"], len(proxy.requests)), ("answered", 1))
    said = world.ask(server, "ok", "--ca", made.ca, "--limit", "3000",
                     env={**env, "no_proxy": "model.test"}, host="model.test", attempts=0)
    equal("no_proxy", (said["outcome"], len(proxy.requests)), ("unreachable", 1))

    proxy = world.serve(stack, Proxy(world.server.port))
    env = {"http_proxy": proxy.url()}
    said = world.ask(world.server, "ok", "--allow-http", env=env, host="model.test")
    equal("in the clear", said["outcome"], "answered")
    equal("asked the proxy", [r.method for r in proxy.requests], ["POST"])
    equal("this machine", world.ask(world.server, "ok", env=env)["outcome"], "answered")
    equal("asked the proxy", len(proxy.requests), 1)


@part.case
def plain_http(world, stack):
    """Only to this machine, unless it is allowed; nothing is sent before that is known."""
    proxy = world.serve(stack, Proxy(world.server.port))
    said = world.ask(world.server, "ok", env={"http_proxy": proxy.url()}, host="model.test",
                     attempts=0)
    equal("outcome", said["outcome"], "not_allowed")
    check("--llm-allow-http" in said["reason"], said["reason"])
    equal("connections", proxy.connections, 0)
    for host in ("localhost", "127.0.0.1", "127.1"):
        equal(host, world.ask(world.server, "ok", host=host)["outcome"], "answered")
    for url in ("http://user:secret-word@127.0.0.1/v1", "ftp://127.0.0.1/v1", "127.0.0.1/v1"):
        done = world.run(["--url", url, "--model", "m"])
        check(done.returncode == 1 and "secret-word" not in done.stdout + done.stderr,
              f"{url}: {done}")
        check(len(done.stderr.splitlines()) == 1, done.stderr)


@part.case
def cut_prompt(world, _):
    """A server that reports fewer tokens than the prompt can have is reported."""
    path = world.file("prompt", "read ahead of it " * 1000, mode=0o644)
    said = world.ask(world.server, "few_tokens", "--user-file", path)
    equal("outcome", said["outcome"], "answered")
    check("512 tokens" in said["warning"], said["warning"])
    path = world.file("prompt", "read ahead of it " * 100, mode=0o644)
    equal("of a short one", world.ask(world.server, "few_tokens", "--user-file", path)["warning"],
          "")


if __name__ == "__main__":
    sys.exit(part.main(World))
