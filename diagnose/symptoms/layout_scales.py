"""The added GPUs bring what they should."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="layout_scales",
    title="The added GPUs bring what they should",
    kind="benign",
    severity="info",
    when="ab_3_1_scaling >= poor",
    meaning="More GPUs per engine never bring their full number: collectives and unsharded work cost the rest. This yield is normal.",
    thresholds=(Threshold("poor", 0.5, "ratio", 0.05, 1.0, "the same line as for a wasteful layout"),),
    say="{ab_3_1_scaling} of the throughput that the added GPUs could bring",
    missing="the same benchmark on both layouts",
)
