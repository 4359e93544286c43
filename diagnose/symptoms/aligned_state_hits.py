"""Hits of a hybrid model depend on where chunks end."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="aligned_state_hits",
    title="Hits of a hybrid model depend on where chunks end",
    kind="benign",
    severity="info",
    when="config_mamba_align == 1 and prefix_hit_ratio < low",
    meaning="In align mode the state is kept only where a prefill chunk ends, so hits are accidents of chunk boundaries. The load does not change that; there is nothing to tune until the engine does.",
    thresholds=(Threshold("low", 0.1, "ratio", 0.01, 0.9, "a few percent"),),
    explains=("low_prefix_hit_rate", "cache_unaware_routing"),
    say="hit ratio {prefix_hit_ratio} in align mode",
    missing="mamba cache mode and prefix counters",
)
