"""Replicas share prefixes but each sees few of them."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="cache_unaware_routing",
    title="Replicas share prefixes but each sees few of them",
    kind="opportunity",
    severity="ticket",
    when="ranks >= 2 and prompts_share == 1 and (prefix_hit_ratio_max < low or prefix_hit_fall < halved)",
    meaning="Requests with the same beginning are spread over replicas, and every replica computes it again. Route by prefix before building a shared cache.",
    thresholds=(
        Threshold("low", 0.3, "ratio", 0.01, 0.95, "even the best replica hits little"),
        Threshold(
            "halved",
            0.5,
            "ratio",
            0.05,
            0.95,
            "hits fall on every replica within the window: requests changed their replica",
        ),
    ),
    moves=("4.2/cache-aware-routing", "4.2/shared-cache"),
    explains=("low_prefix_hit_rate",),
    confidence="medium",
    say="best hit ratio of {ranks} replicas: {prefix_hit_ratio_max}",
    missing="prefix counters of all replicas, and what the prompts share",
)
