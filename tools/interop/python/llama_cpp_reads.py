"""llama.cpp itself, with files that we wrote: its tokens of texts, and what it says next."""

import json
import urllib.request

import xllamacpp
from answering import answer


def open_server(path):
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx = 512
    settings.n_parallel = 1
    settings.warmup = False
    settings.verbosity = 0
    settings.cpuparams.n_threads = 2
    # Keys and values as exact as the weights: otherwise another token wins now and then.
    settings.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(settings)


def post(server, path, body):
    request = urllib.request.Request(
        server.listening_address + path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def continued(server, prompt, count):
    body = {"prompt": prompt, "n_predict": count, "temperature": 0, "samplers": ["temperature"]}
    return post(server, "/completion", {**body, "return_tokens": True, "cache_prompt": False})["tokens"]


def read(case):
    server = open_server(case["file"])
    options = {"add_special": False, "parse_special": True}
    return {
        "ids": [post(server, "/tokenize", {"content": text, **options})["tokens"] for text in case["texts"]],
        "continuations": [continued(server, prompt, case["count"]) for prompt in case["prompts"]],
    }


answer(lambda request: [read(case) for case in request["cases"]])
