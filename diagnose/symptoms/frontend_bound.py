"""First tokens are late before the scheduler sees the request."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="frontend_bound",
    title="First tokens are late before the scheduler sees the request",
    kind="monitoring",
    severity="ticket",
    when="offered_over_served >= times and not known(requests_waiting) or client_over_server >= times and client_concurrency >= many or ttft_unexplained >= late and queue_share_of_ttft < share unless preemptions >= 1",
    meaning="Requests spend their time outside queue and prefill: tokenizer, image or video processing, router or client. No entry of the guide acts there; measure the front end.",
    thresholds=(
        Threshold("times", 2.0, "ratio", 1.1, 1000.0, "less than half of the offered rate is served"),
        Threshold("late", 2.0, "s", 0.2, 600.0, "TTFT beyond queue and prefill"),
        Threshold("many", 16.0, "requests", 2.0, 100000.0, "with few clients the ratio is chance"),
        Threshold("share", 0.3, "ratio", 0.01, 1.0, "the queue is not the reason"),
    ),
    say="{offered_over_served} times the served rate was offered; {client_over_server} times more in flight at the client than in the engine; {ttft_unexplained} of TTFT outside queue and prefill",
    missing="running, waiting and queue time of the engine; CPU use of the API server",
)
