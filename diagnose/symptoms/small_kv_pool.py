"""The KV cache holds hardly more than one request of full length."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="small_kv_pool",
    title="The KV cache holds hardly more than one request of full length",
    kind="info",
    severity="info",
    when="config_kv_max_concurrency < few",
    meaning="By the engine's own figure few requests of max-model-len fit. Typical requests are shorter, so this alone is no fault; it bounds concurrency when contexts are long.",
    thresholds=(Threshold("few", 2.0, "requests", 0.5, 64.0, "two full-length requests cannot run together"),),
    say="room for {config_kv_max_concurrency} full-length requests",
    missing="the line 'Maximum concurrency' of the start-up log",
)
