"""Adapters cost kernel time, whatever the slots."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="lora_kernel_overhead",
    title="Adapters cost kernel time, whatever the slots",
    kind="benign",
    severity="info",
    when="ab_workload_gain > 0 and lora_overflow_max <= 1",
    meaning="Serving with adapters is slower than without, and more slots change nothing: the cost is the adapter kernel, not loading. Routing would not help.",
    explains=("adapter_churn",),
    say="{ab_workload_gain} between runs with and without adapters, all of which fit their slots",
    missing="the same benchmark with and without adapters",
)
