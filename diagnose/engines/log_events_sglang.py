"""SGLang's one-off log lines. Texts as in the sources of 0.3.4 to 0.5.23."""

from __future__ import annotations

from diagnose.engines.log_events import FactRule as F
from diagnose.engines.log_events import LogPattern as P

_X = r"-?[\d.,]{1,40}"

MEMORY = (
    P("retracted", "sglang", "#retracted_reqs", r"#retracted_reqs: (?P<count>\d+)(?:, #aborted_retracted_reqs: (?P<aborted>\d+))?"
      r"(?:.*?#new_token_ratio: (?P<old_ratio>[\d.]+) -> (?P<new_ratio>[\d.]+))?", "the KV pool is full: running requests were thrown back",
      "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 4100, #new_token_ratio: 0.4500 -> 0.7200"),
    P("retract_aborted", "sglang", "retract_decode: aborted", r"retract_decode: aborted (?:last )?request (?P<id>\S+?):? (?P<reason>due to OOM|.*)$",
      "a retracted request was dropped", "retract_decode: aborted last request 8f due to OOM", "0.5.10"),
    P("retract_aborted", "sglang", "Failed to retract", r"(?P<reason>Failed to retract any request)", "one request alone does not fit",
      "Failed to retract any request. No space left for only one request.", "0.4.7.post1", "0.5.6"),
    P("pool_too_small_sglang", "sglang", "try to increase --mem-fraction-static", r"Not enough memory\. Please try to increase --mem-fraction-static"
      r"(?:.*?mem_fraction_static=(?P<fraction>[\d.]+))?", "no room for the KV pool", "Not enough memory. Please try to increase --mem-fraction-static.",
      facts=(F("mem_fraction_static", "fraction", "float"),)),
    P("pool_too_small_sglang", "sglang", "leave no GPU memory for the KV cache", r"under --mem-fraction-static=(?P<fraction>[\d.]+)\. Raise "
      r"--mem-fraction-static above (?P<suggested>[\d.]+)", "the weights leave no room for KV", "Loaded weights leave no GPU memory for the KV cache "
      "under --mem-fraction-static=0.7. Raise --mem-fraction-static above 0.812 (minimum viable = 0.7912).", "0.5.14",
      facts=(F("mem_fraction_static", "fraction", "float"),)),
    P("oom_pool_sglang", "sglang", "out of memory. Try to lower your batch size", r"(?P<phase>Prefill|Decode) out of memory\. Try to lower your batch size",
      "the KV pool was exhausted: the engine stops", "Prefill out of memory. Try to lower your batch size."),
    P("oom_pool_sglang", "sglang", "alloc_req_slots runs out of memory", r"(?P<phase>alloc_req_slots) runs out of memory", "more requests than slots",
      "alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`."),
    P("ready_sglang", "sglang", "max_total_num_tokens=", r"max_total_num_tokens=(?P<kv_tokens>\d+)(?:, chunked_prefill_size=(?P<chunk>-?\d+|None))?"
      r"(?:, max_prefill_tokens=(?P<max_prefill>\d+))?(?:, max_running_requests=(?P<max_running>\d+))?(?:, context_len=(?P<context_len>\d+))?"
      r"(?:, available_(?P<device>gpu|cpu)_mem=(?P<avail_gib>[\d.]+) GB)?", "the limits in effect", "max_total_num_tokens=1980000, chunked_prefill_size=2048, "
      "max_prefill_tokens=16384, max_running_requests=4096, context_len=32768, available_gpu_mem=6.40 GB",
      facts=(F("engine", value="sglang"), F("kv_tokens", "kv_tokens", "int"), F("chunk_budget", "chunk", "int"), F("max_prefill_tokens", "max_prefill", "int"),
             F("max_num_seqs", "max_running", "int"), F("max_model_len", "context_len", "int"))),
    P("weights_loaded", "sglang", "Load weight end", rf"Load weight end\..*?mem usage=(?P<gib>{_X}) GB", "memory of the weights",
      "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.92 GB, mem usage=14.98 GB.", "0.4.3.post4",
      facts=(F("weight_bytes", "gib", "gib"),)),
    P("kv_allocated", "sglang", "KV Cache is allocated", rf"KV Cache is allocated\.(?: dtype: (?P<dtype>[\w.]+),)? (?:#tokens: (?P<tokens>\d+), )?"
      rf"(?:K size: (?P<k_gib>{_X}) GB, V size: (?P<v_gib>{_X}) GB|KV size: (?P<gib>{_X}) GB)", "size of the KV pool",
      "KV Cache is allocated. #tokens: 443000, K size: 27.04 GB, V size: 27.04 GB", "0.4.1", facts=(F("kv_bytes", "gib", "gib"), F("kv_bytes", "k_gib+v_gib", "gib"))),
    P("memory_pool_end", "sglang", "Memory pool end", rf"Memory pool end\. avail mem=(?P<avail_gib>{_X}) GB", "memory left beside the pools",
      "Memory pool end. avail mem=8.02 GB"),
    P("mamba_cap", "sglang", "capped to", r"max_running_requests is capped to (?P<cap>\d+) by the mamba state cache \(max_mamba_cache_size=(?P<size>\d+)"
      r"(?:, (?P<per_request>\d+) state slots per request)?", "hybrid model: state slots cap the running requests", "max_running_requests is capped to 46 "
      "by the mamba state cache (max_mamba_cache_size=140, 3 state slots per request)", facts=(F("max_num_seqs", "cap", "int"),)),
)  # fmt: skip

GRAPHS = (
    P("graph_capture_begin", "sglang", "Capture ", r"Capture (?P<name>(?:target )?(?:decode )?)(?:cuda|CUDA|npu|cpu) graph begin\.(?:.*?bs=\[(?P<sizes>[\d, ]+)\])?"
      r"(?:.*?avail mem=(?P<avail_gib>[\d.]+) GB)?", "decode graph capture begins", "Capture target decode CUDA graph begin. backend=full, "
      "num_tokens_per_req=1, bs=[1, 2, 4, 8, 12, 16, 24, 32], avail mem=7.12 GB",
      facts=(F("graph_sizes", "sizes", "sizes"), F("graph_max_batch", "sizes", "max"), F("enforce_eager", value=False))),
    P("graph_capture_begin", "sglang", "Capture ", r"Capture (?P<name>[\w ]*?)\s?(?:cuda|CUDA|npu|cpu) graph begin\.", "prefill or draft graph capture begins",
      "Capture draft cuda graph begin. This can take up to several minutes. avail mem=9.12 GB"),
    P("graph_capture_end", "sglang", "Capture ", r"Capture (?P<name>(?:target )?(?:decode )?)(?:cuda|CUDA|npu|cpu) graph end\.(?: bs=\[(?P<sizes>[\d, ]+)\],)?"
      r".*?elapsed[:=] ?(?P<seconds>[\d.]+) s(?=.*?mem usage=(?P<gib>[\d.]+) GB|)(?=.*?avail mem=(?P<avail_gib>[\d.]+) GB|)", "decode graph capture ended",
      "Capture cuda graph end. Time elapsed: 19.40 s. mem usage=6.19 GB. avail mem=5.24 GB.",
      facts=(F("graph_bytes", "gib", "gib"), F("graph_sizes", "sizes", "sizes"), F("graph_max_batch", "sizes", "max"), F("enforce_eager", value=False))),
    P("graph_capture_end", "sglang", "Capture ", r"Capture (?P<name>[\w ]*?)\s?(?:cuda|CUDA|npu|cpu) graph end\..*?elapsed[:=] ?(?P<seconds>[\d.]+) s"
      r"(?:.*?mem usage=(?P<gib>[\d.]+) GB)?", "prefill or draft graph capture ended", "Capture draft decode CUDA graph end. elapsed=8.10 s, mem usage=0.41 GB, avail mem=4.80 GB."),
    P("graph_sizes", "sglang", "Capture cuda graph bs", r"Capture cuda graph bs \[(?P<sizes>[\d, ]+)\]", "batch sizes with a graph",
      "Capture cuda graph bs [1, 2, 4, 8, 16, 24]", "0.4.6.post4", "0.5.13", facts=(F("graph_sizes", "sizes", "sizes"), F("graph_max_batch", "sizes", "max"))),
    P("graph_capture_failed", "sglang", "apture", r"Capture (?P<name>[\w ]*?)\s?(?:cuda|CUDA) graph failed:? ?(?P<message>.*)", "graph capture failed: no start",
      "Capture cuda graph failed: CUDA out of memory."),
    P("graphs_disabled_eager", "sglang", "uda graph is disabled because", r"Cuda graph is disabled because(?: of)? (?P<reason>.*?)\.?$", "decode runs without graphs",
      "Cuda graph is disabled because of using torch native attention backend", facts=(F("enforce_eager", value=True),)),
    P("prefill_graphs_off", "sglang", "uda graph is disabled for", r"Cuda graph is disabled for (?P<reason>.*?)\.?$", "no graphs for this role", "Cuda graph is disabled for prefill server"),
    P("prefill_graphs_off", "sglang", "iecewise CUDA graph", r"Disable piecewise CUDA graph (?:because|due to) (?P<reason>.*?)\.?$", "prefill runs without graphs",
      "Disable piecewise CUDA graph because the capture size is not set"),
    P("recompile_serving", "sglang", "PCG capture stream is not set", r"(?P<what>PCG capture stream is not set)", "a subgraph runs eager: recompiled while serving",
      "PCG capture stream is not set; likely a Dynamo runtime recompilation. Falling back to eager execution for this subgraph.", "0.5.13"),
    P("attention_backend", "sglang", "ttention backend not", r"Attention backend not (?:set|(?:explicitly )?specified)\. (?:Use (?P<backend>\w+) backend by default|"
      r"Falling back to '(?P<fallback>\w+)')", "the attention kernel, chosen by default", "Attention backend not explicitly specified. Use triton backend by default.",
      facts=(F("attention_backend", "backend"), F("attention_backend", "fallback"), F("attention_backend_explicit", value=False)), fixed=(("chosen", "default"),)),
    P("attention_backend", "sglang", "as attention backend", r"Us(?:e|ing) (?P<backend>\w+) as attention backend (?:on|for) (?P<reason>.*?)\.?$",
      "the attention kernel, chosen for the model", "Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM",
      facts=(F("attention_backend", "backend"),), fixed=(("chosen", "default"),)),
    P("attention_backend", "sglang", "hybrid attention backend", r"decode_backend=(?P<decode>\w+), prefill_backend=(?P<prefill>\w+)", "two attention kernels",
      "Using hybrid attention backend for decode and prefill: decode_backend=fa3, prefill_backend=flashinfer.",
      facts=(F("decode_attention_backend", "decode"), F("prefill_attention_backend", "prefill")), fixed=(("chosen", "explicit"),)),
)  # fmt: skip

SERVING = (
    P("engine_dead", "sglang", "Scheduler hit an exception", r"(?P<error>Scheduler hit an exception)", "the scheduler ended with an exception",
      "Scheduler hit an exception: Traceback (most recent call last):"),
    P("engine_dead", "sglang", "atchdog", r"(?P<error>(?:Scheduler |Detokenizer |Tokenizer )?[Ww]atchdog timeout)", "no step for the watchdog's time: a hang",
      "Watchdog timeout (self.watchdog_timeout=300, self.soft=False)"),
    P("engine_dead", "sglang", "SIGQUIT received", r"(?P<error>Received sigquit from a child process|SIGQUIT received)", "a child process ended",
      "SIGQUIT received. signum=None, frame=None. It usually means one child failed."),
    P("engine_dead", "sglang", "eceived sigquit", r"(?P<error>[Rr]eceived sigquit from a child process)", "a child process ended",
      "Received sigquit from a child process. It usually means the child failed."),
    P("health_check_failed", "sglang", "ealth check failed", r"Health check failed\. (?P<reason>.*)", "the scheduler does not answer", "Health check failed. "
      "Server couldn't get a response from detokenizer for last 20 seconds.", ),
    P("server_started", "sglang", "The server is fired up", r"The server is fired up", "the server is ready", "The server is fired up and ready to roll!",
      facts=(F("engine", value="sglang"),)),
    P("request_too_long", "sglang", "longer than the model's context length", r"\((?P<asked>\d+) tokens\) is longer than the model's context length \((?P<max>\d+)",
      "a request did not fit the context", "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
    P("queue_full", "sglang", "request queue is full", r"(?P<what>request queue is full)", "requests are rejected at the queue's limit",
      "The request queue is full."),
    P("radix_cache_off", "sglang", "adix cache is disabled", r"[Rr]adix cache is disabled(?P<reason>.*)", "no prefix reuse", "Radix cache is disabled for this model",
      facts=(F("prefix_caching", value=False),)),
    P("chunked_prefill_off", "sglang", "hunked prefill", r"[Cc]hunked prefill is (?:disabled|turned off|not supported)(?P<reason>.*)", "whole prefills",
      "Chunked prefill is disabled for multimodal models", facts=(F("chunked_prefill", value=False), F("chunk_budget", value=-1))),
    P("transfer_failed", "sglang", "ransfer failed", r"(?P<side>Prefill|Decode)? ?transfer failed for request rank=(?P<rank>\d+)", "KV did not reach the decode server",
      "Prefill transfer failed for request rank=3 req.rid='a' req.bootstrap_room=1"),
    P("transfer_failed", "sglang", "andshake failed", r"(?P<side>Prefill|Decode)? ?handshake failed for request rank=(?P<rank>\d+)", "prefill and decode do not meet",
      "Decode handshake failed for request rank=0"),
    P("transfer_failed", "sglang", "KVTransferError", r"(?P<side>KVTransferError)", "KV did not reach the decode server", "KVTransferError(bootstrap_room=1): Failed to send"),
    P("lora_load", "sglang", "LoRA adapter loading", r"LoRA adapter loading completes: (?P<adapter>[^.]+)", "an adapter was loaded", "LoRA adapter loading completes: "
      "lora_id=1, lora_name=a."),
    P("lora_evict", "sglang", "Evicting LoRA", r"Evicting LoRA (?P<adapter>\S+)", "an adapter was evicted from its slot", "Evicting LoRA a3 from buffer slot 2."),
    P("overlap_off", "sglang", "verlap scheduler is disabled", r"Overlap scheduler is disabled (?P<reason>.*)", "no overlap of host and device work",
      "Overlap scheduler is disabled because of using eagle speculative decoding.", facts=(F("async_scheduling", value=False),)),
    P("max_running_adjusted", "sglang", "Max running requests is reset", r"[Mm]ax running requests is reset to (?P<cap>\d+)", "speculation lowered the cap",
      "Max running requests is reset to 48 for speculative decoding.", facts=(F("max_num_seqs", "cap", "int"),)),
)  # fmt: skip

PATTERNS = MEMORY + GRAPHS + SERVING
