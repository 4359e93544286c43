"""The runs do not differ."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_no_difference",
    title="The runs do not differ",
    kind="benign",
    severity="info",
    when="ab_best_gain < same",
    meaning="One thing was changed and nothing moved: that resource was not the limit. Keep the simpler setting.",
    thresholds=(Threshold("same", 0.05, "ratio", 0.005, 0.2, "run-to-run noise of a serving benchmark"),),
    explains=(
        "graphs_disabled",
        "prefix_caching_off",
        "chunked_prefill_disabled",
        "backend_override",
        "quant_kernel_slow",
        "graph_mode_downgraded",
    ),
    say="{ab_best_gain} between the runs",
    missing="comparable measurements of both runs",
)
