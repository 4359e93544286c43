"""The router's view of load is far from the worker's own."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="load_signal_conflict",
    title="The router's view of load is far from the worker's own",
    kind="cause",
    severity="ticket",
    when="load_view_ratio >= apart and worker_block_usage >= busy",
    meaning="The worker is full while its front end believes it is idle, so shedding and scaling on that signal can never work. Feed the true worker load into it.",
    thresholds=(
        Threshold("apart", 3.0, "ratio", 1.2, 1000.0, "views of one number should agree"),
        Threshold("busy", 0.8, "ratio", 0.3, 1.0, "the worker is near its limit"),
    ),
    moves=("4.3/fix-load-signal",),
    explains=("kv_pressure", "queue_growth"),
    confidence="medium",
    say="the worker is {worker_block_usage} full, {load_view_ratio} times what the router sees",
    missing="load by the worker and by the router",
)
