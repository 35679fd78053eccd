"""llama.cpp's server with its parallel slots: continuous batching, a slot of its own for each episode, one cache for
all, so that a group's prompt is computed once (n_cmpl) and an episode's next turn only appends.
"""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import xllamacpp
from answering import answer, generation_answer

SLOTS = 64
CONTEXT = 64 * 512


def open_server(path, threads):
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx = CONTEXT
    settings.n_parallel = SLOTS
    settings.kv_unified = True
    # Else an episode's keys and values are saved and cleared when another's turn begins, and computed again.
    settings.cache_idle_slots = False
    settings.cache_ram_mib = 0
    settings.warmup = True
    settings.verbosity = 0
    settings.cpuparams.n_threads = threads
    settings.cpuparams_batch.n_threads = threads
    # As exact as the weights.
    settings.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    return xllamacpp.Server(settings)


def post(server, body):
    request = urllib.request.Request(
        server.listening_address + "/completion", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def generator(server):
    def generate(work, greedy):
        samples, reply = work["samples"], work["reply"]

        def episode(numbered):
            slot, turns = numbered
            ids, drawn = [], [[] for _ in range(samples)]
            for seen in turns:
                ids = ids + seen
                body = {
                    "prompt": ids,
                    "n_predict": reply,
                    "temperature": 0.0 if greedy else 1.0,
                    "samplers": ["temperature"],
                    "ignore_eos": True,
                    "cache_prompt": True,
                    "return_tokens": True,
                }
                body |= {"n_cmpl": samples} if samples > 1 else {"id_slot": slot}
                answered = post(server, body)
                replies = [one["tokens"] for one in (answered if isinstance(answered, list) else [answered])]
                for own, new in zip(drawn, replies, strict=True):
                    own.extend(new)
                if samples == 1:
                    ids = ids + replies[0]
            return drawn

        with ThreadPoolExecutor(SLOTS) as pool:
            return [ids for drawn in pool.map(episode, enumerate(work["observations"])) for ids in drawn]

    return generate


def respond(request):
    server = open_server(request["gguf"], request["threads"])
    about = f"llama.cpp (xllamacpp {xllamacpp.__version__})"
    return generation_answer(request, generator(server), about)


answer(respond)
