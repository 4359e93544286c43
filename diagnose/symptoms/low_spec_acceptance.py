"""Speculation accepts too little."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="low_spec_acceptance",
    title="Speculation accepts too little",
    kind="cause",
    severity="ticket",
    hold=600.0,
    when="spec_acceptance < low or spec_accept_length < short or spec_acceptance < half and requests_running >= busy "
    "unless spec_drafted < floor",
    meaning="Most drafted tokens are thrown away: each step verifies work that does not count. Below 50 % acceptance speculation hurts under load.",
    thresholds=(
        Threshold("low", 0.3, "ratio", 0.01, 0.9, "hardly any draft pays for its verification"),
        Threshold("half", 0.5, "ratio", 0.1, 0.95, "the guide: below 50 % speculation hurts"),
        Threshold("short", 1.5, "tokens", 1.0, 8.0, "tokens per step, bonus included: under half a token gained"),
        Threshold("busy", 16.0, "requests", 1.0, 1024.0, "from here on verification competes with the batch"),
        Threshold("floor", 500.0, "tokens", 1.0, 1e9, "too few drafts to judge"),
    ),
    moves=("3.2/off", "3.2/fewer-tokens", "3.2/ngram-first"),
    say="{spec_acceptance} of drafted tokens accepted, {spec_accept_length} tokens per step at {requests_running} running",
    missing="speculation counters in two scrapes or SpecDecoding lines",
    alert="LLMSpeculationUnprofitable",
)
