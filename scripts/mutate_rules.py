"""Breaks the shipped rules one way at a time and shows which case of rules/tests catches it.

PYTHONPATH=. python scripts/mutate_rules.py [--few]     exit 1 when a mutation is caught by nothing
Kinds: an operator flipped, a metric misspelt, a threshold moved by 30 % (both ways), a ``by (le)`` dropped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from diagnose.generate import cases

ROOT = Path(__file__).resolve().parents[1]
RULES, CASES = ROOT / "rules", "llm-alerts.test.yaml"
ALERTS, RECORDS = "llm-alerts.rules.yaml", "llm-recording.rules.yaml"
FLIPPED = {">=": "<", "<=": ">", ">": "<=", "<": ">="}
# the comparison in which an alert's threshold stands: what is moved and flipped
DECIDING = {
    "LLMPreemptionStorm": "engine:preemptions_per_finished > 0.1", "LLMKVCachePressure": "engine:kv_usage_max >= 0.95",
    "LLMQueueGrowth": "engine:requests_waiting >= 5", "LLMCudaGraphCoverageGap": "engine:graph_share < 0.5",
    "LLMGraphPoolGrowth": "engine:graph_growth > 268435456", "LLMErrorRate": "engine:error_share > 0.05",
    "LLMPrefillStallsDecode": "engine:itl_stall_share > 0.005", "LLMKVTransferBound": "engine:pd_inflight_queue >= 20",
    "LLMLowPrefixCacheHitRate": "engine:prefix_hit_ratio < 0.05",
    "LLMBatchCapBound": "engine:waiting_over_running >= 1",
    "LLMSpeculationUnprofitable": "engine:spec_acceptance < 0.3",
}  # fmt: skip
METRICS = {
    "vllm:num_preemptions_total": "LLMPreemptionStorm", "vllm:kv_cache_usage_perc": "LLMKVCachePressure",
    "vllm:gpu_cache_usage_perc": "LLMKVCachePressure", "vllm:num_requests_waiting": "LLMQueueGrowth",
    "sglang:num_queue_reqs": "LLMAdapterChurn", "sglang_lora_pool_utilization": "LLMAdapterChurn",
    "sglang:graph_memory_usage_gb": "LLMGraphPoolGrowth", "vllm:prefix_cache_hits_total": "LLMLowPrefixCacheHitRate",
    "vllm:time_per_output_token_seconds_bucket": "LLMInterTokenLatencyBudgetBurn",
    "sglang_num_prefill_infight_queue_reqs": "LLMKVTransferBound",
    "vllm:time_to_first_token_seconds_bucket": "LLMTimeToFirstTokenBudgetBurn",
}  # fmt: skip
Mutation = tuple[str, str, str, dict[str, str]]  # kind, what, alert whose cases run, texts of the rule files


def mutations() -> Iterator[Mutation]:
    """All mutations of the shipped files."""
    texts = {name: (RULES / name).read_text(encoding="utf-8") for name in (ALERTS, RECORDS)}
    for alert, text in DECIDING.items():
        left, op, number = text.split()
        yield "operator", text, alert, _alert(texts, text, f"{left} {FLIPPED[op]} {number}")
        for factor in (0.7, 1.3):
            moved = f"{left} {op} {float(number) * factor:.10g}"
            yield "threshold", f"{text} x {factor}", alert, _alert(texts, text, moved)
    for name, alert in METRICS.items():
        broken = re.sub(rf"\b{name}\b", name + "x", texts[RECORDS])
        assert broken != texts[RECORDS], name
        yield "metric", name, alert, {**texts, RECORDS: broken}
    without = texts[RECORDS].replace(", rank, le)", ", rank)")
    assert without != texts[RECORDS]
    yield "by (le)", "all quantiles", "LLMPrefillStallsDecode", {**texts, RECORDS: without}


def _alert(texts: dict[str, str], old: str, new: str) -> dict[str, str]:
    assert re.search(re.escape(old) + r"(?![\d.])", texts[ALERTS]), old
    return {**texts, ALERTS: re.sub(re.escape(old) + r"(?![\d.])", new, texts[ALERTS])}


def caught(alert: str, texts: dict[str, str]) -> str:
    """The expression of the first failing check, "" when every check passes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tests").mkdir()
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        test = Path(folder) / "tests" / CASES
        test.write_text(json.dumps(cases.render(alert)), encoding="utf-8")
        done = subprocess.run(["promtool", "test", "rules", str(test)], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    found = re.search(r"expr: .*?(LLM\w+|engine:\w+)", done.stdout + done.stderr)
    return f"{found.group(1)} in {CASES}" if found else "promtool refuses the file"


def main(arguments: list[str]) -> int:
    """Prints the table; 1 when something escaped."""
    chosen = list(mutations())
    if "--few" in arguments:
        chosen = list({m[0]: m for m in chosen}.values())
    whole = {name: (RULES / name).read_text(encoding="utf-8") for name in (ALERTS, RECORDS)}
    for alert in dict.fromkeys(m[2] for m in chosen):  # a case that fails anyway would catch everything
        if caught(alert, whole):
            sys.exit(f"{alert}: its cases fail without any mutation")
    escaped = 0
    for kind, what, alert, texts in chosen:
        by = caught(alert, texts)
        escaped += not by
        print(f"{kind:10} {what[:58]:58} {by or 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - escaped} of {len(chosen)} caught")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
