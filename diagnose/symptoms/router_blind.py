"""The router sees no KV events."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="router_blind",
    title="The router sees no KV events",
    kind="cause",
    severity="ticket",
    when="log_kv_events_misconfigured > 0 or router_scores >= seen and router_score_max <= 0",
    meaning="Every worker scores zero for every request: the workers publish no KV events, so the router cannot see any overlap. It does not mean that prompts share nothing.",
    thresholds=(Threshold("seen", 4.0, "scores", 2.0, 1000.0, "one zero is a cold cache"),),
    moves=("4.2/wire-kv-events",),
    say="{router_scores} routing scores, best {router_score_max}",
    missing="router log",
)
