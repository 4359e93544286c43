"""Log lines that any engine or its surroundings print: memory, NCCL, LMCache, NIXL, routers, access logs."""

from __future__ import annotations

from diagnose.engines.log_events import FactRule as F
from diagnose.engines.log_events import LogPattern as P

ENGINES = (
    P("oom_cuda", "any", "CUDA out of memory", r"CUDA out of memory(?: occurred when (?P<phase>warming up \w+))?\.?(?: with (?P<requests>\d+) dummy requests)?"
      r"(?: Tried to allocate (?P<size>[\d.]+ [KMG]iB))?", "GPU memory ran out", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    P("oom_cuda", "any", "OutOfMemoryError", r"(?:torch\.(?:cuda\.)?)?OutOfMemoryError(?:: (?P<message>.*))?", "GPU memory ran out",
      "torch.cuda.OutOfMemoryError: HIP out of memory."),
    P("oom_host", "any", "Killed", r"^\s*Killed\s*$|[Oo]om-kill|OOMKilled|exit code 137|Out of memory: Killed process", "the kernel killed a process: host memory ran out",
      "Out of memory: Killed process 4411 (VLLM::EngineCor)"),
    P("oom_host", "any", "OOMKilled", r"OOMKilled", "the container's memory limit was hit", "Reason: OOMKilled"),
    P("oom_host", "any", "oom-kill", r"oom-kill", "the kernel killed a process: host memory ran out", "oom-kill:constraint=CONSTRAINT_MEMCG"),
    P("shm_small", "any", "shared memory", r"(?P<what>No space left on device: '/dev/shm|insufficient shared memory|out of shared memory|unable to open shared memory object)",
      "/dev/shm is too small", "RuntimeError: unable to open shared memory object </torch_1> in read-write mode"),
    P("cuda_error", "any", "CUDA error", r"CUDA error: (?P<message>[^\n.]*)", "a kernel failed: the engine is lost", "CUDA error: an illegal memory access was encountered"),
    P("custom_allreduce_disabled", "any", "Custom allreduce is disabled", r"Custom allreduce is disabled because (?P<reason>.*?)(?:\. To silence|\.?$)",
      "all-reduce uses NCCL: slower tensor parallelism", "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. "
      "To silence this warning, specify disable_custom_all_reduce=True explicitly.", facts=(F("custom_allreduce_disabled", value=True),)),
    P("custom_allreduce_disabled", "any", "custom all-reduce OFF", r"custom all-reduce OFF", "all-reduce uses NCCL", "[nvlink] P2P DISABLED - custom all-reduce OFF",
      facts=(F("custom_allreduce_disabled", value=True),)),
    P("p2p_disabled", "any", "P2P", r"P2P (?:is )?(?:DISABLED|disabled)|NCCL_P2P_DISABLE=1|P2P (?:test|check) failed|lacks GPU P2P|P2P capability",
      "GPUs do not reach each other directly", "[nvlink] P2P DISABLED - NCCL_P2P_DISABLE=1"),
    P("seqs_exceed_state", "vllm", "exceeds available Mamba cache blocks", r"max_num_seqs \((?P<seqs>\d+)\) exceeds available Mamba cache blocks \((?P<blocks>\d+)\)",
      "more sequences than state blocks of a hybrid model: the engine does not start",
      "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (614). Each decode sequence requires one Mamba cache block"),
    P("nccl_socket", "any", "NET/Socket", r"via NET/Socket|NET/Socket ?: Using", "ranks reduce over TCP sockets: slow tensor parallelism across nodes",
      "node-0:2201:2340 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0"),
    P("nccl_warning", "any", "NCCL WARN", r"NCCL WARN (?P<message>.*)", "NCCL warned", "[0] NCCL WARN Cuda failure 'out of memory'"),
    P("json_schema_error", "any", "rammar", r"(?P<what>Failed to (?:advance FSM|compile (?:json_schema|grammar|regex|ebnf))|[Ii]nvalid grammar|Grammar compil\w+ (?:failed|error|timed out)|"
      r"Unsupported JSON schema|[Ii]nvalid (?:json )?grammar)", "a grammar was refused or broke", "Failed to compile grammar: unsupported"),
    P("json_schema_error", "any", "FSM", r"(?P<what>Failed to advance FSM)", "a grammar broke while generating", "Failed to advance FSM for request cmpl-1"),
    P("hf_download", "any", "Downloading", r"Downloading (?:shards|\S+\.safetensors|(?P<what>model))[: ]", "weights are downloaded at start", "Downloading shards:  10%|#  | 3/30"),
    P("hf_download", "any", "Time spent downloading weights", r"Time spent downloading weights for (?P<what>\S+): (?P<seconds>[\d.]+) s", "weights were downloaded at start",
      "Time spent downloading weights for org/model: 611.2 seconds"),
    P("clock_warning", "any", "clock", r"(?P<what>[Cc]lock (?:skew|jump|went backwards|drift)|time jumped|GPU clock|HW [Ss]lowdown|SW [Tt]hermal)", "clocks moved", "clock skew detected"),
    P("throttled", "any", "hrottl", r"(?P<what>(?:SW|HW) (?:Power|Thermal) (?:Cap|Slowdown|Brake)[^:]*: Active|thermal throttling|power throttling)", "the GPU is throttled",
      "GPU 0: thermal throttling"),
)  # fmt: skip

STACK = (
    P("builtin_hash", "lmcache", "PYTHONHASHSEED", r"Using builtin hash without PYTHONHASHSEED", "replicas hash prefixes differently: no sharing", "LMCache WARNING: Using builtin hash "
      "without PYTHONHASHSEED set.", facts=(F("kv_offload", value="lmcache"),)),
    P("lmcache_alloc_failed", "lmcache", "Failed to allocate memory", r"LMCache \w+: .*Failed to allocate memory", "the cache tier is full: nothing more is stored",
      "LMCache WARNING: Failed to allocate memory for tensor(torch.Size([2, 80, 256, 256]), torch.bfloat16) because no memory is available",
      facts=(F("kv_offload", value="lmcache"),)),
    P("lmcache_error", "lmcache", "LMCache ERROR", r"LMCache ERROR: (?P<message>.*)", "LMCache failed", "LMCache ERROR: failed to connect to remote backend"),
    P("kv_events_misconfigured", "dynamo", "KV EVENT ROUTING MISCONFIGURATION", r"KV EVENT ROUTING MISCONFIGURATION: (?:worker (?P<worker>\d+))?(?P<reason>.*)",
      "the router does not see the workers' caches", "KV EVENT ROUTING MISCONFIGURATION: worker 7 is missing worker-local KV indexer query endpoints for DP ranks [0].",
      facts=(F("engine", value="dynamo"),)),
    P("nixl_failed", "vllm", "NIXL", r"NIXL (?:transfer|handshake)?.{0,40}?(?:fail\w*|error|not available|NIXL_ERR\w+)(?P<message>.*)", "NIXL failed", "NIXL transfer failed for request cmpl-1"),
    P("nixl_failed", "any", "nixl_cu_bindings", r"(?P<message>NIXL_ERR\w+|nixl\w*Error)", "NIXL failed", "nixl_cu_bindings.nixlBackendError: NIXL_ERR_BACKEND"),
    P("nixl_failed", "any", "NIXL_ERR", r"(?P<message>NIXL_ERR\w+)", "NIXL failed", "nixlRemoteDisconnectError: NIXL_ERR_REMOTE_DISCONNECT"),
    P("transfer_failed", "any", "KV transfer", r"KV (?:cache )?transfer (?:failed|timed? ?out)(?P<message>.*)", "KV did not arrive", "KV transfer failed for request cmpl-1"),
    P("transfer_failed", "any", "ransfer ", r"(?:Failed to (?:complete|submit) transfer|[Tt]ransfer (?:timeout|aborted|failed) )(?P<message>.*)", "KV did not arrive",
      "Transfer timeout for request cmpl-1"),
    P("access_log_error", "any", "HTTP/1.", r"\"(?P<method>POST|GET) (?P<path>/(?:v1/\S+|generate\S*|health\S*|metrics\S*|inference/\S+|invocations)) HTTP/1\.\d\" (?P<status>[45]\d\d)",
      "a serving endpoint refused or failed", "INFO:     10.0.0.4:33012 - \"POST /v1/chat/completions HTTP/1.1\" 503 Service Unavailable"),
    P("process_restart", "any", "CrashLoopBackOff", r"(?P<what>CrashLoopBackOff|Back-off restarting failed container)", "the container restarts again and again",
      "Reason: CrashLoopBackOff"),
    P("probe_failed", "any", "probe failed", r"(?P<probe>Liveness|Readiness|Startup) probe failed: (?P<message>.*)", "Kubernetes' probe failed", "Liveness probe failed: context deadline exceeded"),
)  # fmt: skip

PATTERNS = ENGINES + STACK
