"""Plays given actions in ALFWorld's games as Python's users do, and says how long it took and what was shown.

Two ways: `textworld`, an environment of TextWorld in this process with ALFWorld's names for things; and `alfworld`,
the batch environment that ALFWorld's own class makes (batches of one stay in this process, too).
"""

import contextlib
import json
import os
import sys
import time
from importlib.metadata import version

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredTWEnv


class Watch:
    """Seconds by the clock, and of all threads of this process on cores."""

    def __init__(self):
        self.clock = self.core = 0.0

    def __enter__(self):
        self.begun = (time.perf_counter(), time.process_time())

    def __exit__(self, *_):
        self.clock += time.perf_counter() - self.begun[0]
        self.core += time.process_time() - self.begun[1]


def with_textworld(episodes, steps, resets):
    wanted = textworld.EnvInfos(won=True, admissible_commands=True)
    for episode in episodes:
        with resets:
            environment = textworld.start(episode["file"], wanted, wrappers=[AlfredDemangler()])
            state = environment.reset()
        shown = [[state.feedback, state.admissible_commands]]
        for action in episode["actions"]:
            with steps:
                state, _, _ = environment.step(action)
            shown.append([state.feedback, state.admissible_commands])
        environment.close()
        yield episode["id"], shown


def with_alfworld(episodes, steps, resets, folder):
    config = {
        "dataset": {"eval_id_data_path": folder, "num_eval_games": -1},
        "env": {
            "goal_desc_human_anns_prob": 0,
            "task_types": [1, 2, 3, 4, 5, 6],
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": 1000}},
    }
    by_file = {os.path.realpath(episode["file"]): episode for episode in episodes}
    environment = AlfredTWEnv(config, train_eval="eval_in_distribution").init_env(batch_size=1)
    for _ in episodes:
        with resets:
            texts, infos = environment.reset()
        episode = by_file[os.path.realpath(infos["extra.gamefile"][0])]
        shown = [[texts[0], infos["admissible_commands"][0]]]
        for action in episode["actions"]:
            with steps:
                texts, _, _, infos = environment.step([action])
            shown.append([texts[0], infos["admissible_commands"][0]])
        yield episode["id"], shown
    environment.close()


def main(question, answer):
    with open(question) as file:
        request = json.load(file)
    episodes, steps, resets = request["episodes"], Watch(), Watch()
    # Progress bars and greetings are not for our reader.
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        plays = (
            with_textworld(episodes, steps, resets)
            if request["way"] == "textworld"
            else with_alfworld(episodes, steps, resets, request["folder"])
        )
        shown = dict(plays)
    found = {
        "steps": {"clock": steps.clock, "core": steps.core},
        "resets": {"clock": resets.clock, "core": resets.core},
        "shown": shown,
        "versions": {name: version(name) for name in ("textworld", "alfworld")},
    }
    with open(answer, "w") as file:
        json.dump(found, file)


main(*sys.argv[1:])
