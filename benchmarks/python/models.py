"""The yardstick of `npm run bench -- models`: transformers' own generate and a plain training step.

Usage: models.py THREADS CASE        (cases: see CASES)
Prints one JSON object. Default attention, float32, random weights: only the time matters.
"""
import json
import sys
import time

import torch
import transformers
from transformers import Qwen2Config, Qwen2ForCausalLM

SMALL = dict(
    hidden_size=256, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4,
    intermediate_size=704, vocab_size=4096, tie_word_embeddings=True, max_position_embeddings=8192,
)
LARGE = dict(
    hidden_size=896, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
    intermediate_size=4864, vocab_size=151936, tie_word_embeddings=True, max_position_embeddings=32768,
)


def model_of(shape):
    torch.manual_seed(1)
    config = Qwen2Config(**shape, bos_token_id=None, eos_token_id=None, pad_token_id=0)
    return Qwen2ForCausalLM(config)


def train(shape, rows, length, repeats):
    model = model_of(shape).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(1, shape["vocab_size"], (rows, length))
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - start)
    return {"tokensPerSecond": rows * length / sorted(times[1:])[len(times[1:]) // 2]}


def generate_once(model, ids, new, replies=1):
    with torch.no_grad():
        return model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, min_new_tokens=new,
            do_sample=True, temperature=1.0, top_k=0, pad_token_id=0, num_return_sequences=replies,
        )


def generate(shape, rows, prompt, new, repeats, replies=1):
    model = model_of(shape).eval()
    ids = torch.randint(1, shape["vocab_size"], (rows // replies, prompt))
    generate_once(model, ids[:2], 2)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        generate_once(model, ids, new, replies)
        times.append(time.perf_counter() - start)
    return {"tokensPerSecond": rows * new / sorted(times)[len(times) // 2]}


def turns(shape, rows, count, observation, reply):
    """Every turn is a new call with the whole history as its prompt."""
    model = model_of(shape).eval()
    ids = torch.empty((rows, 0), dtype=torch.long)
    start = time.perf_counter()
    for _ in range(count):
        seen = torch.randint(1, shape["vocab_size"], (rows, observation))
        ids = generate_once(model, torch.cat([ids, seen], 1), reply)
    return {"seconds": time.perf_counter() - start}


CASES = {
    "small-train": lambda: train(SMALL, 16, 512, 3),
    "small-generate": lambda: generate(SMALL, 64, 128, 64, 2),
    "small-group": lambda: generate(SMALL, 64, 128, 64, 2, 8),
    "small-turns": lambda: turns(SMALL, 64, 10, 60, 12),
    "large-train": lambda: train(LARGE, 2, 64, 2),
    "large-generate": lambda: generate(LARGE, 8, 64, 16, 1),
}

torch.set_num_threads(int(sys.argv[1]))
print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__, **CASES[sys.argv[2]]()}))
