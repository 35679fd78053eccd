"""Writes what minigrid draws for each of AgentGym's forty BabyAI levels: tests/environments/babyai/levels.json.

In an environment of its own (the package of the day is enough, AgentGym asks for minigrid<2.5):

    python -m venv scratch && scratch/bin/pip install "minigrid<2.5"
    npx tsx -e 'import("./src/environments/babyai/level/levels.ts").then(m => console.log(m.LEVELS.map(l => l.name).join()))' \
        | scratch/bin/python tools/interop/python/make_babyai_goldens.py > tests/environments/babyai/levels.json

A line is a level's name, and for each seed the first 16 hexadecimal digits of the SHA-256 of its picture (as minigrid
prints it), its mission and its limit of steps.
"""

import contextlib
import hashlib
import io
import json
import sys

import gymnasium
import minigrid

SEEDS = [0, 1, 2, 3, 278, 123456]

minigrid.register_minigrid_envs()
found = {}
for name in sys.stdin.read().strip().split(","):
    found[name] = {}
    for seed in SEEDS:
        # A new one each time: some levels remember the room that was locked before.
        world = gymnasium.make(f"BabyAI-{name}-v0").unwrapped
        with contextlib.redirect_stdout(io.StringIO()):
            world.reset(seed=seed)
        text = f"{world}\n{world.mission}\n{int(world.max_steps)}"
        found[name][seed] = hashlib.sha256(text.encode()).hexdigest()[:16]
json.dump(found, sys.stdout, indent=1)
print()
