"""One request writes on and on."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="unbounded_output",
    title="One request writes on and on",
    kind="benign",
    severity="info",
    when="requests_running_max == 1 and requests_waiting_max == 0 and kv_rising > 0 and generation_tps > 0 and prompt_tps == 0",
    meaning="KV usage grows by one token per step because one request keeps generating. That is no leak; set an output limit if it is unwanted.",
    explains=("kv_nearly_full",),
    say="one request at {generation_tps}, KV usage up by {kv_rising}",
    missing="running requests and KV usage over several intervals",
)
