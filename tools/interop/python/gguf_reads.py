"""What the gguf package makes of files that we wrote: fields, shapes, and whether the numbers are its own."""

import numpy as np
from answering import answer
from gguf import GGUFReader
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from safetensors import safe_open


def permuted_back(array, heads):
    """Rows of q and k from llama.cpp's order to transformers'."""
    shape = array.shape
    return array.reshape(heads, shape[0] // heads // 2, 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def compare(plain, other, folder, names):
    """Every tensor: is `other` what the package makes of `plain`, and `folder` what it reads from `other`?"""
    exact = {tensor.name: tensor for tensor in GGUFReader(plain).tensors}
    wrong, count = [], 0
    with safe_open(folder + "/model.safetensors", "np") as weights:
        for tensor in GGUFReader(other).tensors:
            kind = tensor.tensor_type
            source = exact[tensor.name].data
            expected = quantize(np.array(source), kind)
            if expected.tobytes() != tensor.data.tobytes():
                wrong.append(f"{tensor.name}: other {kind.name} than the package's")
            values = dequantize(np.array(tensor.data), kind).astype(np.float32)
            own = names[tensor.name]
            if own["heads"]:
                values = permuted_back(values, own["heads"])
            if values.tobytes() != weights.get_tensor(own["name"]).tobytes():
                wrong.append(f"{own['name']}: imported with other values than the package reads")
            count += values.size
    return {"wrong": wrong, "count": count}


def respond(request):
    fields = GGUFReader(request["plain"]).fields
    return {
        "architecture": fields["general.architecture"].contents(),
        "tokens": len(fields["tokenizer.ggml.tokens"].data),
        **compare(request["plain"], request["other"], request["folder"], request["names"]),
    }


answer(respond)
