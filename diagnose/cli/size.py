"""``diagnose size``: the guide's KV formula, from hardware and a model's config or from what an engine reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from diagnose.cli import inputs
from diagnose.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from diagnose.kv_formula import Hardware
    from diagnose.model_shapes import ModelShape
    from diagnose.sizing_terms import Sizing

DEFAULT_UTILIZATION = 0.9
KINDS = {"full": "attention", "window": "window", "mla": "MLA", "state": "state"}
WEIGHT_BITS = {"fp32": 32.0, "bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0, "int4": 4.25, "nvfp4": 4.5}
EXAMPLES = """\b
Examples, from hardware and the model's config.json:
  diagnose size --gpu-memory 80GiB --model-config config.json --context 2000
  diagnose size --gpu-memory 80GiB --model-config config.json --tp 4 \\
                --kv-dtype fp8 --weight-dtype fp8 --context 8000
  diagnose size --gpu-memory 24GiB --weights 16GiB --layers 32 --kv-heads 8 \\
                --head-dim 128 --context 1500
  diagnose size --kv-memory 45.9GiB --model-config config.json --context 4000

\b
Examples, from what an engine reports:
  diagnose size --kv-tokens 4096 --context 1014
  diagnose size --from localhost:8000
  diagnose size --from bundle.tar.gz --context 3000 --format json

\b
The formula (guide 2.1):
  available KV memory = GPU memory x utilization - weight shard
                        - activation reserve - graph pool
  KV tokens           = available KV memory / KV bytes per token of a rank
  max sequences       = KV tokens x occupancy / average context length"""


def nbytes(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Bytes from 80GiB, 512MiB or 16GB; an option's callback."""
    from diagnose.units import to_bytes

    if value is None:
        return None
    try:
        return to_bytes(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no size (write 80GiB, 512MiB or 16GB)", ctx, param) from None


def count(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A number with an optional K, M, B or T: 8B, 1.5e9; an option's callback."""
    if value is None:
        return None
    text, factor = value.strip(), 1.0
    if text[-1:].upper() in ("K", "M", "B", "T"):
        factor = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[text[-1].upper()]
        text = text[:-1]
    try:
        return float(text) * factor
    except ValueError:
        raise click.BadParameter(f"{value!r} is no count (write 8B or 8.03e9)", ctx, param) from None


@click.command("size", epilog=EXAMPLES)
@click.option("--gpu-memory", metavar="SIZE", callback=nbytes, help="Memory of one GPU, for example 80GiB.")
@click.option(
    "--utilization",
    metavar="RATIO",
    type=float,
    help="vLLM --gpu-memory-utilization (0.9) or SGLang's --mem-fraction-static.",
)
@click.option("--model-config", metavar="FILE", help="The model's config.json.")
@click.option("--params", metavar="COUNT", callback=count, help="Parameters, for example 8B; else from the config.")
@click.option("--weights", metavar="SIZE", callback=nbytes, help="Weights of the whole model, before TP.")
@click.option("--weight-dtype", type=click.Choice(tuple(WEIGHT_BITS)), help="As if the weights were quantized so.")
@click.option("--layers", type=click.IntRange(1), metavar="N", help="Without a config: attention layers,")
@click.option("--kv-heads", type=click.IntRange(1), metavar="N", help="KV heads,")
@click.option("--head-dim", type=click.IntRange(1), metavar="N", help="elements per head.")
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Tensor parallelism.")
@click.option("--pp", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Pipeline parallelism.")
@click.option("--kv-dtype", metavar="NAME", default="auto", show_default=True, help="KV cache dtype: auto, fp8, ...")
@click.option(
    "--block-size", type=click.IntRange(1), default=16, show_default=True, metavar="N", help="Tokens per KV block."
)
@click.option("--activation", metavar="SIZE", callback=nbytes, help="Activation reserve (assumed 2GiB).")
@click.option("--graph-pool", metavar="SIZE", callback=nbytes, help="Captured graphs (assumed 1GiB).")
@click.option(
    "--engine", type=click.Choice(("vllm", "sglang")), default="vllm", show_default=True, help="Whose memory fraction."
)
@click.option("--kv-memory", metavar="SIZE", callback=nbytes, help="Available KV memory that an engine logged.")
@click.option("--kv-tokens", type=float, metavar="N", help="KV tokens that an engine reports.")
@click.option(
    "--from", "source", metavar="TARGET", help="Read KV tokens and lengths from an engine, a bundle or a file."
)
@click.option("--context", type=float, metavar="N", help="Average tokens of a request, prompt and output.")
@click.option("--occupancy", type=float, default=0.85, show_default=True, metavar="RATIO", help="Target KV occupancy.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@inputs.window_option
@inputs.http_options
def command(source: str | None, form: str, **options: Any) -> None:
    """How many KV tokens and sequences fit, with every term of the formula and its unit."""
    from diagnose.cli.output import emit
    from diagnose.cli.size_text import SCHEMA, document, text

    results = _observed(source, options) if source is not None else [_computed(options)]
    if form == "json":
        import json

        emit(json.dumps({"schema": SCHEMA, "sizings": [document(r, t) for t, r in results]}, indent=2) + "\n")
    else:
        emit("\n".join(text(result, title) for title, result in results))


def _computed(options: dict[str, Any]) -> tuple[str, Sizing]:
    """Title and sizing from options alone. Raises UsageError that names what is missing."""
    from diagnose.kv_formula import kv_sizing

    if options["kv_tokens"] is not None:
        return "From the KV tokens that the engine reports", _reported(
            options["kv_tokens"], options["context"], options["occupancy"], "--kv-tokens", "--context"
        )
    if options["gpu_memory"] is None and options["kv_memory"] is None:
        raise UsageError(
            "nothing to compute from",
            hint="Give --from, --kv-tokens, --kv-memory or --gpu-memory; see: diagnose size --help",
        )
    config = _config(options["model_config"])
    shape = _shape(config, options)
    hardware = _hardware(config, options)
    result = kv_sizing(shape, hardware, options["kv_dtype"], options["context"], options["occupancy"])
    layout = f"TP {options['tp']}" + (f", PP {options['pp']}" if options["pp"] > 1 else "")
    kinds = ", ".join(f"{g.count} {KINDS[g.kind]}" for g in shape.groups)
    return f"{shape.name}: {shape.layers} layers ({kinds}), {layout}, per GPU", result


def _reported(
    tokens: float | None, context: float | None, occupancy: float, tokens_from: str, context_from: str
) -> Sizing:
    """Max sequences from reported KV tokens and a mean context; says which of the two is missing."""
    from dataclasses import replace

    from diagnose.sizing import max_sequences

    if not 0 < occupancy <= 1:
        raise UsageError(f"occupancy is {occupancy:g}", hint="Expected a ratio above 0 up to 1 (0.85, not 85)")
    if tokens is None:
        raise UsageError("KV tokens are not reported", where=tokens_from, hint="Give --kv-tokens from the start-up log")
    if context is None:
        raise UsageError("the average context is not known", where=context_from, hint="Give --context")
    result = max_sequences(tokens, context, occupancy)
    if result is None:
        raise UsageError(f"KV tokens {tokens:g} and context {context:g} must be above 0")
    sources = {"KV tokens": tokens_from, "tokens per request": context_from}
    return replace(result, terms=tuple(replace(t, source=sources.get(t.name, t.source)) for t in result.terms))


def _config(path: str | None) -> dict[str, Any] | None:
    """The parsed config.json, None without a path. Raises ConfigError or UsageError, one line."""
    if path is None:
        return None
    import json

    try:
        config = json.loads(inputs.read_text(path, "--model-config"))
    except (ValueError, RecursionError):
        raise ConfigError("not JSON", where=path, hint="Give the config.json of the served model") from None
    if not isinstance(config, dict):
        raise ConfigError("not a JSON object", where=path, hint="Give the config.json of the served model")
    return config


def _shape(config: dict[str, Any] | None, options: dict[str, Any]) -> ModelShape:
    from pathlib import Path

    from diagnose.model_shapes import LayerGroup, ModelShape, model_shape

    if config is not None:
        path = Path(options["model_config"])
        return model_shape(config, str(config.get("model_type") or path.parent.name or "model"))
    layers, heads, dim = options["layers"], options["kv_heads"], options["head_dim"]
    if None in (layers, heads, dim):
        raise UsageError("the model is not known", hint="Give --model-config, or --layers, --kv-heads and --head-dim")
    return ModelShape("model", layers, (LayerGroup("full", layers, heads, dim, dim),), 2.0)


def _hardware(config: dict[str, Any] | None, options: dict[str, Any]) -> Hardware:
    from diagnose.kv_formula import Hardware

    shared = {"tp": options["tp"], "pp": options["pp"], "engine": options["engine"], "block": options["block_size"]}
    if options["kv_memory"] is not None:
        return Hardware(kv_bytes=options["kv_memory"], **shared)
    weights, source = _weights(config, options)
    utilization = options["utilization"]
    if utilization is None and options["engine"] == "sglang":
        raise UsageError("SGLang's fraction depends on the GPU", hint="Give --utilization (its --mem-fraction-static)")
    return Hardware(
        options["gpu_memory"],
        DEFAULT_UTILIZATION if utilization is None else utilization,
        weights,
        source,
        "assumed: vLLM up to 0.19 (0.92 later)" if utilization is None else "given",
        activation_bytes=options["activation"],
        graph_bytes=options["graph_pool"],
        **shared,
    )


def _weights(config: dict[str, Any] | None, options: dict[str, Any]) -> tuple[float, str]:
    """Weight bytes of the whole model and where they come from: given, from parameters, or estimated."""
    from diagnose.model_weights import bytes_of_parameters, estimate_weights

    if options["weights"] is not None:
        return options["weights"], "given"
    bits = WEIGHT_BITS.get(options["weight_dtype"] or "")
    params = options["params"]
    if params is not None:
        stated = params * bits / 8 if bits else bytes_of_parameters(params, config)
        return stated, f"{params / 1e9:g} B parameters at {stated * 8 / params if params else 0:g} bits"
    if config is None:
        raise UsageError("the size of the weights is not known", hint="Give --weights, --params or --model-config")
    estimate = estimate_weights(config)
    if bits:
        return (
            estimate.parameters * bits / 8,
            f"estimate: {estimate.parameters / 1e9:.2f} B parameters at {bits:g} bits",
        )
    return estimate.bytes, estimate.how


def _observed(source: str, options: dict[str, Any]) -> list[tuple[str, Sizing]]:
    """Title and sizing per observed engine. Raises UsageError where an engine does not tell enough."""
    from diagnose.engines.catalog import known_families

    http = {k: options[k] for k in ("headers", "bearer_token_file", "basic_auth", "ca_file", "insecure", "timeout")}
    seen = inputs.gather((source,), inputs.Evidence(), options["window"], lambda: inputs.http(**http), known_families())
    from diagnose import settings, walk

    diagnosis = walk.diagnose(seen, settings.resolve(None))
    found = []
    for target in diagnosis.targets:
        values = {name: value.value for name, value in target.signals.items()}
        tokens = options["kv_tokens"] or values.get("kv_capacity_tokens", values.get("config_kv_tokens"))
        lengths = [values[k] for k in ("prompt_len_mean", "output_len_mean") if k in values]
        context = options["context"] or (sum(lengths) if lengths else None)
        if tokens is None or context is None:
            continue
        where = "--context" if options["context"] else "observed, mean prompt + output"
        result = _reported(
            tokens, context, options["occupancy"], "--kv-tokens" if options["kv_tokens"] else "the engine", where
        )
        found.append((f"{target.name}: {target.engine} {target.version}".rstrip(), result))
    if not found:
        _reported(options["kv_tokens"], options["context"], options["occupancy"], source, source)
        raise UsageError(
            "no engine reports its KV tokens and request lengths", where=source, hint="Give --kv-tokens and --context"
        )
    return found
