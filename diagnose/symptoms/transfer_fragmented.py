"""KV moves in many tiny pieces."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="transfer_fragmented",
    title="KV moves in many tiny pieces",
    kind="opportunity",
    severity="ticket",
    when="transfer_descriptors_mean >= many and bytes_per_descriptor < small",
    meaning="Each transfer is cut into thousands of small descriptors, so the link never reaches its speed. Use a layout or block size that gives larger pieces.",
    thresholds=(
        Threshold("many", 1000.0, "descriptors", 10.0, 1e7, "per transfer"),
        Threshold("small", 65536.0, "bytes", 512.0, 1e8, "below this the cost per descriptor dominates"),
    ),
    moves=("3.3/fix-transfer",),
    confidence="medium",
    say="{transfer_descriptors_mean} descriptors of {bytes_per_descriptor} per transfer",
    missing="KV transfer metrics",
)
