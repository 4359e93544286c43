"""Hand-built diagnoses that the report tests render: every verdict, a fleet, a comparison."""

from __future__ import annotations

from diagnose.model import (
    Diagnosis,
    EntryStatus,
    Evidence,
    Fact,
    Finding,
    Missing,
    ModelDiagnosis,
    NextStep,
    TargetSummary,
    Value,
)

TITLES = {
    "1.1": "Chunked prefill",
    "1.2": "Prefix caching",
    "1.3": "Attention backend",
    "2.1": "Right-size max sequences and KV budget",
    "2.2": "CUDA graph capture",
    "2.3": "Quantization",
    "3.1": "Tensor parallelism",
    "3.2": "Speculative decoding",
    "3.3": "Prefill/decode disaggregation",
    "4.1": "Adapter-aware routing",
    "4.2": "Distributed caching",
    "4.3": "Autoscaling",
}


def walk(**status: tuple[str, str]) -> tuple[EntryStatus, ...]:
    """The twelve entries; keys are written ``e2_1``, the others are not indicated."""
    given = {key[1:].replace("_", "."): value for key, value in status.items()}
    return tuple(
        EntryStatus(ident, title, *given.get(ident, ("not-indicated", "no symptom asks for it")))
        for ident, title in TITLES.items()
    )


def signals(**values: float) -> dict[str, Value]:
    """Signals measured over 86 s."""
    return {name: Value(value, "metrics", 86.0) for name, value in values.items()}


STORM_SIGNALS = signals(
    requests_running=3.9, requests_running_max=5, requests_waiting=57.2, requests_waiting_max=60, kv_usage=0.94,
    kv_usage_max=1.0, preemptions=267, preemptions_per_finished=3.0, ttft_mean=28.2, ttft_p99=39.1, itl_mean=0.064,
    itl_p99=0.71, queue_time_mean=27.0, generation_tps=61.3,
)  # fmt: skip

STEP = NextStep(
    id="2.1",
    move="fewer-sequences",
    direction="lower",
    title="Right-size max sequences and KV budget: run fewer sequences at once",
    change=("--max-num-seqs 64 -> 3", "4,096 KV tokens x 0.85 / 1,014 tokens per request = 3.4"),
    why=(
        "267 preemptions, 3.0 per finished request (storm above 0.1)",
        "KV cache at 100 %, 57 waiting for capacity, queue 27 s of a 28 s TTFT",
    ),
    expect=("preemptions to 0", "TTFT and ITL tails down", "throughput should not fall: preempted work is not redone"),
    measure="diagnose now URL at the same load: preemptions per finished request, TTFT p99, generated tokens/s.",
    undo="Set --max-num-seqs back to 64.",
    confidence="high",
    then=("2.3 KV cache to FP8 (twice the room)", "4.3 scale on queue depth if the queue stays"),
)


def _storm_evidence() -> tuple[Evidence, ...]:
    return (
        Evidence("preemptions_per_finished", 3.0, "ratio", ">", 0.1, "metrics", 86.0),
        Evidence("kv_usage_max", 1.0, "ratio", ">=", 0.95, "metrics", 86.0),
    )


def storm() -> Diagnosis:
    """One vLLM in a preemption storm."""
    guide = walk(
        e1_1=("already-applied", "the configuration has it"),
        e1_2=("already-applied", "the configuration has it"),
        e1_3=("unknown", "needs the start-up log"),
        e2_1=("next", "preemption storm"),
        e2_2=("ruled-out", "the device is a CPU"),
        e2_3=("later", "KV pressure"),
        e4_3=("later", "requests wait"),
    )
    target = TargetSummary("r0", "vllm", "0.32.0", "tiny", 28, 86.0, "act", STORM_SIGNALS)
    found = (
        Finding("preemption_storm", "present", "r0", "high", _storm_evidence()),
        Finding("queue_growth", "present", "r0", "medium"),
        Finding("low_spec_acceptance", "unknown", "r0", missing=("spec_acceptance",)),
        Finding("engine_hung", "absent", "r0"),
    )
    return Diagnosis(
        "act", STEP, found, guide, (ModelDiagnosis("tiny", "act", STEP, guide),), (target,),
        (
            Fact("max_num_seqs", 64, "launch", "launch/server.txt:1", "server"),
            Fact("client_request_rate", float("inf"), "launch", "launch/client.txt:1", "client"),
            Fact("flag.api_key", "sk-very-secret", "launch", "launch/server.txt:1", "server"),
            Fact("graph_sizes", (1, 2, 4), "log", "logs/server.log:12", "server"),
        ),
        (Missing("the engine's start-up log", "to decide 1.3", "add --log FILE"),),
        ("A benchmark taken while requests were preempted is not publishable.",),
    )  # fmt: skip


def healthy() -> Diagnosis:
    """One SGLang under load with nothing to change."""
    seen = signals(
        requests_running=11.5, requests_running_max=14, requests_waiting=0, kv_usage=0.41, kv_usage_max=0.52,
        ttft_mean=0.142, itl_mean=0.0214, itl_p99=0.031, prefix_hit_ratio=0.63, generation_tps=540.0,
    )  # fmt: skip
    guide = walk(e1_1=("already-applied", "on by default"), e1_2=("already-applied", "on by default"))
    target = TargetSummary("localhost:30000", "sglang", "0.5.23", "Qwen/Qwen3-8B", 4, 15.0, "healthy", seen)
    found = tuple(Finding(f"symptom_{i}", "absent", "localhost:30000") for i in range(31))
    return Diagnosis(
        "healthy", None, found, guide, (ModelDiagnosis("Qwen/Qwen3-8B", "healthy", None, guide),), (target,), (), (), ()
    )


def cannot_tell() -> Diagnosis:
    """Metrics that say nothing about the engine."""
    guide = walk(**{f"e{i.replace('.', '_')}": ("unknown", "nothing was observed") for i in TITLES})
    missing = (
        Missing(
            "no engine series in 412 series (python, process, http)",
            "the page is not an engine's, or its metrics are switched off",
            "SGLang: start with --enable-metrics; vLLM: remove --disable-log-stats",
        ),
        Missing(
            "the engine's log", "it carries running, waiting and KV usage too", "diagnose now URL --log engine.log"
        ),
    )
    target = TargetSummary("gpu-7:8000", "", "", "", 2, 15.0, "cannot-tell", {})
    return Diagnosis(
        "cannot-tell", None, (), guide, (ModelDiagnosis("", "cannot-tell", None, guide),), (target,), (), missing, ()
    )


def fault() -> Diagnosis:
    """An engine that hangs: requests wait, nothing runs."""
    evidence = (
        Evidence("requests_waiting_last", 30.0, "requests", ">", 0.0, "metrics", 60.0),
        Evidence("stalled_seconds", 45.0, "s", ">", 20.0, "metrics", 60.0),
    )
    guide = walk()
    seen = signals(requests_running=0, requests_waiting=30, kv_usage=0.0, generation_tps=0.0)
    target = TargetSummary("r0", "vllm", "0.11.2", "llama-8b", 5, 60.0, "engine-fault", seen)
    found = (Finding("engine_hung", "present", "r0", "high", evidence),)
    return Diagnosis(
        "engine-fault",
        None,
        found,
        guide,
        (ModelDiagnosis("llama-8b", "engine-fault", None, guide),),
        (target,),
        (),
        (),
        (),
    )


def fleet(size: int = 12) -> Diagnosis:
    """Replicas of one model: one says too little, two are in a storm, the others are well."""
    base = storm()
    targets = []
    found = []
    for i in range(size):
        verdict = "cannot-tell" if i == 7 else "act" if i in (3, 5) else "healthy"
        seen = STORM_SIGNALS if verdict == "act" else healthy().targets[0].signals
        name = f"vllm-llama-70b-{i:02d}.serving.svc:8000"
        targets.append(TargetSummary(name, "vllm", "0.32.0", "meta-llama/Llama-3.3-70B", 4, 15.0, verdict, seen))
        if verdict == "act":
            found.append(Finding("preemption_storm", "present", name, "high", _storm_evidence()))
    return Diagnosis(
        "act", STEP, tuple(found), base.guide, (ModelDiagnosis("meta-llama/Llama-3.3-70B", "act", STEP, base.guide),),
        tuple(targets), base.facts, base.missing, ("4 scrapes each, taken at the same time.",),
    )  # fmt: skip


def comparison() -> Diagnosis:
    """Two benchmarked configurations without scrapes."""
    step = NextStep(
        "1.3", "choose-backend", "tune", "Attention backend: keep the faster one", ("--attention-backend FLASHINFER",),
        ("flashinfer beats fa3 by 18 % in output_throughput (32 clients)",), ("TPOT down by about 15 %",),
        "diagnose now ab-bundle/ after each change", "drop the flag", "medium",
    )  # fmt: skip
    guide = walk(e1_3=("next", "A/B"))
    targets = tuple(TargetSummary(n, "vllm", "0.20.2", "llama-8b", 0, None, "act", {}) for n in ("fa3", "flashinfer"))
    return Diagnosis("act", step, (), guide, (ModelDiagnosis("llama-8b", "act", step, guide),), targets, (), (), ())


ALL = {f.__name__: f for f in (storm, healthy, cannot_tell, fault, fleet, comparison)}
