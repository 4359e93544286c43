"""Speculation accepts too little."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="low_spec_acceptance",
    title="Speculation accepts too little",
    kind="cause",
    severity="ticket",
    hold=600.0,
    when="(spec_acceptance < low unless spec_accept_length >= pays) or spec_accept_length < short unless spec_drafted < floor",
    applies="config_spec == 1",
    meaning="Most drafted tokens are thrown away: each step verifies work that does not count. Below 50 % acceptance speculation hurts under load.",
    thresholds=(
        Threshold("low", 0.3, "ratio", 0.01, 0.9, "hardly any draft pays for its verification"),
        Threshold(
            "pays",
            2.0,
            "tokens",
            1.2,
            8.0,
            "a rate over many drafted positions can be low while each step gains a token",
        ),
        Threshold("short", 1.5, "tokens", 1.0, 8.0, "tokens per step, bonus included: under half a token gained"),
        Threshold("floor", 500.0, "tokens", 1.0, 1e9, "too few drafts to judge"),
    ),
    moves=("3.2/off", "3.2/fewer-tokens", "3.2/ngram-first"),
    say="{spec_acceptance} of drafted tokens accepted, {spec_accept_length} tokens per step at {requests_running} running",
    missing="speculation counters in two scrapes or SpecDecoding lines",
    alert="LLMSpeculationUnprofitable",
)
