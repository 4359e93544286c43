"""An external cache tier or router setting wins."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_cache_tier",
    title="An external cache tier or router setting wins",
    kind="cause",
    severity="ticket",
    when="ab_4_2_gain > margin and ab_4_2_off_wins == 0",
    meaning="The shared cache or the routing setting is what makes the faster run fast.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("4.2/shared-cache", "4.2/cache-aware-routing"),
    say="{ab_4_2_gain} with the tier",
    missing="the same benchmark with and without the tier",
)
