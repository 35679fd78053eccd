"""transformers' generate: all sequences in one batch, keys and values kept from turn to turn.

All sequences of a case have the same length, so nothing is padded. A group's prompt is computed once, and its cache
repeated for the members: faster than num_return_sequences, which computes it for each.
"""

import torch
import transformers
from answering import answer, generation_answer
from transformers import AutoModelForCausalLM, DynamicCache


def generator(model):
    def generate(work, greedy):
        rows, samples, reply = work["observations"], work["samples"], work["reply"]
        how = {"do_sample": False} if greedy else {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
        how |= {"max_new_tokens": reply, "min_new_tokens": reply, "pad_token_id": 0}
        cache = DynamicCache(config=model.config)
        ids = torch.empty((len(rows) * samples, 0), dtype=torch.long)
        drawn = []
        for turn in range(len(rows[0])):
            seen = torch.tensor([row[turn] for row in rows])
            if samples > 1:
                model(input_ids=seen[:, :-1], past_key_values=cache, use_cache=True, logits_to_keep=1)
                cache.batch_repeat_interleave(samples)
                seen = seen.repeat_interleave(samples, 0)
            ids = torch.cat([ids, seen], 1)
            length = ids.shape[1]
            ids = model.generate(ids, attention_mask=torch.ones_like(ids), past_key_values=cache, **how)
            drawn.append(ids[:, length:])
        return torch.cat(drawn, 1).tolist()

    return generate


def respond(request):
    torch.set_num_threads(request["threads"])
    model = AutoModelForCausalLM.from_pretrained(request["folder"], dtype=torch.float32).eval()
    # Replies have a fixed length: nothing ends them.
    model.generation_config.eos_token_id = None
    about = f"transformers {transformers.__version__}, torch {torch.__version__}"
    with torch.inference_mode():
        return generation_answer(request, generator(model), about)


answer(respond)
