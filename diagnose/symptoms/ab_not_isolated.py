"""The runs differ in more than one thing."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="ab_not_isolated",
    title="The runs differ in more than one thing",
    kind="monitoring",
    severity="info",
    when="ab_mixed == 1",
    meaning="Several settings changed between the runs (or none that is known), so the difference cannot be put down to one of them. Change one thing at a time.",
    say="no two runs differ in exactly one setting",
    missing="a benchmark in which only one setting changes",
)
