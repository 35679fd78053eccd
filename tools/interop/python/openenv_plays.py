"""Plays a world of ours with openenv-core's generic client: its sessions, states and errors."""

from importlib.metadata import version

from answering import answer
from openenv.core.generic_client import GenericEnvClient


def respond(request):
    episodes = []
    with GenericEnvClient(base_url=request["url"]).sync() as client:
        for seed, actions in enumerate(request["solutions"]):
            result = client.reset(seed=seed)
            texts, reward = [result.observation["text"]], 0.0
            for action in actions:
                result = client.step({"text": action})
                texts.append(result.observation["text"])
                reward += result.reward
            steps = client.state()["step_count"]
            episodes.append({"texts": texts, "reward": reward, "done": result.done, "steps": steps})
        try:
            client.step({"nonsense": 1})
            refused = None
        except RuntimeError as error:
            refused = str(error)
    return {"episodes": episodes, "refused": refused, "version": version("openenv-core")}


answer(respond)
