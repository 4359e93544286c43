"""The log reports preemptions."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="preemption_logged",
    title="The log reports preemptions",
    kind="cause",
    severity="ticket",
    when="logged_preemptions >= many",
    meaning="V0 engines warn at every fiftieth preemption. That many in one log mean that sequences lose their KV again and again: fewer sequences, or more KV memory.",
    thresholds=(
        Threshold(
            "many", 40.0, "requests", 2.0, 100000.0, "the first warning comes at one preemption, the next at fifty-one"
        ),
    ),
    moves=("2.1/fewer-sequences", "2.1/more-kv-memory", "2.3/kv-fp8"),
    explains=("kv_pressure", "queue_growth", "batch_cap_bound", "long_prefill_stall", "kv_nearly_full"),
    confidence="medium",
    say="{logged_preemptions} preemptions in the log",
    missing="engine log (V0) or the preemption counter",
)
