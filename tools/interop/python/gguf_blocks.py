"""Makes tests/models/gguf/blocks.reference.json: blocks of every type and what the gguf package makes of them.

    pip install gguf==0.19.0 numpy
    python tools/interop/python/gguf_blocks.py tests/models/gguf/blocks.reference.json
"""

import base64
import json
import sys

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

# Where a block has numbers of 16 bits: its scale, and its minimum if it has one.
HALVES = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "F16": [0],
}
# Ordinary ones, zeros, the smallest and the largest, numbers below the normal ones, negative ones.
SCALES = [0.0123, -0.0371, 0.0, -0.0, 6e-8, -5.9e-6, 6.1e-5, 65504.0, -65504.0, 1.0, 0.33325]


def text(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def blocks(random, kind):
    elements, size = GGML_QUANT_SIZES[kind]
    count = {1: 64, 32: 8, 256: 3}[elements]
    made = random.integers(0, 256, (count, size), dtype=np.uint8)
    if kind.name == "F32":
        return random.standard_normal((count, 1)).astype(np.float32).view(np.uint8)
    if kind.name == "BF16":
        made[:, 1] &= 0xBF  # neither infinite nor no number
    for i, place in enumerate(HALVES.get(kind.name, [])):
        chosen = random.choice(SCALES, count) if i else random.permutation(SCALES * 6)[:count]
        made[:, place : place + 2] = chosen.astype(np.float16)[:, None].view(np.uint8)
    return made


def inputs(random):
    """Rows for quantisation: ordinary, zero, tiny, huge, exactly between two steps."""
    rows = random.standard_normal((12, 64)).astype(np.float32)
    rows[1] = 0
    rows[2] *= np.float32(1e-8)
    rows[3] *= np.float32(1e6)
    rows[4] = np.arange(64) - 31.5
    rows[5] = (np.arange(64) % 32 - 15.5) / 127 * 8
    rows[6] *= np.float32(1e-36)
    rows[7, 5] = 127
    rows[8] = -0.0
    return rows


def main(place):
    random = np.random.default_rng(19)
    names = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
    types = {}
    for name in names:
        kind = GGMLQuantizationType[name]
        made = blocks(random, kind)
        values = dequantize(made.reshape(1, -1), kind).astype(np.float32)
        assert np.isfinite(values).all(), name
        types[name] = {"blocks": text(made), "values": text(values)}
    rows = inputs(random)
    halves = np.concatenate([rows.ravel()[:320], np.float32(SCALES), np.float32([65519, 65520, 1e9, 2**-25, 3e-8])])
    reference = {
        "types": types,
        "quantised": {"values": text(rows), "Q8_0": text(quantize(rows, GGMLQuantizationType.Q8_0))},
        "halves": {"values": text(halves), "bits": text(halves.astype(np.float16))},
    }
    with open(place, "w", encoding="utf-8") as file:
        json.dump(reference, file, indent=1)
        file.write("\n")


main(sys.argv[1])
