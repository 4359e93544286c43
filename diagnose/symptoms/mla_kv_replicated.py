"""Tensor parallelism copies the latent KV cache to every rank."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="mla_kv_replicated",
    title="Tensor parallelism copies the latent KV cache to every rank",
    kind="cause",
    severity="ticket",
    when="config_mla == 1 and config_tp >= wide and (kv_usage_max >= full or preemptions >= many) and (requests_waiting >= 1 or preemptions >= many) unless config_dp_attention == 1 or config_dp >= 2",
    applies="config_tp >= 2",
    meaning="A latent-attention model has one KV head: each tensor-parallel rank holds the whole cache, so wider TP adds no room. Use data-parallel attention.",
    thresholds=(
        Threshold("wide", 4.0, "ranks", 2.0, 64.0, "at two ranks the loss is small"),
        Threshold("full", 0.9, "ratio", 0.5, 1.0, "the pool is what is short"),
        Threshold("many", 5.0, "requests", 1.0, 1000.0, "preemptions beyond noise"),
    ),
    moves=("3.1/dp-attention",),
    explains=("kv_pressure", "preemption_storm", "silent_preemption", "queue_growth"),
    confidence="medium",
    say="MLA model on tensor parallel {config_tp} with KV usage {kv_usage_max}",
    missing="model name, tensor parallel size and KV usage",
)
