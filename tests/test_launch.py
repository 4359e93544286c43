"""Launch text: shell, docker, compose, Kubernetes, Helm, Python calls, argument dumps, load generators."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.sources import pyrepr
from diagnose.sources.launch import parse_launch


def facts(text: str) -> dict[str, object]:
    """The last value of each fact of a launch text."""
    return {fact.id: fact.value for fact in parse_launch(text, "r").facts}


VLLM = {"engine": "vllm", "model": "m"}
SGLANG = {"engine": "sglang", "model": "m"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("vllm serve m -tp 2 --kv-cache-dtype fp8", VLLM | {"tp": 2, "kv_cache_dtype": "fp8"}),
        ("vllm serve --enforce-eager m -dp=2 -ep", VLLM | {"enforce_eager": True, "dp": 2, "ep": True}),
        (
            "vllm serve m --no-enable-prefix-caching --no-enable-chunked-prefill --max-num-batched-tokens 16384",
            VLLM | {"prefix_caching": False, "chunked_prefill": False, "max_num_batched_tokens": 16384},
        ),
        ("vllm serve m --max-num-batched-tokens=8192", VLLM | {"max_num_batched_tokens": 8192, "chunk_budget": 8192}),
        ("vllm serve m --max-model-len 32K --max-num-seqs 64", VLLM | {"max_model_len": 32768, "max_num_seqs": 64}),
        ("vllm serve m --max-model-len 1k", VLLM | {"max_model_len": 1000}),
        ("vllm serve m --kv-cache-memory-bytes 10G", VLLM | {"kv_bytes": 10 * 1024**3}),
        (
            "python -m vllm.entrypoints.openai.api_server --model m --swap-space 16 --speculative-model [ngram] "
            "--num-speculative-tokens 5 --enable-chunked-prefill=False",
            VLLM | {"swap_space_bytes": 16 * 1024**3, "spec_model": "[ngram]", "spec_method": "ngram", "spec_tokens": 5,
                    "chunked_prefill": False},
        ),
        (
            """vllm serve m --speculative-config '{"method":"mtp","num_speculative_tokens":2}'""",
            VLLM | {"spec_method": "mtp", "spec_tokens": 2},
        ),
        (
            """vllm serve m --speculative-config '{"model": "draft", "num_speculative_tokens": 3,
            "parallel_drafting": true}'""",
            VLLM | {"spec_method": "draft_model", "spec_model": "draft", "spec_tokens": 3,
                    "spec_parallel_drafting": True},
        ),
        (
            "vllm serve m --structured-outputs-config.backend xgrammar --speculative-config.method eagle3 "
            "--speculative-config.num_speculative_tokens 3 -cc.cudagraph_mode=FULL_DECODE_ONLY",
            VLLM | {"structured_outputs_backend": "xgrammar", "spec_method": "eagle3", "spec_tokens": 3,
                    "graph_mode": "FULL_DECODE_ONLY"},
        ),
        (
            """vllm serve m --compilation-config '{"cudagraph_mode":"PIECEWISE","cudagraph_capture_sizes":[4,1,2]}'""",
            VLLM | {"graph_mode": "PIECEWISE", "graph_sizes": (1, 2, 4)},
        ),
        ("vllm serve m -O3", VLLM | {"flag.compilation_level": 3}),
        (
            """vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'""",
            VLLM | {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_offload": "lmcache"},
        ),
        (
            """vllm serve m --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'""",
            VLLM | {"kv_connector": "NixlConnector", "kv_role": "kv_producer", "disaggregation": "prefill"},
        ),
        (
            """vllm serve m --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_both",
            "kv_connector_extra_config":{"connectors":[{"kv_connector":"OffloadingConnector"}]}}' -tp 2""",
            VLLM | {"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_offload": "native", "tp": 2},
        ),
        ("vllm serve m --kv-offloading-size 32", VLLM | {"kv_offload": "native"}),
        (
            "vllm serve m --enable-lora --max-loras 4 --lora-modules a=x b=y c=z --disable-log-stats",
            VLLM | {"lora": True, "max_loras": 4, "lora_adapters": 3, "disable_log_stats": True},
        ),
        ("vllm serve m --gpu-memory-utilization 0.9 --some-new-flag 7 --another",
         VLLM | {"gpu_memory_utilization": 0.9, "flag.some_new_flag": 7, "flag.another": True}),
        ("vllm serve m --trust-remote-code --api-key secret --hf-token abc", VLLM),
        (
            "python -m sglang.launch_server --model-path m --tp 2 --dp-size 2 --enable-dp-attention --ep 8",
            SGLANG | {"tp": 2, "dp": 2, "dp_attention": True, "ep": 8},
        ),
        (
            "sglang serve --model-path m --chunked-prefill-size -1 --disable-radix-cache --disable-cuda-graph",
            SGLANG | {"chunk_budget": -1, "chunked_prefill": False, "prefix_caching": False, "enforce_eager": True},
        ),
        (
            "sglang serve --model-path m --chunked-prefill-size 4096 --cuda-graph-bs 1 2 4 --mem-fraction-static 0.8 "
            "--max-running-requests 32 --context-length 128k --schedule-conservativeness 0.3",
            SGLANG | {"chunk_budget": 4096, "chunked_prefill": True, "graph_sizes": (1, 2, 4),
                      "mem_fraction_static": 0.8, "max_num_seqs": 32, "max_model_len": 128000,
                      "schedule_conservativeness": 0.3},
        ),
        (
            "sglang serve --model-path m --speculative-algorithm NEXTN --speculative-num-steps 3 "
            "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
            SGLANG | {"spec_method": "nextn", "spec_tokens": 3, "flag.speculative_eagle_topk": 1,
                      "flag.speculative_num_draft_tokens": 4},
        ),
        (
            "sglang serve --model-path m --enable-hierarchical-cache --hicache-storage-backend file "
            "--hicache-storage-prefetch-policy wait_complete --disaggregation-mode prefill",
            SGLANG | {"hicache": True, "kv_offload": "hicache", "hicache_storage": "file",
                      "hicache_prefetch_policy": "wait_complete", "disaggregation": "prefill"},
        ),
        (
            "sglang serve --model-path m --lora-paths a0=x a1=y --max-loras-per-batch 8 --attention-backend fa3",
            SGLANG | {"lora": True, "lora_adapters": 2, "max_loras": 8, "attention_backend": "fa3",
                      "attention_backend_explicit": True},
        ),
        ("python -m dynamo.frontend --router-mode kv", {"engine": "dynamo", "router_mode": "kv"}),
        ("python -m dynamo.vllm --model m", VLLM),
        ("python -m sglang_router.launch_router --policy cache_aware",
         {"engine": "sglang-router", "router_mode": "cache_aware"}),
    ],
)  # fmt: skip
def test_command_lines(text: str, want: dict[str, object]) -> None:
    assert facts(text) == want


def test_environment_prefixes() -> None:
    text = "NCCL_P2P_DISABLE=1 VLLM_ATTENTION_BACKEND=FLASHINFER HF_TOKEN=secret vllm serve m"
    assert facts(text) == VLLM | {
        "env.NCCL_P2P_DISABLE": 1, "env.VLLM_ATTENTION_BACKEND": "FLASHINFER", "attention_backend": "FLASHINFER",
        "attention_backend_explicit": True,
    }  # fmt: skip
    exported = "export VLLM_USE_V1=0\nexport FOO=1\nvllm serve m\n"
    assert facts(exported) == VLLM | {"env.VLLM_USE_V1": 0}
    captured = "env: HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1\ncmd: vllm serve m --max-num-seqs 2\n"
    assert facts(captured) == VLLM | {"env.VLLM_CPU_KVCACHE_SPACE": 1, "max_num_seqs": 2}


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m \\\n  --max-num-seqs 64 \\\n  -tp 2\n",
        "vllm serve m \\  \n  --max-num-seqs 64 \\\n\n  -tp 2\n",
        "vllm serve m\n  --max-num-seqs 64\n  -tp 2\n",
        "$ vllm serve m --max-num-seqs 64 -tp 2",
        "root@gpu01:~# vllm serve m --max-num-seqs 64 -tp 2",
        "(venv) me@box:/srv$ nohup vllm serve m --max-num-seqs 64 -tp 2 > log.txt 2>&1 &",
        "cd /srv && vllm serve m --max-num-seqs 64 -tp 2",
        "vllm serve m \u2014max-num-seqs 64 \u2013\u2013tensor-parallel-size 2",
        "vllm serve m --max-num-seqs\uff1d64 --tensor-parallel-size\u00a02",
        "```bash\nvllm serve m --max-num-seqs 64 -tp 2\n```",
        "uv run vllm serve m --max_num_seqs 64 --tensor_parallel_size 2",
        'bash -c "vllm serve m --max-num-seqs 64 -tp 2"',
        "--model m --max-num-seqs 64 -tp 2 --gpu-memory-utilization 0.9",
        "[Service]\nEnvironment=VLLM_USE_V1=1\nExecStart=/opt/venv/bin/vllm serve m --max-num-seqs 64 -tp 2\n",
        'FROM vllm/vllm-openai\nENV VLLM_USE_V1=1\nCMD ["vllm", "serve", "m", "--max-num-seqs", "64", "-tp", "2"]\n',
        '[{"Image": "x", "Entrypoint": ["vllm", "serve"], "Cmd": ["m", "--max-num-seqs", "64", "-tp", "2"]}]',
        "#!/bin/bash\n#SBATCH -N 1\nsrun --gpus 2 vllm serve m --max-num-seqs 64 -tp 2\n",
    ],
)
def test_ways_to_paste_a_command(text: str) -> None:
    known = facts(text)
    assert known.items() >= {"model": "m", "max_num_seqs": 64, "tp": 2, "engine": "vllm"}.items()


def test_smart_quotes_around_json() -> None:
    config = '{"method": "ngram", "num_speculative_tokens": 4}'.replace('"', "\u201c")
    text = f"vllm serve m --speculative-config \u2018{config}\u2019"
    assert facts(text) == VLLM | {"spec_method": "ngram", "spec_tokens": 4}


def test_docker_run() -> None:
    text = """docker run --gpus all --ipc=host -p 8000:8000 -v ~/.cache:/root/.cache \\
        --env "HF_TOKEN=secret" -e VLLM_USE_V1=1 --shm-size 16g \\
        vllm/vllm-openai:v0.11.2 --model m --tensor-parallel-size 4"""
    assert facts(text) == VLLM | {"engine_version": "0.11.2", "env.VLLM_USE_V1": 1, "tp": 4}
    text = "docker run -d --gpus '\"device=0,1\"' lmsysorg/sglang:v0.5.3-cu129 python3 -m sglang.launch_server "
    text += "--model-path m"
    assert facts(text) == SGLANG | {"engine_version": "0.5.3"}
    assert "engine_version" not in facts("docker run lmcache/vllm-openai:v0.3.7 --model m")
    assert "engine_version" not in facts("docker run vllm/vllm-openai:latest m -tp 2")


def test_compose() -> None:
    text = """services:
  vllm:
    image: vllm/vllm-openai:v0.9.1
    environment:
      - VLLM_ATTENTION_BACKEND=FLASHINFER
    command: >
      --model m --max-num-seqs 256
      --speculative-config '{"method":"eagle3","model":"d","num_speculative_tokens":3}'
"""
    known = facts(text)
    assert known["engine_version"] == "0.9.1" and known["attention_backend"] == "FLASHINFER"
    assert known["max_num_seqs"] == 256 and known["spec_method"] == "eagle3" and known["model"] == "m"
    text = "services:\n  s:\n    image: lmsysorg/sglang:latest\n    "
    text += 'command: ["python3", "-m", "sglang.launch_server", "--model-path", "m"]\n'
    assert facts(text) == SGLANG


KUBERNETES = """apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 3
  template:
    spec:
      containers:
      - image: vllm/vllm-openai:v0.10.2
        command: ["/bin/sh", "-c"]
        args:
        - |
          vllm serve m \\
            --enable-prefix-caching --max-model-len 8192 \\
            --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
        env:
        - {name: VLLM_LOGGING_LEVEL, value: DEBUG}
        - name: HF_TOKEN
          valueFrom: {secretKeyRef: {name: a, key: b}}
        resources: {limits: {nvidia.com/gpu: "4"}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 1
  maxReplicas: 8
  metrics:
  - type: Pods
    pods:
      metric: {name: vllm_num_requests_waiting}
      target: {type: AverageValue, averageValue: "10"}
"""


def test_kubernetes() -> None:
    seen = parse_launch(KUBERNETES, "server")
    known = {fact.id: fact.value for fact in seen.facts}
    assert known == VLLM | {
        "engine_version": "0.10.2", "prefix_caching": True, "max_model_len": 8192, "kv_connector": "NixlConnector",
        "kv_role": "kv_both", "env.VLLM_LOGGING_LEVEL": "DEBUG", "k8s.replicas": 3, "k8s.gpus": 4,
        "k8s.autoscaler": "HorizontalPodAutoscaler", "k8s.min_replicas": 1, "k8s.max_replicas": 8,
        "k8s.hpa_metric": "vllm_num_requests_waiting", "k8s.hpa_target": "10",
    }  # fmt: skip
    assert {fact.run for fact in seen.facts if fact.id.startswith("k8s.")} == {""}
    assert {fact.run for fact in seen.facts if not fact.id.startswith("k8s.")} == {"server"}


def test_kubernetes_arguments_as_items() -> None:
    arguments = ["--model", "m", "--max-num-seqs", '"64"', "--enable-lora", "--max-loras=4"]
    text = "containers:\n- name: x\n  args:\n" + "".join(f"  - {argument}\n" for argument in arguments)
    assert facts(text).items() >= {"model": "m", "max_num_seqs": 64, "lora": True, "max_loras": 4}.items()


def test_autoscaler_on_a_query() -> None:
    text = (
        "kind: ScaledObject\nspec:\n  minReplicaCount: 1\n  triggers:\n  - type: prometheus\n    metadata:\n"
        '      query: sum(vllm:num_requests_waiting)\n      threshold: "5"\n'
    )
    assert facts(text) == {
        "k8s.autoscaler": "ScaledObject", "k8s.min_replicas": 1, "k8s.keda_query": "sum(vllm:num_requests_waiting)",
        "k8s.keda_threshold": 5,
    }  # fmt: skip


def test_helm_values() -> None:
    text = """servingEngineSpec:
  modelSpec:
  - repository: vllm/vllm-openai
    tag: v0.8.5
    modelURL: m
    replicaCount: 2
    vllmConfig:
      enablePrefixCaching: true
      enableChunkedPrefill: false
      maxModelLen: 16384
      extraArgs: ["--max-num-seqs", "128"]
    lmcacheConfig: {enabled: true}
routerSpec: {routingLogic: session}
"""
    assert facts(text) == VLLM | {
        "engine_version": "0.8.5", "prefix_caching": True, "chunked_prefill": False, "max_model_len": 16384,
        "max_num_seqs": 128, "kv_offload": "lmcache", "router_mode": "session", "k8s.replicas": 2,
    }  # fmt: skip


def test_other_manifests() -> None:
    text = "llm_configs:\n- engine_kwargs: {tensor_parallel_size: 2, max_num_seqs: 8}\n"
    assert facts(text).items() >= {"tp": 2, "max_num_seqs": 8}.items()
    text = (
        "kind: EndpointPickerConfig\nschedulingProfiles:\n- name: default\n  plugins:\n"
        "  - pluginRef: queue-scorer\n    weight: 2\n  - pluginRef: prefix-cache-scorer\n    weight: 3\n"
    )
    assert facts(text) == {"k8s.epp.queue-scorer": 2.0, "k8s.epp.prefix-cache-scorer": 3.0}


def test_configuration_files_of_engine_and_cache() -> None:
    text = "model: m\nmax-model-len: 4096\ntensor-parallel-size: 2\nenable-prefix-caching: true\n"
    assert facts(text) == {"model": "m", "max_model_len": 4096, "tp": 2, "prefix_caching": True}
    seen = parse_launch("chunk_size: 256\nlocal_cpu: true\n", "lmcache")
    assert {f.id: f.value for f in seen.facts} == {
        "kv_offload": "lmcache", "lmcache.chunk_size": 256, "lmcache.local_cpu": True,
    }  # fmt: skip
    assert {f.run for f in seen.facts} == {""}  # settings of the cache are no run of their own


def test_python_calls_and_dumps() -> None:
    text = 'llm = LLM(model="m", tensor_parallel_size=2, enforce_eager=True,\n'
    text += "    max_num_seqs=32, enable_prefix_caching=False)"
    assert facts(text) == VLLM | {
        "tp": 2, "enforce_eager": True, "max_num_seqs": 32, "prefix_caching": False, "client_offline": True,
    }  # fmt: skip
    assert facts('sgl.Engine(model_path="m", tp_size=2, disable_cuda_graph=True)') == SGLANG | {
        "tp": 2, "enforce_eager": True,
    }  # fmt: skip
    text = (
        "args: Namespace(host=None, model='m', tensor_parallel_size=2, max_num_batched_tokens=None, "
        "enable_chunked_prefill=None, enforce_eager=False, swap_space=4, quantization=None, unknown=3)"
    )
    assert facts(text) == VLLM | {"tp": 2, "enforce_eager": False, "swap_space_bytes": 4 * 1024**3}
    text = "ServerArgs(model_path='m', tp_size=2, disable_radix_cache=True, speculative_algorithm=None, unknown=1)"
    assert facts(text) == SGLANG | {"tp": 2, "prefix_caching": False, "spec_method": ""}
    text = "non-default args: {'model': 'm', 'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector')}"
    assert facts(text) == VLLM | {"kv_connector": "NixlConnector"}


# -- load generators and remarks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "vllm bench serve --model m --dataset-name random --random-input-len 1024 --random-output-len 220 "
            "--num-prompts 4000 --request-rate inf --max-concurrency 64",
            {"client_dataset": "random", "client_input_len": 1024, "client_output_len": 220,
             "client_num_prompts": 4000, "client_request_rate": math.inf, "client_concurrency": 64},
        ),
        ("python3 -m sglang.bench_serving --backend sglang --num-prompts 10 --request-rate 4",
         {"client_num_prompts": 10, "client_request_rate": 4.0}),
        ("vllm bench serve --prefix-repetition-prefix-len 131072",
         {"client_prefix_len": 131072, "client_request_rate": math.inf}),
        (
            "python benchmark_throughput.py --model m --input-len 1024 --output-len 128 --num-prompts 64 "
            "--num-scheduler-steps 8",
            VLLM | {"client_input_len": 1024, "client_output_len": 128, "client_num_prompts": 64,
                    "client_offline": True, "num_scheduler_steps": 8},
        ),
        ("python3 -m sglang.bench_offline_throughput --model-path m --num-prompts 2000",
         SGLANG | {"client_num_prompts": 2000, "client_offline": True}),
        (
            'guidellm benchmark --target http://x:8000 --rate-type concurrent --rate 64 --data "prompt_tokens=512,'
            'output_tokens=128"',
            {"client_concurrency": 64, "client_input_len": 512, "client_output_len": 128},
        ),
        ("genai-perf profile -m m --concurrency 100 --synthetic-input-tokens-mean 1000 --output-tokens-mean 200",
         {"client_concurrency": 100, "client_input_len": 1000, "client_output_len": 200}),
        ("hey -c 50 -n 1000 http://x/v1", {"client_concurrency": 50, "client_num_prompts": 1000}),
        ("# 512 client threads", {"client_threads": 512}),
        ("# 64 concurrent users at 10 req/s", {"client_concurrency": 64, "client_request_rate": 10.0}),
        ("# fine at concurrency 8, slow at concurrency 64", {}),
        ("# every request: 240-token common system prompt + per-user text", {"client_prefix_len": 240}),
        ("# offline batch job", {"client_offline": True}),
        ("# the log says maximum concurrency 4.11x", {}),
        ("# nothing to see", {}),
    ],
)  # fmt: skip
def test_clients(text: str, want: dict[str, object]) -> None:
    assert facts(text) == want


def test_a_default_of_the_load_generator_says_so() -> None:
    (fact,) = (f for f in parse_launch("vllm bench serve --num-prompts 10", "c").facts if f.id == "client_request_rate")
    assert fact.source == "default" and fact.value == math.inf


def test_remarks_are_kept() -> None:
    seen = parse_launch("# it slows down\n#!/bin/bash\nvllm serve m  # tried 4 too\n", "r")
    assert [remark.text for remark in seen.remarks] == ["it slows down", "tried 4 too"]
    assert facts("# it slows down\nvllm serve m  # tried 4 too\n") == VLLM


# -- anything ----------------------------------------------------------------------------------------------------------


def test_reprs() -> None:
    assert pyrepr.parse("{'a': X(y=1, z=[2, None]), 'm': <M.FULL: (2, 1)>, 'd': torch.bfloat16, 's': 'it\\'s'}") == {
        "a": {"y": 1, "z": [2, None]}, "m": "FULL", "d": "torch.bfloat16", "s": "it's",
    }  # fmt: skip
    assert pyrepr.parse("{'a': [1, 2") == {"a": [1, 2]}
    assert pyrepr.parse_items("a=1, b=False c=x, d={}") == {"a": 1, "b": False, "c": "x", "d": {}}
    assert pyrepr.parse("[" * 5000) is not None


SNIPPETS = [
    KUBERNETES, "vllm serve m ", "--speculative-config '{\"method\":", "docker run ", "\\\n", "LLM(", "- args:\n",
    "Namespace(a=", "\u2014x", "# 64 concurrent users", "env: A=1", ": &a [*a]", "--lora-modules a=b", "-cc.x=1",
    "sglang serve ", "'", '"', "{{", "<a: b", "guidellm --data {", "-O", "--", "=", "bash -c ",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=20)), max_size=8))
def test_any_text_can_be_read(parts: list[str]) -> None:
    parse_launch("".join(parts), "r")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}[]()<>'\"=,: \\abN1.-\n", max_size=60))
def test_any_repr_can_be_read(text: str) -> None:
    pyrepr.parse(text)
    pyrepr.parse_items(text)
    assert pyrepr.balance(text) >= 0
