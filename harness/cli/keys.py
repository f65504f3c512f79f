"""``lmconform keys``: which keys a deployment uses, where they hold, and why an expected key is none of them."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import partial
from typing import Annotated, Final

import typer
from rich.console import Console

from harness.cli.numbers import whole
from harness.keys import report_keys
from harness.mismatch import Request, compare, read_expected
from harness.runner import own_output
from harness.tokens import read_tokens
from harness.usage import UsageError
from reports.keys import keys_lines, keys_tree
from reports.verdict import ExitCode
from wire.deployments import BUILTIN, Deployment
from wire.keys import CacheKey
from wire.portability import refusal
from wire.release import KNOWN_RELEASES, Release

NO_VLLM: Final = "none"
MODEL: Final = "MODEL"
"""Stands in keys for a model that was not given."""


class Format(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"


_option = partial(typer.Option, show_default=False)


def command(
    tokens: Annotated[list[str] | None, typer.Argument(help="Token ids.", show_default=False)] = None,
    tokens_file: Annotated[
        str | None,
        _option(
            "--tokens-file", help="A file of token ids: a JSON array, or with spaces, commas or newlines between; - is stdin."
        ),
    ] = None,
    algorithm: Annotated[str, typer.Option("--algorithm", help="The setting pre_caching_hash_algorithm.")] = BUILTIN,
    lmcache: Annotated[str, typer.Option("--lmcache", help="The release of lmcache.")] = KNOWN_RELEASES[-1],
    vllm: Annotated[str | None, _option("--vllm", help="The version of the installed vLLM, or none. Needed.")] = None,
    no_kv_cache_utils: Annotated[
        bool, typer.Option("--no-kv-cache-utils", help="vLLM's kv_cache_utils, which makes NONE_HASH, cannot be imported.")
    ] = False,
    seed: Annotated[str | None, _option("--seed", help="The value of PYTHONHASHSEED; not given: it is not set.")] = None,
    python: Annotated[str, typer.Option("--python", help="The version of CPython.")] = "3.12",
    chunk_size: Annotated[
        int, typer.Option("--chunk-size", metavar="NUMBER", parser=whole(1), help="The setting chunk_size.")
    ] = 256,
    save_unfull_chunk: Annotated[
        bool | None,
        _option("--save-unfull-chunk/--no-save-unfull-chunk", help="Whether a partial last chunk has a key [by release]."),
    ] = None,
    skip: Annotated[
        int, typer.Option("--skip", metavar="NUMBER", parser=whole(0), help="Leading tokens whose chunks get no key.")
    ] = 0,
    model: Annotated[str | None, _option("--model", help="The model, as it stands in keys.")] = None,
    world_size: Annotated[
        int | None, _option("--world-size", metavar="NUMBER", parser=whole(1), help="Number of workers [default: 1].")
    ] = None,
    worker_id: Annotated[
        int | None, _option("--worker-id", metavar="NUMBER", parser=whole(0), help="Number of the worker [default: 0].")
    ] = None,
    dtype: Annotated[str | None, _option("--dtype", help="torch's name of the dtype [default: bfloat16].")] = None,
    fmt: Annotated[str | None, _option("--fmt", help="The engine's name in keys until 0.3.12 [default: vllm].")] = None,
    tag: Annotated[list[str] | None, _option("--tag", help="A tag, NAME=VALUE. May be repeated; the order counts.")] = None,
    layer: Annotated[
        int | None, _option("--layer", metavar="NUMBER", parser=whole(0), help="Keys of this layer, and not of whole chunks.")
    ] = None,
    mla: Annotated[bool, typer.Option("--mla", help="The model has multi-head latent attention.")] = False,
    save_only_first_rank: Annotated[
        bool | None,
        _option("--save-only-first-rank/--no-save-only-first-rank", help="The setting of that name, for --mla [by release]."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        _option("--expect", help="A key or a hash that was seen elsewhere. May be repeated for the chunks that follow."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> int:
    """Print the keys of a deployment and where they hold; with --expect, find out why an expected key is none of them.

    Exit codes: 0 printed, or the expected keys match; 1 they do not; 2 usage or bad input.
    """
    release = Release.parse(lmcache)
    refused = refusal(seed)
    if refused is not None:
        raise UsageError(f"PYTHONHASHSEED is {seed!r}. {refused.title} {refused.explanation} {refused.action}")
    said = {"model": model, "world size": world_size, "worker id": worker_id, "dtype": dtype, "fmt": fmt}
    request = Request(
        deployment=Deployment(release, _vllm(vllm), algorithm, seed, not no_kv_cache_utils, python),
        tokens=read_tokens(tokens or (), tokens_file),
        identity=CacheKey(
            model=MODEL if model is None else model,
            world_size=1 if world_size is None else world_size,
            worker_id=0 if worker_id is None else worker_id,
            chunk_hash=0,
            dtype="bfloat16" if dtype is None else dtype,
            fmt="vllm" if fmt is None else fmt,
            layer=layer,
            tags=tuple(_tag(text) for text in tag or ()),
        ),
        given=frozenset(name for name, value in said.items() if value is not None),
        chunk_size=chunk_size,
        save_unfull_chunk=save_unfull_chunk,
        skip=skip,
        mla=mla,
        save_only_first_rank=save_only_first_rank,
    )
    expected = [read_expected(text, release, model=request.identity.model) for text in dict.fromkeys(expect or ())]
    if expected and not request.tokens:
        raise UsageError("there are no tokens whose keys --expect could be; give token ids, or --tokens-file")
    report = report_keys(request, compare(request, expected) if expected else None)
    with own_output() as output:
        if format_ is Format.JSON:
            output.write(json.dumps(keys_tree(report), indent=2, ensure_ascii=False) + "\n")
        else:
            console = Console(file=output, highlight=False, soft_wrap=True)
            for line in keys_lines(report, console.width):
                if console.is_terminal:
                    console.print(line)
                else:
                    output.write(f"{line.plain}\n")
    mismatch = report.comparison is not None and not report.comparison.matches
    return int(ExitCode.NOT_CONFORMANT if mismatch else ExitCode.CONFORMANT)


def _vllm(text: str | None) -> str | None:
    if text is None:
        raise UsageError(
            "say with --vllm which version of vLLM the deployment has, or none: the hash function and NONE_HASH follow from it"
        )
    return None if text.lower() == NO_VLLM else text


def _tag(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise UsageError(f"--tag {text!r} is no tag; a tag reads NAME=VALUE")
    return name, value
