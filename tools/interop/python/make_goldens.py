"""Makes tests/models/golden: tiny random models, and what transformers computes with them.

    python tools/interop/python/make_goldens.py tests/models/golden && npm run format

Run it in the environment of requirements.txt. Every number comes from a seed; other versions of torch may
draw other weights, but a folder is always consistent in itself.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, SmolLM3Config, SmolLM3ForCausalLM

SIZES = {
    "vocab_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
}
LENGTHS = [23, 9]  # one longer than every window, by far
GREEDY_TOKENS = 12
# A small epsilon would make much of the rounding of gradients that are almost zero.
ADAMW = {"lr": 1e-2, "betas": [0.9, 0.999], "eps": 1e-4, "weight_decay": 0.01}


def smollm3():
    # Every other layer is without rope, and those see a window.
    return SmolLM3ForCausalLM(
        SmolLM3Config(
            **SIZES,
            hidden_size=16,
            intermediate_size=16,
            no_rope_layer_interval=2,
            use_sliding_window=True,
            sliding_window=6,
        )
    )


def gemma3_text():
    # Local, local, global, local; heads whose size is not the hidden size's share, and a scale of its own.
    linear = {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0}
    return Gemma3ForCausalLM(
        Gemma3TextConfig(
            **SIZES,
            hidden_size=12,
            intermediate_size=16,
            head_dim=6,
            query_pre_attn_scalar=9,
            sliding_window=5,
            sliding_window_pattern=3,
            rope_parameters={
                "full_attention": linear,
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
        )
    )


def randomise(model):
    """All weights random, norms too: each must be in the right place."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = torch.randn(parameter.shape, generator=generator) * 0.2
            # Norms begin as ones, Gemma's as zeros.
            centre = parameter[0].item() if name.endswith("norm.weight") else 0.0
            parameter.copy_(values + centre)


def gradients_of(model, rows):
    """The mean of -log p over all tokens but the first of each row."""
    losses = []
    for row in rows:
        logits = model(torch.tensor([row])).logits[0, :-1]
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(row[1:]), reduction="none"))
    losses = torch.cat(losses)
    losses.mean().backward()
    return losses.mean().item(), (-losses).tolist()


def greedy(model, row):
    ids = list(row)
    for _ in range(GREEDY_TOKENS):
        ids.append(model(torch.tensor([ids])).logits[0, -1].argmax().item())
    return ids[len(row) :]


def make(model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    randomise(model)
    model.eval()
    model.config._attn_implementation = "eager"
    generator = torch.Generator().manual_seed(3)
    # No padding among them: transformers gives its embedding no gradient.
    rows = [torch.randint(3, SIZES["vocab_size"], [length], generator=generator).tolist() for length in LENGTHS]
    with torch.no_grad():
        expected = {
            "rows": rows,
            "logits": [model(torch.tensor([row])).logits[0].tolist() for row in rows],
            "greedy": [greedy(model, row) for row in rows],
        }
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    expected["loss"], expected["logprobs"] = gradients_of(model, rows)
    expected["adamw"] = ADAMW
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    save_file(gradients, folder / "gradients.safetensors")
    optimizer = torch.optim.AdamW(model.parameters(), **ADAMW)
    optimizer.step()
    save_file({name: parameter.data for name, parameter in model.named_parameters()}, folder / "stepped.safetensors")
    short = type(model).from_pretrained(folder, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        out = short(torch.tensor([rows[0]]), output_hidden_states=True)
    expected["bfloat16"] = {
        "embeddings": out.hidden_states[0][0, :3].tolist(),
        "logits": out.logits[0].tolist(),
    }
    (folder / "expected.json").write_text(json.dumps(rounded(expected), separators=(",", ":")) + "\n")


def rounded(value):
    """Nine digits say all of a float32."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


for build in [smollm3, gemma3_text]:
    make(build(), Path(sys.argv[1]) / build.__name__)
