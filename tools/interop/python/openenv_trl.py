"""Some steps of TRL's GRPOTrainer whose environments are sessions at a server of ours.

The model is tiny and new, and would call no tool; so it is first taught, in seconds, what a call of `act` looks like, with
some actions. Then TRL does what it does with any model: it reads the calls out of what was sampled, carries them out in the
environments that `environment_factory` made, asks those for the rewards, and trains.
"""

import contextlib
import random
import sys
import time
from importlib.metadata import version

import torch
from answering import answer
from datasets import Dataset
from openenv.core.generic_client import GenericEnvClient
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

# The last is none that the world knows.
ACTIONS = ["look", "inventory", "help", "wait"]
counts = {"resets": 0, "calls": 0, "admissible": 0, "texts": set()}


def factory(url):
    class Household:
        def __init__(self):
            self._client = GenericEnvClient(base_url=url).sync()
            self._client.connect()

        def reset(self, **_) -> str:
            counts["resets"] += 1
            self._earned = []
            self._seen = self._client.reset(seed=random.randrange(100)).observation
            # The task alone: what a tiny model is shown takes its time.
            return self._seen["text"].strip().splitlines()[-1]

        def act(self, text: str) -> str:
            """
            Acts in the household.

            Args:
                text: The action.
            """
            counts["calls"] += 1
            admissible = text in self._seen["admissible_actions"]
            counts["admissible"] += admissible
            # A little for its length: a group in which everybody earns the same teaches nothing.
            self._earned.append(admissible + len(text) / 100)
            self._seen = self._client.step({"text": text}).observation
            counts["texts"].add(self._seen["text"])
            return self._seen["text"][:80]

        def get_reward(self) -> float:
            """A game is won by nobody who was taught four actions: what was possible counts, too."""
            return 10 * self._seen.get("score", 0) + sum(self._earned) / max(1, len(self._earned))

    return Household


def teach(model, tokenizer, environment, steps):
    """The loss of the calls alone, after what the environment shows in the beginning. Gives the last."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for step in range(steps):
        rows = []
        for action in ACTIONS:
            asked = [{"role": "user", "content": "Do the task." + environment.reset()}]
            prompt = tokenizer.apply_chat_template(
                asked, tools=[environment.act], add_generation_prompt=True, tokenize=False
            )
            call = f'<tool_call>\n{{"name": "act", "arguments": {{"text": "{action}"}}}}\n</tool_call><|im_end|>'
            ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, call)]
            rows.append((ids[0] + ids[1], len(ids[0])))
        length = max(len(ids) for ids, _ in rows)
        tokens = torch.zeros(len(rows), length, dtype=torch.long)
        labels = torch.full_like(tokens, -100)
        for row, (ids, begin) in enumerate(rows):
            tokens[row, : len(ids)] = torch.tensor(ids)
            labels[row, begin : len(ids)] = torch.tensor(ids[begin:])
        loss = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return float(loss)


def respond(request):
    random.seed(1)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(request["model"], dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(request["model"])
    # One whose calls of tools TRL knows how to read.
    tokenizer.chat_template = qwen3_chat_template
    made = factory(request["url"])
    begun = time.perf_counter()
    loss = teach(model, tokenizer, made(), request["lessons"])
    taught = time.perf_counter()
    counts.update(resets=0)
    config = GRPOConfig(
        output_dir=request["model"] + "-trl",
        per_device_train_batch_size=4,
        num_generations=4,
        max_steps=request["steps"],
        max_completion_length=64,
        max_tool_calling_iterations=1,
        learning_rate=1e-4,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
    )
    prompts = [{"prompt": [{"role": "user", "content": "Do the task."}]}] * 4
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    trainer = GRPOTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(prompts),
        processing_class=tokenizer,
        environment_factory=made,
    )
    # Its tables of metrics are for people who watch it.
    with contextlib.redirect_stdout(sys.stderr):
        trainer.train()
    changed = sum(not torch.equal(value.detach(), before[name]) for name, value in model.named_parameters())
    rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    return {
        **counts,
        "texts": len(counts["texts"]),
        "steps": trainer.state.global_step,
        "lesson": loss,
        "changed": changed,
        "rewards": rewards,
        "seconds": [round(taught - begun, 1), round(time.perf_counter() - taught, 1)],
        "version": version("trl"),
    }


answer(respond)
