"""Throughput does not grow with concurrency."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="batch_scaling_broken",
    title="Throughput does not grow with concurrency",
    kind="cause",
    severity="ticket",
    when="scaling_efficiency < poor and config_weights_quantized == 1",
    meaning="With many more requests in flight the engine produces hardly more tokens. Weight-only quantization helps small batches and can cap large ones: change the kernel or the format.",
    thresholds=(
        Threshold(
            "poor",
            0.25,
            "ratio",
            0.02,
            0.9,
            "share of linear growth between the smallest and the largest concurrency up to 32",
        ),
    ),
    moves=("2.3/change-kernel", "2.3/weights-fp8"),
    confidence="medium",
    say="{scaling_efficiency} of linear scaling",
    missing="the benchmark at several concurrencies",
)
