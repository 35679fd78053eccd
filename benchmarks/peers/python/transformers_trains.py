"""A plain training step with transformers: forward, backward, AdamW, float32."""

import time

import torch
import transformers
from answering import answer, peak_bytes
from transformers import AutoModelForCausalLM

# Weight of the entropy in the loss, as ours/training.ts has it.
ENTROPY_WEIGHT = 0.01


def loss_of(model, ids, entropy):
    if not entropy:
        return model(input_ids=ids, labels=ids, use_cache=False).loss
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    logprobs = torch.log_softmax(logits, -1)
    taken = logprobs.gather(-1, ids[:, 1:, None])
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return -taken.mean() - ENTROPY_WEIGHT * entropies.mean()


def respond(request):
    torch.set_num_threads(request["threads"])
    model = AutoModelForCausalLM.from_pretrained(request["folder"], dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    ids = torch.tensor(request["ids"])
    times, losses = [], []
    for _ in range(1 + request["steps"]):
        start = time.perf_counter()
        loss = loss_of(model, ids, request["entropy"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        del loss
        times.append(time.perf_counter() - start)
    return {
        "seconds": sorted(times[1:])[len(times[1:]) // 2],
        "loss": losses[0],
        "peakBytes": peak_bytes(),
        "about": f"transformers {transformers.__version__}, torch {torch.__version__}",
    }


answer(respond)
