"""A hybrid model forces large KV blocks."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="hybrid_large_block",
    title="A hybrid model forces large KV blocks",
    kind="info",
    severity="info",
    when="config_kv_block_size >= large",
    meaning="Attention pages are padded to the size of the model's state, so a block holds hundreds of tokens: short prompts pin whole blocks and short prefixes cannot be reused.",
    thresholds=(Threshold("large", 256.0, "tokens", 32.0, 8192.0, "ordinary blocks have 16 to 128 tokens"),),
    say="blocks of {config_kv_block_size} tokens",
    missing="start-up log",
)
