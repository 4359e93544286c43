"""The cap is far above what the load uses."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="headroom_unused",
    title="The cap is far above what the load uses",
    kind="info",
    severity="info",
    when="kv_usage_max < low and requests_waiting_max == 0 and config_max_num_seqs > 0 and requests_running_max >= 1",
    meaning="KV usage stays below half without a queue: there is headroom for more traffic on this engine.",
    thresholds=(Threshold("low", 0.5, "ratio", 0.05, 0.9, "the guide: below half there is headroom to increase it"),),
    say="KV usage at most {kv_usage_max}, cap {config_max_num_seqs}",
    missing="KV usage and --max-num-seqs",
    alert="LLMUnusedHeadroom",
)
