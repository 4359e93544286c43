"""Engine hung: requests wait and no token comes."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="engine_hung",
    title="Engine hung: requests wait and no token comes",
    kind="fault",
    severity="page",
    hold=60.0,
    when="requests_waiting_last > 0 and (stalled_seconds >= stall and requests_running_last == 0 "
    "or stalled_seconds >= stall_busy and generation_tps == 0) or (requests_running_last >= 1 and stalled_seconds >= stall_running "
    "unless aborted > 0 or log_aborted > 0 or kv_moved_in_stall > still_kv) or requests_running_last >= 1 and gpu_utilization_max < idle_gpu and worker_cpu >= busy_cpu unless awake == 0",
    meaning="Requests wait, and neither prompt nor generation tokens moved since the last scrapes. Waiting for capacity in "
    "front of an idle engine is a livelock, not demand: restart or upgrade, and keep the log.",
    thresholds=(
        Threshold(
            "stall",
            10.0,
            "s",
            5.0,
            600.0,
            "nothing running and a queue: the next step should start within milliseconds",
        ),
        Threshold("stall_running", 30.0, "s", 10.0, 900.0, "no decode step takes that long, and nobody cancelled"),
        Threshold("still_kv", 0.005, "ratio", 0.0, 0.5, "a long prefill fills the KV cache, a hang leaves it as it is"),
        Threshold("busy_cpu", 0.9, "ratio", 0.3, 1.0, "one core of a spinning process"),
        Threshold("idle_gpu", 0.03, "ratio", 0.0, 0.5, "a spinning scheduler in front of an idle GPU"),
        Threshold(
            "stall_busy",
            25.0,
            "s",
            10.0,
            900.0,
            "with requests running, one very long prefill can fill several seconds",
        ),
    ),
    say="{requests_waiting_last} waiting, {requests_running_last} running, no token for {stalled_seconds}",
    missing="two scrapes at least 15 s apart (running, waiting and token counters)",
    alert="LLMEngineHung",
)
