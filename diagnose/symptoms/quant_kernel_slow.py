"""The quantization kernel is not the fast one."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="quant_kernel_slow",
    title="The quantization kernel is not the fast one",
    kind="opportunity",
    severity="info",
    when="log_quant_not_optimized > 0",
    meaning="The engine itself warns that this quantization path can be slower than the unquantized model. Use the supported kernel (Marlin) or another format.",
    moves=("2.3/change-kernel",),
    say="the log warns that the quantization is not optimized",
    missing="start-up log",
)
