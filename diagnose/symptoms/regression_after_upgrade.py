"""Only the engine version differs, and one is slower."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="regression_after_upgrade",
    title="Only the engine version differs, and one is slower",
    kind="fault",
    severity="ticket",
    when="ab_version_gain > margin and ab_version_newer_wins == 0",
    meaning="Two runs with the same flags differ in speed only by the engine version: report it and stay on the faster version until it is fixed.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    say="{ab_version_gain} between two versions of the engine",
    missing="the same benchmark on both versions",
)
