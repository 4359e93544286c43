"""vLLM's one-off log lines, V0 and V1. Texts as in the sources of 0.2.7 to 0.33."""

from __future__ import annotations

from diagnose.engines.log_events import FactRule as F
from diagnose.engines.log_events import LogPattern as P
from diagnose.engines.log_events_vllm_run import CONFIGURATION, GRAPHS

_N = r"[\d,]+"
_X = r"-?[\d.,]{1,40}"

PREEMPTION_AND_LIFE = (
    P("preempted_v0", "vllm", "is preempted by", r"Sequence group (?P<id>\S+) is preempted by (?:PreemptionMode\.)?"
      r"(?P<mode>\w+) mode(?:.*?total(?:_num)?_cumulative_preemption(?:_cnt)?=(?P<total>\d+))?",
      "V0 preempted a sequence: the KV cache ran out", "Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode "
      "because there is not enough KV cache space. total_num_cumulative_preemption=51", "0.4.3", "0.10.2"),
    P("aborted", "vllm", " aborted", r"Request (?P<id>[\w.-]+) aborted\b|Aborted request (?P<id2>[\w.-]+)",
      "a request was aborted: its client went away or timed out", "Request chatcmpl-01 aborted."),
    P("aborted", "vllm", "Aborted request", r"Aborted request (?P<id>[\w.-]+)", "a request was aborted (V0 wording)",
      "Aborted request cmpl-1."),
    P("engine_dead", "vllm", "EngineDeadError", r"(?P<error>EngineDeadError)(?:: (?P<message>.*))?",
      "the engine process is dead", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."),
    P("engine_dead", "vllm", "AsyncEngineDeadError", r"(?P<error>AsyncEngineDeadError)(?:: (?P<message>.*))?",
      "the V0 engine loop is dead", "AsyncEngineDeadError: Background loop has errored already."),
    P("engine_dead", "vllm", "ngine background task failed", r"(?P<error>[Ee]ngine background task failed)",
      "the V0 engine loop ended with an exception", "Engine background task failed"),
    P("engine_dead", "vllm", "Background loop", r"(?P<error>Background loop (?:has errored already|is stopped))",
      "the V0 engine loop has ended", "Background loop has errored already."),
    P("engine_dead", "vllm", "fatal error", r"(?P<error>EngineCore (?:hit an exception|encountered a fatal error))",
      "the engine core ended with an exception", "EngineCore encountered a fatal error."),
    P("engine_dead", "vllm", "EngineCore", r"(?P<error>EngineCore failed to start|EngineCore hit an exception)",
      "the engine core did not start", "EngineCore failed to start."),
    P("engine_dead", "vllm", "died", r"(?P<error>[Ee]ngine ?(?:[Cc]ore|process|loop)\b.{0,60}\bdied|[Ww]orker proc \S+ died)",
      "a process of the engine died", "Engine core proc EngineCore_0 died unexpectedly, shutting down client."),
    P("engine_dead", "vllm", "Engine core initialization failed", r"(?P<error>Engine core initialization failed)",
      "the engine core did not start", "RuntimeError: Engine core initialization failed."),
    P("engine_dead", "vllm", "MQLLMEngine", r"(?P<error>MQEngineDeadError|MQLLMEngine terminated)",
      "the V0 engine process is dead", "MQLLMEngine terminated"),
    P("engine_dead", "vllm", "Watchdog caught", r"(?P<error>Watchdog caught collective operation timeout)",
      "NCCL's watchdog: a rank hung", "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(...)"),
    P("step_timeout", "vllm", "No available shared memory broadcast block",
      r"No available shared memory broadcast block found in (?P<seconds>\d+) ?s",
      "workers do not answer the engine core: a long step or a hang", "No available shared memory broadcast block "
      "found in 60 seconds. This typically happens when some processes are hanging", "0.10.0"),
    P("shutdown", "vllm", "hutdown", r"\[shutdown\] (?:API server|EngineCore): (?P<what>shutdown triggered|start|trigger)",
      "the server was told to stop", "[shutdown] API server: shutdown triggered", "0.17.0"),
    P("sleep", "vllm", "sleep", r"\bIt took (?P<seconds>[\d.]+) seconds to fall asleep|Sleep mode freed (?P<gib>[\d.]+) GiB",
      "sleep mode: the engine released its memory", "It took 1.20 seconds to fall asleep."),
    P("wake", "vllm", "wake up", r"\bIt took (?P<seconds>[\d.]+) seconds to wake up", "the engine woke from sleep",
      "It took 0.50 seconds to wake up tags {'weights'}."),
    P("server_started", "vllm", "Starting vLLM", r"Starting vLLM (?:API )?server(?: \d+)? on (?P<address>\S+)",
      "the API server listens", "Starting vLLM API server 0 on http://0.0.0.0:8000", facts=(F("engine", value="vllm"),)),
    P("engine_version", "vllm", "API server version", r"vLLM API server version (?P<version>\d[\w.+]*)",
      "version of the API server", "vLLM API server version 0.13.0",
      facts=(F("engine", value="vllm"), F("engine_version", "version"))),
    P("engine_version", "vllm", "█", r"█\s+version (?P<version>\d[\w.+]*)", "version in the start banner",
      "▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0", "0.14.1",
      facts=(F("engine", value="vllm"), F("engine_version", "version"))),
    P("init_seconds", "vllm", "init engine (", r"init engine \(.*?\) took (?P<seconds>[\d.]+) s",
      "start-up time of the engine core", "init engine (profile, create kv cache, warmup model) took 27.35 s"),
    P("default_api_servers", "vllm", "api_server_count", r"Defaulting api_server_count to data_parallel_size \((?P<count>\d+)\)",
      "one API server per data-parallel rank", "Defaulting api_server_count to data_parallel_size (4).",
      facts=(F("api_server_count", "count", "int"),)),
    P("stats_off_api_servers", "vllm", "disabling stats logging",
      r"api_server_count more than (?P<count>\d+); disabling stats logging", "no periodic lines with several API servers",
      "AsyncLLM created with api_server_count more than 1; disabling stats logging to avoid incomplete stats."),
    P("ulimit_low", "vllm", "Found ulimit of", r"Found ulimit of (?P<limit>\d+)", "too few file descriptors for many clients",
      "Found ulimit of 20000 and failed to automatically increase with error"),
    P("request_too_long", "vllm", "maximum context length",
      r"maximum context length is (?P<max>[\d,]+)(?: tokens)?(?:.*?(?:requested|has|input)\D{0,30}(?P<asked>[\d,]+))?",
      "a request did not fit the model length", "This model's maximum context length is 4096 tokens. However, you "
      "requested 5000 tokens"),
    P("request_too_long", "vllm", "longer than the maximum model length",
      r"prompt \(length (?P<asked>\d+)\) is longer than the maximum model length of (?P<max>\d+)",
      "a prompt did not fit the model length", "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    P("async_scheduling_off", "vllm", "sync scheduling", r"[Aa]sync scheduling (?:is )?not supported with (?P<reason>[^.]+?)"
      r"(?: and will be disabled|\.|$)", "asynchronous scheduling is off", "Async scheduling not supported with ngram-based "
      "speculative decoding and will be disabled.", facts=(F("async_scheduling", value=False),)),
    P("async_scheduling_on", "vllm", "Asynchronous scheduling is enabled", r"Asynchronous scheduling is enabled",
      "asynchronous scheduling is on", "Asynchronous scheduling is enabled.", facts=(F("async_scheduling", value=True),)),
)  # fmt: skip

MEMORY = (
    P("kv_size", "vllm", "KV cache size:", rf"(?P<device>\w+) KV cache size: (?P<tokens>{_N}) tokens",
      "tokens that fit the KV cache", "GPU KV cache size: 769,888 tokens", "0.8.0", facts=(F("kv_tokens", "tokens", "int"),)),
    P("max_concurrency", "vllm", "Maximum concurrency for",
      rf"Maximum concurrency for (?P<tokens>{_N}) tokens per request: (?P<x>{_X})x",
      "full-length requests that fit at once; shorter ones fit more", "Maximum concurrency for 2,304 tokens per request: 334.20x",
      "0.6.3", facts=(F("kv_max_concurrency", "x", "float"), F("max_model_len", "tokens", "int"))),
    P("kv_blocks", "vllm", " blocks:", rf"# (?:GPU|cuda|cpu|hpu|tpu|xpu|rocm) blocks: (?P<gpu>{_N})(?:, # CPU blocks: (?P<cpu>{_N}))?",
      "KV blocks", "# GPU blocks: 7409, # CPU blocks: 2048", "0.2.7", "0.11.0", facts=(F("kv_blocks", "gpu", "int"),)),
    P("kv_available", "vllm", "Available KV cache memory", rf"Available KV cache memory: (?P<gib>{_X}) GiB",
      "memory left for the KV cache", "Available KV cache memory: 5.16 GiB", "0.9.1", facts=(F("kv_bytes", "gib", "gib"),)),
    P("kv_available", "vllm", "GiB for KV cache", r"Explicitly set \((?P<gib>[\d.]+)/(?P<of_gib>[\d.]+)\) GiB for KV cache",
      "KV memory on a CPU node", "Explicitly set (1.0/13.96) GiB for KV cache on node 0.",
      facts=(F("kv_bytes", "gib", "gib"),)),
    P("kv_reserved", "vllm", "as specified by kv_cache_memory_bytes", rf"reserved (?P<gib>{_X}) ?GiB memory for KV Cache",
      "KV memory set by hand", "reserved 10.00 GiB memory for KV Cache as specified by kv_cache_memory_bytes config", "0.10.2",
      facts=(F("kv_bytes", "gib", "gib"),)),
    P("weights_loaded", "vllm", "odel loading took", rf"[Mm]odel loading took (?P<gib>{_X}) ?(?:GiB|GB)",
      "memory of the weights", "Model loading took 14.2500 GiB memory and 8.120000 seconds", facts=(F("weight_bytes", "gib", "gib"),)),
    P("weights_loaded", "vllm", "oading model weights took", rf"Loading model weights took (?P<gib>{_X}) ?(?:GB|GiB)",
      "memory of the weights", "Loading model weights took 14.9614 GB", "0.2.7", "0.10.2", facts=(F("weight_bytes", "gib", "gib"),)),
    P("memory_profile", "vllm", "model weights take", rf"total_gpu_memory \((?P<total_gib>{_X})GiB\).*?gpu_memory_utilization "
      rf"\((?P<util>{_X})\).*?model weights take (?P<weights_gib>{_X})GiB; non_torch_memory takes (?P<non_torch_gib>{_X})GiB; "
      rf"PyTorch activation peak memory takes (?P<activations_gib>{_X})GiB; the rest of the memory reserved for KV Cache is (?P<kv_gib>{_X})GiB",
      "where the GPU memory goes", "the current vLLM instance can use total_gpu_memory (79.25GiB) x gpu_memory_utilization (0.90) "
      "= 71.33GiB model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch activation peak memory takes 1.26GiB; "
      "the rest of the memory reserved for KV Cache is 54.99GiB.", "0.6.5", "0.10.2",
      facts=(F("weight_bytes", "weights_gib", "gib"), F("activation_bytes", "activations_gib", "gib"), F("kv_bytes", "kv_gib", "gib"),
             F("gpu_memory_utilization", "util", "float"))),
    P("memory_profile", "vllm", "model weights take", rf"model weights take (?P<weights_gib>{_X})GiB(?:; non_torch_memory takes "
      rf"(?P<non_torch_gib>{_X})GiB)?(?:; PyTorch activation peak memory takes (?P<activations_gib>{_X})GiB)?"
      rf"(?:; the rest of the memory reserved for KV Cache is (?P<kv_gib>{_X})GiB)?", "where the GPU memory goes (second line)",
      "model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch activation peak memory takes 1.26GiB; the rest of "
      "the memory reserved for KV Cache is 54.99GiB.", "0.6.5", "0.10.2",
      facts=(F("weight_bytes", "weights_gib", "gib"), F("activation_bytes", "activations_gib", "gib"), F("kv_bytes", "kv_gib", "gib"))),
    P("memory_total", "vllm", "total_gpu_memory (", rf"total_gpu_memory \((?P<total_gib>{_X})GiB\) x gpu_memory_utilization \((?P<util>{_X})\)",
      "memory that this instance may use", "the current vLLM instance can use total_gpu_memory (79.25GiB) x gpu_memory_utilization (0.90) = 71.33GiB",
      "0.6.5", "0.10.2", facts=(F("gpu_memory_utilization", "util", "float"),)),
    P("kv_too_small", "vllm", "To serve at least one request", rf"max seq len \((?P<max_len>{_N})\), \(?(?P<need_gib>{_X}) Gi?B KV cache is "
      rf"needed, which is larger than the available KV cache memory \((?P<available_gib>{_X}) Gi?B\)(?:.*?estimated maximum model "
      rf"length is (?P<estimate>{_N}))?", "the model length needs more KV memory than there is", "To serve at least one request "
      "with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
      "(7.40 GiB). Based on the available memory, the estimated maximum model length is 60624.", "0.7.0",
      facts=(F("max_model_len", "max_len", "int"),)),
    P("kv_too_small", "vllm", "tokens that can be stored in KV cache", rf"max seq len \((?P<max_len>{_N})\) is larger than the maximum number "
      rf"of tokens that can be stored in KV cache \((?P<estimate>{_N})\)", "the model length is longer than the KV cache",
      "The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (9216).", "0.2.7", "0.10.2",
      facts=(F("max_model_len", "max_len", "int"),)),
    P("kv_too_small", "vllm", "No available memory for the cache blocks", r"No available memory for the cache blocks",
      "weights and activations leave nothing for KV", "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"),
    P("memory_busy", "vllm", "Free memory on device", rf"Free memory on device\s*(?P<device>[\w:]*)\s*\((?P<free>{_X})/(?P<total_gib>{_X}) GiB\) on "
      rf"startup is less than", "another process holds the GPU memory", "Free memory on device (20.1/79.2 GiB) on startup is less "
      "than desired GPU memory utilization (0.9, 71.3 GiB).", "0.9.1"),
    P("max_model_len", "vllm", "Using max model len", r"Using max model len (?P<tokens>\d+)", "the model length in use",
      "Using max model len 4096", "0.9.1", facts=(F("max_model_len", "tokens", "int"),)),
    P("block_size_forced", "vllm", "Setting attention block size", r"Setting attention block size to (?P<tokens>\d+) tokens",
      "hybrid model: blocks of hundreds of tokens", "Setting attention block size to 784 tokens to ensure that attention page size "
      "is >= mamba page size.", facts=(F("kv_block_size", "tokens", "int"),)),
    P("mamba_padding", "vllm", "adding mamba page size", r"Padding mamba page size by (?P<percent>[\d.]+)%",
      "hybrid model: state pages are padded", "Padding mamba page size by 0.88% to ensure"),
    P("padding_layers", "vllm", "padding layers", r"Add (?P<layers>\d+) padding layers, may waste at most (?P<percent>[\d.]+)% KV cache memory",
      "uneven layer groups waste KV memory", "Add 6 padding layers, may waste at most 60.00% KV cache memory"),
    P("kv_layout", "vllm", "KV cache layout", r"Using (?P<layout>\w+) KV cache layout", "memory order of the KV cache",
      "Using LBHNC KV cache layout."),
    P("kv_cache_fp8", "vllm", "to store kv cache", r"Using (?P<dtype>\w+) data type to store kv cache", "the KV cache is quantized",
      "Using fp8 data type to store kv cache. It reduces the GPU memory footprint and boosts the performance.",
      facts=(F("kv_cache_dtype", "dtype", "lower"),)),
    P("kv_scales_missing", "vllm", "scaling factor", r"Using KV cache scaling factor 1\.0 for (?P<dtype>\w+)|Checkpoint does not provide "
      r"a q scaling factor", "FP8 KV without calibrated scales: check quality", "Using KV cache scaling factor 1.0 for fp8_e4m3."),
)  # fmt: skip

PATTERNS = PREEMPTION_AND_LIFE + MEMORY + GRAPHS + CONFIGURATION
