"""The endpoint answers without engine series."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="metrics_missing",
    title="The endpoint answers without engine series",
    kind="monitoring",
    severity="ticket",
    when="engine_series == 0 and scrapes >= 1 unless log_intervals >= 2",
    meaning="An exposition without engine series is not an idle server: statistics are off or another process holds them. "
    "vLLM: remove --disable-log-stats; with several front ends set PROMETHEUS_MULTIPROC_DIR. SGLang: start with --enable-metrics.",
    say="{scrapes} scrapes, {engine_series} engine series",
    missing="engine metrics (vLLM without --disable-log-stats; SGLang with --enable-metrics) or engine log lines",
    alert="LLMSignalMissing",
)
