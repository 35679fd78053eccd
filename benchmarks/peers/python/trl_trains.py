"""TRL's GRPOTrainer: the same prompts, lengths and reward as ours/grpo.ts, all weights, float32, one update.

Several turns go through its `rollout_func`, which asks the trainer's own generation for each turn, as its loop for
tools does.
"""

import os
import statistics
import time

import torch
import transformers
import trl
from answering import answer, peak_bytes
from datasets import Dataset
from transformers import AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


def letters(completions, **_):
    """The share of the letter e, as ours/grpo.ts has it."""
    return [len(text.split("e")) / max(1, len(text)) for text in completions]


class Timed(GRPOTrainer):
    """Counts the seconds in which replies are made and scored."""

    generating = 0.0

    def _generate_and_score_completions(self, inputs):
        start = time.perf_counter()
        result = super()._generate_and_score_completions(inputs)
        self.generating += time.perf_counter() - start
        return result


class Watch(TrainerCallback):
    def __init__(self):
        self.begun, self.seconds, self.generating, self.trainer = 0.0, [], [], None

    def on_step_begin(self, *_, **__):
        self.begun, self.trainer.generating = time.perf_counter(), 0.0

    def on_step_end(self, *_, **__):
        self.seconds.append(time.perf_counter() - self.begun)
        self.generating.append(self.trainer.generating)


def rollout_of(tasks, grpo):
    by_prompt = {task["prompt"]: task for task in tasks}

    def rollout(prompts, trainer):
        own = [by_prompt[prompt]["ids"] for prompt in prompts]
        contexts = [list(ids[0]) for ids in own]
        masks = [[] for _ in own]
        for turn in range(grpo["turns"]):
            if turn > 0:
                for context, mask, ids in zip(contexts, masks, own):
                    context.extend(ids[turn])
                    mask.extend([0] * len(ids[turn]))
            replies, _ = trainer._generate_single_turn(contexts, None, {}, trainer.num_generations)
            for context, mask, reply in zip(contexts, masks, replies):
                context.extend(reply)
                mask.extend([1] * len(reply))
        return {
            "prompt_ids": [ids[0] for ids in own],
            "completion_ids": [context[len(ids[0]) :] for context, ids in zip(contexts, own)],
            "logprobs": None,
            "env_mask": masks,
        }

    return rollout


def respond(request):
    torch.set_num_threads(request["threads"])
    grpo, tasks, settings = request["grpo"], request["tasks"], request["settings"]
    tokenizer = AutoTokenizer.from_pretrained(request["folder"])
    for task in tasks:
        if tokenizer(task["prompt"], add_special_tokens=False)["input_ids"] != task["ids"][0]:
            raise RuntimeError("the prompt has other tokens here")
    rows = grpo["tasks"] * grpo["group"]
    config = GRPOConfig(
        output_dir=os.path.join(request["place"], "run"),
        use_cpu=True,
        bf16=False,
        model_init_kwargs={"dtype": "float32"},
        per_device_train_batch_size=settings["batch"],
        gradient_accumulation_steps=rows // settings["batch"],
        gradient_checkpointing=settings["checkpointing"],
        num_generations=grpo["group"],
        max_completion_length=grpo["reply"],
        max_steps=1 + request["iterations"],
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        beta=0.0,
        temperature=1.0,
        num_iterations=1,
        shuffle_dataset=False,
        save_strategy="no",
        report_to="none",
        logging_steps=1,
        disable_tqdm=True,
        seed=1,
    )
    watch = Watch()
    trainer = Timed(
        model=request["folder"],
        reward_funcs=letters,
        args=config,
        train_dataset=Dataset.from_list([{"prompt": task["prompt"]} for task in tasks]),
        processing_class=tokenizer,
        callbacks=[watch],
        **({"rollout_func": rollout_of(tasks, grpo)} if grpo["turns"] > 1 else {}),
    )
    watch.trainer = trainer
    trainer.train()
    lengths = [log["completions/mean_length"] for log in trainer.state.log_history if "completions/mean_length" in log]
    if any(length != grpo["reply"] * grpo["turns"] for length in lengths):
        raise RuntimeError(f"expected replies of {grpo['reply']} tokens in {grpo['turns']} turns, got {lengths}")
    seconds, generating = watch.seconds[1:], statistics.mean(watch.generating[1:])
    return {
        "seconds": sorted(seconds)[len(seconds) // 2],
        "parts": {"generation": generating, "update": statistics.mean(seconds) - generating},
        "peakBytes": peak_bytes(),
        "about": f"TRL {trl.__version__}, transformers {transformers.__version__}, torch {torch.__version__}, "
        f"micro-batches of {settings['batch']}, "
        f"gradient checkpointing {'on' if settings['checkpointing'] else 'off'}",
    }


answer(respond)
