"""llama.cpp's server with a file that we wrote, until it is stopped. Its first line is its address."""

import sys
import threading

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.n_ctx = 8 * 1024
settings.n_parallel = 8
settings.kv_unified = True
settings.warmup = False
settings.verbosity = 0
settings.cpuparams.n_threads = 2
# Keys and values as exact as the weights: otherwise another token wins now and then.
settings.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(settings)
print(f"serving at {server.listening_address}", flush=True)
threading.Event().wait()
