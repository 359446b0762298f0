"""llama.cpp's own HTTP server in this process: `python -m demo.llama --model FILE`.

One rule: this process lives as long as its standard input. It prints `READY <base URL>` once, and
when its input ends, by a stop or by the death of whoever started it, it ends too: no orphan is left
holding a port and a model. A signal could be missed and a death flag is Linux only; a pipe is neither.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import xllamacpp  # type: ignore[import-untyped]  # a compiled module without stubs


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False), required=True)
@click.option("--alias", default="model", help="The model's name in requests.")
@click.option("--port", default=0, help="0: a free one.")
@click.option("--threads", default=1)
@click.option("--context", default=4096, help="Tokens for all slots together.")
@click.option("--slots", default=1, help="Requests at the same time.")
@click.option("--template", type=click.Path(exists=True, dir_okay=False))
def main(**options: str | int | None) -> None:
    """Serve MODEL on loopback until standard input ends."""
    try:
        server = xllamacpp.Server(_parameters(options))
    except RuntimeError as error:
        sys.exit(str(error))  # the server's own log, above it, says why
    print("READY", server.listening_address, flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    # The server's threads hold no file and no child: leave without the seconds they take to stop.
    os._exit(0)


def _parameters(options: dict[str, str | int | None]) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = options["model"]
    params.model_alias = {options["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = options["port"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.n_ctx = options["context"]
    params.n_parallel = options["slots"]
    params.cache_ram_mib = 0  # only what a slot still holds counts as cached: the same on each run
    params.n_gpu_layers = 0
    params.fit_params = False
    params.offline = True
    params.use_jinja = True
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    if options["template"]:
        params.chat_template = Path(str(options["template"])).read_text(encoding="utf-8")
    return params


if __name__ == "__main__":
    main()
