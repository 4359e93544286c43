"""Load piles up on some ranks or replicas."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="replica_imbalance",
    title="Load piles up on some ranks or replicas",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="ranks >= 2 and waiting_rank_max >= queue and waiting_rank_spread < uneven",
    meaning="Some ranks queue while others have room. Averages over ranks would suggest tuning the KV cache; the spread is the diagnosis. Balance by queue and KV usage.",
    thresholds=(
        Threshold("queue", 8.0, "requests", 1.0, 10000.0, "a standing queue on the fullest rank"),
        Threshold("uneven", 0.25, "ratio", 0.01, 1.0, "the median rank's queue over the longest one"),
    ),
    moves=("4.2/balance-load", "4.2/cache-aware-routing"),
    explains=(
        "kv_pressure",
        "queue_growth",
        "preemption_storm",
        "silent_preemption",
        "high_ttft",
        "batch_cap_bound",
        "low_prefix_hit_rate",
    ),
    say="up to {waiting_rank_max} waiting on one of {ranks} ranks, KV usage {kv_rank_spread} apart",
    missing="scrapes of all ranks or replicas",
    alert="LLMReplicaImbalance",
)
