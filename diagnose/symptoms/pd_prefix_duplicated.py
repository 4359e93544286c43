"""The decode side stores the same prefix once per request."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="pd_prefix_duplicated",
    title="The decode side stores the same prefix once per request",
    kind="cause",
    severity="ticket",
    when="config_decode_role == 1 and kv_usage_max >= full and external_hit_ratio >= high and prefix_hit_ratio < low",
    meaning="Every request carries its prefix over again and the decode side never reuses it, so a few requests fill the pool. Reuse prefixes on the decode side instead of adding decode workers.",
    thresholds=(
        Threshold("full", 0.9, "ratio", 0.3, 1.0, "the decode pool is short"),
        Threshold("high", 0.9, "ratio", 0.3, 1.0, "practically everything arrives from the prefill side"),
        Threshold("low", 0.05, "ratio", 0.0, 0.5, "nothing is reused locally"),
    ),
    moves=("3.3/reuse-on-decode",),
    explains=(
        "kv_pressure",
        "preemption_storm",
        "mla_kv_replicated",
        "low_prefix_hit_rate",
        "queue_growth",
        "high_ttft",
    ),
    say="decode KV at {kv_usage_max}, local hits {prefix_hit_ratio}, external hits {external_hit_ratio}",
    missing="prefix cache counters of the decode side",
)
