# SPDX-License-Identifier: BSD-2-Clause
"""A model of half a megabyte with random weights, for a real server: its text is noise, so only
the server's behaviour and the effect of a grammar are tested."""

import random
import struct

U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1  # kinds of tokens
WIDTH, HEADS, LAYERS, FEED = 64, 4, 2, 128
TEMPLATE = ("{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>\n{% endif %}")


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, kind, value):
    packed = text(value) if kind == STRING else struct.pack({U32: "<I", F32: "<f"}[kind], value)
    return text(key) + struct.pack("<I", kind) + packed


def array(key, kind, values):
    pack = {STRING: text, F32: lambda v: struct.pack("<f", v), I32: lambda v: struct.pack("<i", v)}
    return (text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
            + b"".join(map(pack[kind], values)))


def vocabulary():
    """(token, kind): bytes, and the printable ASCII characters."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    tokens += [(f"<0x{i:02X}>", BYTE) for i in range(256)]
    return tokens + [(c, NORMAL) for c in ["\u2581", *map(chr, range(33, 127))]]


def bias(token, kind, index):
    """Restricts the noise to text: printable bytes only, and no second beginning."""
    if kind == BYTE:
        byte = index - 3
        return 0.0 if 0x20 <= byte < 0x7f or byte == 0x0a else -40.0
    if token in ("<unk>", "<s>"):
        return -40.0
    return 0.5 if token == '"' else 0.0


def shapes(size):
    yield from (("token_embd.weight", (WIDTH, size)), ("output_norm.weight", (WIDTH,)),
                ("output.weight", (WIDTH, size)))
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        yield from ((at + f"{name}.weight", (WIDTH,)) for name in ("attn_norm", "ffn_norm"))
        yield from ((at + f"attn_{name}.weight", (WIDTH, WIDTH))
                    for name in ("q", "k", "v", "output"))
        yield from ((at + "ffn_gate.weight", (WIDTH, FEED)), (at + "ffn_up.weight", (WIDTH, FEED)),
                    (at + "ffn_down.weight", (FEED, WIDTH)))


def weights(name, dims, tokens, chance):
    count = dims[0] * (dims[1] if len(dims) > 1 else 1)
    if "norm" in name:
        return [1.0] * count
    values = [chance.gauss(0, 0.3) for _ in range(count)]
    # The first dimension is constant: no layer writes it, so it gives each output token a bias.
    if name == "token_embd.weight":
        values[::WIDTH] = [8.0] * len(tokens)
    elif name.endswith(("attn_output.weight", "ffn_down.weight")):
        values[:dims[0]] = [0.0] * dims[0]
    elif name == "output.weight":
        values[::WIDTH] = [bias(token, kind, i) for i, (token, kind) in enumerate(tokens)]
    return values


def header(tokens, context):
    return [
        pair("general.architecture", STRING, "llama"), pair("general.name", STRING, "tiny"),
        pair("general.file_type", U32, 0), pair("llama.context_length", U32, context),
        pair("llama.embedding_length", U32, WIDTH), pair("llama.block_count", U32, LAYERS),
        pair("llama.feed_forward_length", U32, FEED),
        pair("llama.attention.head_count", U32, HEADS),
        pair("llama.attention.head_count_kv", U32, HEADS),
        pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        pair("llama.rope.dimension_count", U32, WIDTH // HEADS),
        pair("llama.vocab_size", U32, len(tokens)), pair("tokenizer.ggml.model", STRING, "llama"),
        array("tokenizer.ggml.tokens", STRING, [token for token, _ in tokens]),
        array("tokenizer.ggml.scores", F32, [-float(i) for i in range(len(tokens))]),
        array("tokenizer.ggml.token_type", I32, [kind for _, kind in tokens]),
        pair("tokenizer.ggml.bos_token_id", U32, 1), pair("tokenizer.ggml.eos_token_id", U32, 2),
        pair("tokenizer.ggml.unknown_token_id", U32, 0),
        pair("tokenizer.chat_template", STRING, TEMPLATE)]


def padded(data):
    return data + b"\0" * (-len(data) % 32)


def write(path, seed=1, context=4096):
    chance = random.Random(seed)
    tokens = vocabulary()
    pairs = header(tokens, context)
    info, data = b"", b""
    tensors = list(shapes(len(tokens)))
    for name, dims in tensors:
        info += text(name) + struct.pack("<I", len(dims))
        info += struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", 0, len(data))
        values = weights(name, dims, tokens, chance)
        data += padded(struct.pack(f"<{len(values)}f", *values))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs)
    with open(path, "wb") as f:
        f.write(padded(head + info) + data)
