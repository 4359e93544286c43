"""Host memory grows steadily under constant load."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="host_memory_leak",
    title="Host memory grows steadily under constant load",
    kind="fault",
    severity="ticket",
    when="host_memory_growth >= grown and host_memory_ratio >= times",
    meaning="The process takes more and more host memory while the load stays the same and no cache levels it off: a leak. Upgrade, or restart on a schedule until it is fixed.",
    thresholds=(
        Threshold("grown", 4294967296.0, "bytes", 1048576.0, 1e13, "4 GiB cannot be a warm-up"),
        Threshold("times", 1.5, "ratio", 1.05, 100.0, "half as much again as at the start"),
    ),
    confidence="medium",
    say="resident memory grew by {host_memory_growth} to {host_memory_ratio} times its start",
    missing="process_resident_memory_bytes over at least five scrapes",
)
