"""What is measured: each function answers how many units of work one call does, and that call."""

import random

import chunks


def keys(algorithm, chunk_size, strings, count, vocabulary, seed):
    drawn = random.Random(seed)
    tokens = [drawn.randrange(vocabulary) for _ in range(count)]
    units = count // chunk_size
    if algorithm == "blake3":
        from lmcache.v1.multiprocess.token_hasher import TokenHasher

        hasher = TokenHasher(chunk_size, "blake3")
        return units, Sampled(lambda: hasher.compute_chunk_hashes(tokens), lambda made: [len(made), made[-1].hex()])
    made = chunks.database(
        {
            "algorithm": algorithm,
            "chunk_size": chunk_size,
            "save_unfull_chunk": False,
            "model": "model",
            "world_size": 1,
            "worker_id": 0,
            "fmt": "vllm",
            "dtype": "float16",
        }
    )
    if algorithm not in {"builtin", "sha256_hex"} and made.hash_func is hash:
        raise RuntimeError(f"{algorithm} was asked for, builtin came")
    if strings:
        return units, Sampled(
            lambda: [key.to_string() for _, _, key in made.process_tokens(tokens)], lambda found: [len(found), found[-1]]
        )
    return units, Sampled(
        lambda: list(made.process_tokens(tokens=tokens, make_key=False)), lambda found: [len(found), str(found[-1][2])]
    )


def codec(op, args):
    """Many times one header through the real codec."""
    import frames

    many = range(args.pop("times"))
    if op.startswith("encode"):
        cls = frames.ClientMetaMessage if op == "encode_request" else frames.ServerMetaMessage
        named = {"code": frames.code(args["code"])} if op == "encode_reply" else {"command": frames.command(args["command"])}
        if op == "encode_request":
            named["key"] = frames.keys.build(args["key"])
        message = cls(**named, **frames.about(cls, args))

        def once():
            for _ in many:
                made = message.serialize()
            return made

        return len(many), Sampled(once, lambda made: bytes(made).hex())
    cls = frames.ClientMetaMessage if op == "decode_request" else frames.ServerMetaMessage
    data = bytes.fromhex(args["bytes"])

    def read():
        for _ in many:
            made = cls.deserialize(data)
        return made

    return len(many), Sampled(read, lambda made: [made.length, list(made.shape)])


def mp_codec(op, operation, payloads, times):
    """Many times the payloads of one request through the real codec of the multiprocess protocol."""
    from table import BY_NAME, mq
    from values import build

    kinds = BY_NAME[operation].payloads
    values = [build(kind, value) for kind, value in zip(kinds, payloads, strict=True)]
    data = [mq.msgspec_encode(value, cls=kind) for kind, value in zip(kinds, values, strict=True)]

    def encode():
        for _ in range(times):
            made = [mq.msgspec_encode(value, cls=kind) for kind, value in zip(kinds, values, strict=True)]
        return made

    def decode():
        for _ in range(times):
            made = [mq.msgspec_decode(frame, cls=kind) for kind, frame in zip(kinds, data, strict=True)]
        return made

    if op == "encode":
        return times, Sampled(encode, lambda made: [bytes(frame).hex() for frame in made])
    return times, Sampled(decode, len)


class Sampled:
    """Work, and what of the last thing that it made can be compared."""

    def __init__(self, once, sample):
        self.once, self.sample = once, sample


WORKS = {"keys": keys, "codec": codec, "mp_codec": mp_codec}
