"""An attention backend is forced and was never compared."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="backend_override",
    title="An attention backend is forced and was never compared",
    kind="monitoring",
    severity="info",
    when="config_attention_explicit == 1 and ab_unmeasured > 0 or ab_unmeasured > 0 and ab_runs >= 2 and not known(ab_best_gain)",
    meaning="The configuration that is to be judged was not measured beside the other one. It can be neither praised nor blamed.",
    say="{ab_unmeasured} of {ab_runs} runs have no measurement",
    missing="the same benchmark for every configuration, one thing changed at a time",
)
