"""vLLM's log lines about CUDA graphs, kernels, quantization, caching and adapters."""

from __future__ import annotations

from diagnose.engines.log_events import FactRule as F
from diagnose.engines.log_events import LogPattern as P

_X = r"-?[\d.,]{1,40}"

GRAPHS = (
    P("graph_capture_begin", "vllm", "Capturing", r"Capturing (?:the model for CUDA graphs|cudagraphs for decoding|CUDA graphs?\b"
      r"(?! finished)[^:]*:\s+0%)", "graph capture begins", "Capturing cudagraphs for decoding. This may lead to unexpected consequences",
      facts=(F("enforce_eager", value=False),)),
    P("graph_capture_end", "vllm", "Graph capturing finished", rf"Graph capturing finished in (?P<seconds>{_X}) secs(?:, took (?P<gib>{_X}) GiB)?",
      "graph capture ended", "Graph capturing finished in 31 secs, took 1.40 GiB",
      facts=(F("graph_bytes", "gib", "gib"), F("enforce_eager", value=False))),
    P("graph_memory_estimate", "vllm", "Estimated CUDA graph memory", rf"Estimated CUDA graph memory: (?P<gib>{_X}) GiB",
      "graph memory set aside before the KV cache", "Estimated CUDA graph memory: 6.24 GiB total", "0.18.0"),
    P("graph_memory_profiling", "vllm", "CUDA graph memory profiling is enabled", rf"gpu-memory-utilization=(?P<util>{_X}) is equivalent to "
      rf"--gpu-memory-utilization=(?P<equivalent>{_X}) without.*?(?:increase --gpu-memory-utilization to (?P<suggested>0?\.\d+|1\.0*|[01]))?\.?$",
      "graph memory is taken from the KV cache's share", "CUDA graph memory profiling is enabled (default since v0.21.0). The current "
      "--gpu-memory-utilization=0.6200 is equivalent to --gpu-memory-utilization=0.5413 without CUDA graph memory profiling. To maintain "
      "the same effective KV cache size as before, increase --gpu-memory-utilization to 0.6987.", "0.18.0",
      facts=(F("gpu_memory_utilization", "util", "float"),)),
    P("graph_memory_profiling_off", "vllm", "CUDA graph memory profiling is disabled", r"CUDA graph memory profiling is disabled",
      "graph memory is not counted: it may run out later", "CUDA graph memory profiling is disabled (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0).",
      "0.20.0"),
    P("graph_pool_actual", "vllm", "CUDA graph pool memory", rf"CUDA graph pool memory: (?P<actual_gib>{_X}) GiB \(actual\), (?P<estimated_gib>{_X}) GiB",
      "graph memory in fact", "CUDA graph pool memory: 0.62 GiB (actual), 0.70 GiB (estimated), difference: 0.08 GiB (11.4%).", "0.18.0",
      facts=(F("graph_bytes", "actual_gib", "gib"),)),
    P("graphs_disabled_eager", "vllm", "eager mode", r"(?:CUDA graphs?|[Cc]uda[Gg]raphs?) (?:is|are) disabled under eager mode",
      "eager mode: no CUDA graphs", "Cudagraph is disabled under eager mode", facts=(F("enforce_eager", value=True),)),
    P("graphs_disabled_eager", "vllm", "Enforce eager set", r"Enforce eager set, disabling", "eager mode: no graphs, no compilation",
      "Enforce eager set, disabling torch.compile and CUDAGraphs.", "0.17.0", facts=(F("enforce_eager", value=True),)),
    P("graph_mode_downgraded", "vllm", "setting cudagraph_mode", r"CUDAGraphMode\.(?P<from>\w+) is not supported (?P<reason>.*?)"
      r"[;,.] ?setting cudagraph_mode\s*(?:=|to)\s*(?:CUDAGraphMode\.)?(?P<to>\w+)", "full graphs are not possible here",
      "CUDAGraphMode.FULL is not supported with spec-decode for attention backend FlashInfer (support: UNIFORM_SINGLE_TOKEN_DECODE); "
      "setting cudagraph_mode=PIECEWISE", facts=(F("graph_mode", "to"),)),
    P("graph_mode_downgraded", "vllm", "Overriding cudagraph_mode", r"(?P<reason>KV connector \S+ requires PIECEWISE CUDA graph mode).*?"
      r"Overriding cudagraph_mode from (?:CUDAGraphMode\.)?(?P<from>\w+) to (?P<to>\w+)", "a KV connector allows piecewise graphs only",
      "KV connector X requires PIECEWISE CUDA graph mode due to layerwise async operations. Overriding cudagraph_mode from FULL to PIECEWISE.",
      "0.17.0", facts=(F("graph_mode", "to"),)),
    P("graph_sizes_capped", "vllm", "cudagraph capture sizes from max", r"Capping cudagraph capture sizes from max (?P<from>\d+) to (?P<to>\d+)",
      "fewer batch sizes have a graph", "Capping cudagraph capture sizes from max 512 to 136 to fit Mamba cache blocks",
      facts=(F("graph_max_batch", "to", "int"),)),
    P("graph_sizes_overridden", "vllm", "cudagraph_capture_sizes specified", r"cudagraph_capture_sizes specified in compilation_config (?P<from>.*?) "
      r"is overridden by config (?P<to>.*)$", "the capture sizes that you set are not used", "cudagraph_capture_sizes specified in "
      "compilation_config [1, 2] is overridden by config [1, 2, 4]", "0.11.1"),
    P("recompile_serving", "vllm", "during inference", r"(?P<what>(?:Triton|CuTe|[\w ]*)JIT compilation|[\w ]+compilation) during inference: (?P<kernel>[^\s.(]+)",
      "a kernel was compiled while serving: a latency spike", "Triton kernel JIT compilation during inference: _fwd_kernel. This causes a latency spike",
      "0.21.0"),
    P("recompile_serving", "any", "recompile_limit", r"(?:torch\._dynamo|Dynamo).*?hit config\.(?P<what>recompile_limit|cache_size_limit)",
      "too many recompilations: it runs eager now", "torch._dynamo hit config.recompile_limit (8)"),
    P("recompile_serving", "any", "cache_size_limit", r"(?:torch\._dynamo|Dynamo).*?hit config\.(?P<what>recompile_limit|cache_size_limit)",
      "too many recompilations: it runs eager now", "torch._dynamo hit config.cache_size_limit (8)"),
    P("compiled", "vllm", "torch.compile takes", r"torch\.compile (?:takes|took) (?P<seconds>[\d.]+) s in total", "compilation at start",
      "torch.compile takes 31.20 s in total", "0.6.5"),
)  # fmt: skip

CONFIGURATION = (
    P("attention_backend", "vllm", "attention backend", r"Using (?:AttentionBackendEnum\.)?(?P<backend>\w+) attention backend"
      r"(?: out of potential backends: \[(?P<candidates>[^\]]*)\])?", "the attention kernel in use",
      "Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'TRITON_ATTN']", "0.11.1",
      facts=(F("attention_backend", "backend"),), fixed=(("chosen", "default"),)),
    P("attention_backend", "vllm", " backend", r"Using (?P<backend>Flash ?Attention(?:-\d)?|Flash Attention|Flash[Ii]nfer|FlashMLA|XFormers|ROCm\w*"
      r"(?: Attention)?|Torch SDPA|Triton(?: MLA| Attention)?|CPU MLA|Pallas|IPEX attention|Cutlass MLA|AITER MLA|Blocksparse\w+|FLASHMLA_SPARSE|"
      r"FlexAttention|Tree Attention|HPUAttention|OpenVINO Attention)(?: V1)? backend(?: on V1 engine)?", "the attention kernel in use",
      "Using Flash Attention backend on V1 engine.", "0.4.0", facts=(F("attention_backend", "backend"),), fixed=(("chosen", "default"),)),
    P("backend_unsupported", "vllm", "Cannot use", r"Cannot use (?P<backend>[\w-]+) backend (?:because|for|on|due to|with)?\s*(?P<reason>[^.]*)",
      "an attention kernel is not possible here: a slower one is used", "Cannot use FlashAttention-2 backend for Volta and Turing GPUs."),
    P("mla_disabled", "vllm", "MLA", r"MLA is (?P<what>not supported|disabled)", "latent attention off: far more KV per token",
      "MLA is not supported with awq quantization."),
    P("moe_default_config", "any", "Using default MoE", r"Using default MoE (?:kernel )?config", "no tuned kernel table for this expert shape and GPU",
      "Using default MoE config. Performance might be sub-optimal! Config file not found at ..."),
    P("quant_not_optimized", "vllm", "not fully optimized", r"(?P<method>\w+) quantization is not fully optimized", "slow kernels of a quantization method",
      "gptq quantization is not fully optimized yet. The speed can be slower than non-quantized models.", facts=(F("quantization", "method"),)),
    P("quant_fallback", "vllm", "Marlin", r"does not have native support for (?P<method>\w+) (?:computation|quantization)?.*?Weight-only",
      "the GPU lacks this format: weight-only kernels, no faster compute", "Your GPU does not have native support for FP8 computation but FP8 "
      "quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel."),
    P("quant_kernel", "vllm", "is convertible to", r"The model is convertible to (?P<method>[\w]+) during runtime", "a faster kernel was chosen",
      "The model is convertible to awq_marlin during runtime. Using awq_marlin kernel."),
    P("chunked_prefill_on", "vllm", "Chunked prefill is enabled with", r"Chunked prefill is enabled with max_num_batched_tokens=(?P<budget>\d+)",
      "chunked prefill and its budget", "Chunked prefill is enabled with max_num_batched_tokens=2048.", "0.5.3",
      facts=(F("chunked_prefill", value=True), F("max_num_batched_tokens", "budget", "int"), F("chunk_budget", "budget", "int"))),
    P("chunked_prefill_on", "vllm", "Chunked prefill is enabled", r"Chunked prefill is enabled (?:\(EXPERIMENTAL\)|by default)",
      "chunked prefill is on", "Chunked prefill is enabled by default for models with max_model_len > 32K.", "0.4.1",
      facts=(F("chunked_prefill", value=True),)),
    P("chunked_prefill_off", "vllm", "isabling chunked prefill", r"Disabling chunked prefill(?: for|:)? (?P<reason>.*?)\.?$",
      "this model runs whole prefills", "Disabling chunked prefill for model without KVCache", facts=(F("chunked_prefill", value=False),)),
    P("disable_chunked_unsupported", "vllm", "chunked prefill", r"(?:does not officially support|not supported).{0,40}disabling chunked prefill|"
      r"[Dd]isabling chunked prefill.{0,60}not (?:officially )?supported", "chunked prefill cannot be switched off here",
      "This model does not officially support disabling chunked prefill. Disabling this manually may cause the engine to crash or produce "
      "incorrect outputs."),
    P("prefix_caching_off", "vllm", "refix caching", r"Disabling prefix caching: (?P<reason>[^.]*)|\(?[Dd]isabling\)? prefix caching by default|Prefix caching is not supported (?P<reason2>[^;.]*)"
      r"(?:; disabling|\.)|[Pp]refix caching (?:is|will be) disabled(?: because)? ?(?P<reason3>[^.]*)", "prefix caching is off here",
      "Disabling prefix caching: model has non-causal attention layers.", facts=(F("prefix_caching", value=False),)),
    P("prefix_caching_on", "vllm", "prefix caching", r"[Aa]utomatic prefix caching is enabled|\(?[Ee]nabling\)? prefix caching by default",
      "prefix caching is on", "(Enabling) prefix caching by default", facts=(F("prefix_caching", value=True),)),
    P("mamba_prefix_experimental", "vllm", "refix caching in Mamba", r"[Pp]refix caching in Mamba cache '(?P<mode>\w+)' mode is currently enabled",
      "hybrid prefix caching works on whole state blocks", "Prefix caching in Mamba cache 'align' mode is currently enabled. Its support for "
      "Mamba layers is experimental.", facts=(F("mamba_cache_mode", "mode"), F("prefix_caching", value=True))),
    P("kv_events_misconfigured", "vllm", "KV cache events are on", r"KV cache events are on, but prefix caching is not enabled",
      "routers see no cache contents", "KV cache events are on, but prefix caching is not enabled. Use --enable-prefix-caching to enable.",
      "0.9.0", facts=(F("prefix_caching", value=False), F("kv_events", value=True))),
    P("scheduled_tokens_reduced", "vllm", "max_num_scheduled_tokens is set to", r"max_num_scheduled_tokens is set to (?P<tokens>\d+)",
      "speculation takes part of the chunk budget", "max_num_scheduled_tokens is set to 1536 based on the speculative decoding settings."),
    P("spec_disabled", "vllm", "peculative decoding", r"[Ss]peculative decoding (?:is )?(?:not supported|disabled)(?P<reason>[^.]*)", "speculation is off here",
      "Speculative decoding is not supported with pipeline parallelism"),
    P("default_max_num_seqs", "vllm", "default max_num_seqs", r"[Ss]etting default max_num_seqs to (?P<seqs>\d+)", "sequence limit by default",
      "Setting default max_num_seqs to 256", facts=(F("max_num_seqs", "seqs", "int"),)),
    P("default_budget", "vllm", "Defaulting max_num_batched_tokens", r"Defaulting max_num_batched_tokens to (?P<budget>\d+)", "chunk budget by default",
      "Defaulting max_num_batched_tokens to 8192 for LLM_CLASS usage context.", facts=(F("max_num_batched_tokens", "budget", "int"),)),
    P("lora_load", "vllm", "LoRA adapter", r"Loaded new LoRA adapter: name '(?P<adapter>[^']+)'", "an adapter was loaded while serving",
      "Loaded new LoRA adapter: name 'sql', path '/adapters/sql'"),
    P("lora_evict", "vllm", "LoRA", r"(?:Removed LoRA adapter: name '(?P<adapter>[^']+)'|[Ee]victing LoRA (?P<adapter2>\S+))", "an adapter was removed",
      "Removed LoRA adapter: name 'sql'"),
    P("kv_expired", "vllm", "expired KV", r"Releasing expired KV blocks for request (?P<id>\S+)", "decode never fetched the prefilled KV",
      "Releasing expired KV blocks for request cmpl-1 which were retrieved by 0 decode worker(s) within 480 seconds.", "0.10.2"),
    P("tokenizer_slow", "vllm", "slow tokenizer", r"Using a slow tokenizer", "a slow tokenizer burdens the front end",
      "Using a slow tokenizer. This might cause a significant slowdown. Consider using a fast tokenizer instead."),
    P("mm_cache_off", "vllm", "processor cache", r"(?:[Mm]ulti-?modal|mm).{0,20}processor cache.{0,30}disabled", "images are processed again each time",
      "multi-modal processor cache is disabled"),
    P("encoder_budget", "vllm", "Encoder cache will be initialized", r"Encoder cache will be initialized with a budget of (?P<tokens>[\d,]+) tokens",
      "room for encoded images", "Encoder cache will be initialized with a budget of 16384 tokens, and profiled with 1 image items"),
)  # fmt: skip
