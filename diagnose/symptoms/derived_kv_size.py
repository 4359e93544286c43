"""The same memory is printed as another number of tokens."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="derived_kv_size",
    title="The same memory is printed as another number of tokens",
    kind="benign",
    severity="info",
    when="ab_kv_size_only == 1",
    meaning="The KV memory is the same, only the printed token count differs: versions count sliding-window and shared layers differently. It is an estimate for full-length contexts.",
    explains=("regression_after_upgrade", "ab_not_isolated", "backend_override"),
    say="equal KV memory, different token counts",
    missing="available KV memory of both runs",
)
