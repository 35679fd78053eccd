"""vLLM on the CPU, offline: continuous batching, prefixes found in its cache. One process, so that its peak is its."""

import os
import sys

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
# Left to itself it keeps a core for its scheduler, and computes on the others: on two cores, on one.
os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")

import torch
import vllm
from answering import answer, generation_answer
from vllm import LLM, SamplingParams


def generator(engine):
    def generate(work, greedy):
        rows, samples, reply = work["observations"], work["samples"], work["reply"]
        how = SamplingParams(
            n=samples,
            temperature=0.0 if greedy else 1.0,
            max_tokens=reply,
            min_tokens=reply,
            ignore_eos=True,
            detokenize=False,
        )
        contexts = [[] for _ in rows]
        drawn = [[] for _ in range(len(rows) * samples)]
        for turn in range(len(rows[0])):
            for context, row in zip(contexts, rows):
                context.extend(row[turn])
            prompts = [{"prompt_token_ids": context} for context in contexts]
            answers = engine.generate(prompts, how, use_tqdm=False)
            replies = [list(output.token_ids) for one in answers for output in one.outputs]
            for ids, new in zip(drawn, replies):
                ids.extend(new)
            if samples == 1:
                for context, new in zip(contexts, replies):
                    context.extend(new)
        return drawn

    return generate


def respond(request):
    torch.set_num_threads(request["threads"])
    engine = LLM(
        model=request["folder"],
        dtype="float32",
        max_model_len=1024,
        enable_prefix_caching=True,
        disable_log_stats=True,
        generation_config="vllm",
    )
    if torch.get_num_threads() != request["threads"]:
        raise RuntimeError(f"it has {torch.get_num_threads()} threads, where {request['threads']} were asked for")
    about = f"vLLM {vllm.__version__}, torch {torch.__version__}, {os.environ.get('LD_PRELOAD', 'no libiomp5')}"
    about = about.replace(sys.prefix, "…")
    return generation_answer(request, generator(engine), about)


if __name__ == "__main__":
    answer(respond)
