"""On a CPU build the usage stands in the other field."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="cpu_fields_swapped",
    title="On a CPU build the usage stands in the other field",
    kind="benign",
    severity="info",
    when="cpu_kv_usage_max > 0 and kv_usage_max == 0 and requests_running_max >= 1",
    meaning="Old CPU builds report the KV cache as CPU usage and leave the GPU field at zero. Read the CPU field.",
    say="CPU KV usage {cpu_kv_usage_max} beside GPU KV usage 0",
    missing="both usage fields",
)
