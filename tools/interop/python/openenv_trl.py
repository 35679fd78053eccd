"""Two steps of TRL's GRPOTrainer whose environments are sessions at a server of ours.

The model is tiny and random, and calls no tool; so that an action is taken all the same, one is when an episode is
scored. What is compared is the way: reset, step and reward over OpenEnv, in TRL's own loop.
"""

import random
from importlib.metadata import version

from answering import answer
from datasets import Dataset
from openenv.core.generic_client import GenericEnvClient
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

counts = {"resets": 0, "calls": 0}


def factory(url):
    class Household:
        def __init__(self):
            self.client = GenericEnvClient(base_url=url).sync()
            self.client.connect()

        def reset(self, **_) -> str:
            counts["resets"] += 1
            self.acted = False
            self.result = self.client.reset(seed=random.randrange(100))
            return self.result.observation["text"]

        def act(self, text: str) -> str:
            """
            Acts in the household.

            Args:
                text: The action.
            """
            counts["calls"] += 1
            self.acted = True
            self.result = self.client.step({"text": text})
            return self.result.observation["text"]

        def get_reward(self) -> float:
            if not self.acted:
                self.act(self.result.observation["admissible_actions"][0])
            return float(self.result.observation["score"]) + random.random()

    return Household


def respond(request):
    model = AutoModelForCausalLM.from_pretrained(request["model"])
    tokenizer = AutoTokenizer.from_pretrained(request["model"])
    # One whose calls of tools TRL knows how to read.
    tokenizer.chat_template = qwen3_chat_template
    config = GRPOConfig(
        output_dir=request["model"] + "-trl",
        per_device_train_batch_size=2,
        num_generations=2,
        max_steps=2,
        max_completion_length=8,
        max_tool_calling_iterations=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
    )
    prompts = [{"prompt": [{"role": "user", "content": "Do the task."}]}] * 4
    trainer = GRPOTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(prompts),
        processing_class=tokenizer,
        environment_factory=factory(request["url"]),
    )
    trainer.train()
    return {**counts, "steps": trainer.state.global_step, "version": version("trl")}


answer(respond)
