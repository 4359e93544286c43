"""The engine fell back to a slower attention backend."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="attention_fallback",
    title="The engine fell back to a slower attention backend",
    kind="opportunity",
    severity="info",
    when="log_attention_fallback > 0 unless config_cpu == 1",
    meaning="The log says that the faster backend was not usable for a reason that can be removed (a missing package). The fallback can cost 10-30 % of attention-bound work.",
    moves=("1.3/choose-backend",),
    confidence="medium",
    say="the log names a fallback of the attention backend",
    missing="start-up log",
)
