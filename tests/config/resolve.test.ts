/**
 * @file The configuration: the documents' command lines, YAML and presets, and what is said when something
 * is wrong.
 */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { discount } from "../../src/config/combinations.ts";
import {
  allSettings,
  configSchema,
  configurationReference,
  groupSize,
  PRESETS,
  resolveConfig,
} from "../../src/config/index.ts";
import { verlKeys, verlReference } from "../../src/config/reference.ts";
import { VERL } from "../../tools/docs/verl-keys.ts";

const resolve = (...overrides: string[]) => resolveConfig({ overrides });
const error = (...overrides: string[]): string => {
  try {
    resolve(...overrides);
  } catch (thrown) {
    return String(thrown);
  }
  throw new Error(`${overrides.join(" ")} was accepted`);
};

/** The documents' command line for WebShop with PPO. */
const WEBSHOP = [
  "algorithm.adv_estimator=gae algorithm.use_kl_in_reward=False data.train_batch_size=128",
  "data.max_prompt_length=4096 data.max_response_length=512",
  "actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct actor_rollout_ref.actor.optim.lr=1e-6",
  "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.kl_loss_coef=0.01",
  "actor_rollout_ref.rollout.tensor_model_parallel_size=2 critic.optim.lr=1e-5",
  "critic.model.path=Qwen/Qwen2.5-1.5B-Instruct env.env_name=Webshop env.max_steps=15",
  "trainer.total_epochs=150 trainer.test_freq=5 trainer.n_gpus_per_node=4",
].flatMap((line) => line.split(" "));

/** What the original's script for ALFWorld sets. */
const ALFWORLD = [
  "algorithm.adv_estimator=gae data.train_batch_size=128 data.val_batch_size=128",
  "data.max_prompt_length=2048 data.max_response_length=512 data.filter_overlong_prompts=True",
  "data.truncation=error data.return_raw_chat=True actor_rollout_ref.model.path=models/qwen",
  "actor_rollout_ref.actor.optim.lr=1e-6 actor_rollout_ref.model.use_remove_padding=True",
  "actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
  "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=0.01",
  "actor_rollout_ref.actor.kl_loss_type=low_var_kl actor_rollout_ref.model.enable_gradient_checkpointing=True",
  "actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.actor.fsdp_config.optimizer_offload=False",
  "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.tensor_model_parallel_size=1",
  "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.3",
  "actor_rollout_ref.rollout.enable_chunked_prefill=False actor_rollout_ref.rollout.enforce_eager=False",
  "actor_rollout_ref.rollout.free_cache_engine=False actor_rollout_ref.rollout.val_kwargs.temperature=0.4",
  "actor_rollout_ref.rollout.val_kwargs.do_sample=True actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4",
  "actor_rollout_ref.ref.fsdp_config.param_offload=True actor_rollout_ref.actor.use_invalid_action_penalty=True",
  "actor_rollout_ref.actor.invalid_action_penalty_coef=0.1 critic.optim.lr=1e-5 critic.model.use_remove_padding=True",
  "critic.model.path=models/qwen critic.ppo_mini_batch_size=128 critic.ppo_micro_batch_size_per_gpu=4",
  "critic.model.enable_gradient_checkpointing=True algorithm.use_kl_in_reward=False",
  "env.env_name=alfworld/AlfredTWEnv env.seed=0 env.max_steps=50 env.resources_per_worker.num_cpus=0.2",
  "trainer.critic_warmup=0 trainer.logger=['console','wandb'] trainer.project_name=verl_agent_alfworld",
  "trainer.experiment_name=ppo trainer.n_gpus_per_node=4 trainer.nnodes=1 trainer.save_freq=-1",
  "trainer.test_freq=5 trainer.total_epochs=150 trainer.val_before_train=True",
].flatMap((line) => line.split(" "));

describe("the documents' command lines", () => {
  it("is read as written: WebShop with PPO", () => {
    const { config, notes } = resolve(...WEBSHOP);
    expect(config.algorithm.adv_estimator).toBe("gae");
    expect(config.algorithm.use_kl_in_reward).toBe(false);
    expect(config.data.train_batch_size).toBe(128);
    expect(config.actor_rollout_ref.actor.optim.lr).toBe(1e-6);
    expect(config.critic.model.path).toBe("Qwen/Qwen2.5-1.5B-Instruct");
    expect(config.env).toMatchObject({ env_name: "Webshop", max_steps: 15 });
    expect(config.trainer.total_epochs).toBe(150);
    expect(config.trainer.n_gpus_per_node).toBe(4);
    // All of it matters here: there is nothing to say.
    expect(notes).toEqual([]);
  });

  it("is read as written: ALFWorld", () => {
    const { config, notes } = resolve(...ALFWORLD);
    expect(config.trainer.logger).toEqual(["console", "wandb"]);
    expect(config.actor_rollout_ref.actor.kl_loss_type).toBe("low_var_kl");
    expect(notes.some((note) => note.startsWith("actor_rollout_ref.rollout.name "))).toBe(true);
  });
});

describe("who plays", () => {
  const vllm = (...own: string[]) => [
    "actor_rollout_ref.rollout.name=vllm",
    "actor_rollout_ref.rollout.vllm.urls=[http://127.0.0.1:8000]",
    ...own,
  ];

  it("is our engine where there is no vLLM, and says so", () => {
    const { PATH, OPENMANUS_VLLM } = process.env;
    process.env.PATH = "/nowhere";
    delete process.env.OPENMANUS_VLLM;
    try {
      const { notes } = resolve(
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.max_num_seqs=8",
      );
      expect(notes.join("\n")).toMatch(/there is no vLLM here .*: our own engine plays\./);
      expect(notes.join("\n")).toMatch(/max_num_seqs has no effect here: it is for vLLM's servers/);
    } finally {
      process.env.PATH = PATH;
      if (OPENMANUS_VLLM !== undefined) process.env.OPENMANUS_VLLM = OPENMANUS_VLLM;
    }
  });

  it("is no program that is not there", () => {
    const words = [
      "actor_rollout_ref.rollout.name=vllm",
      "actor_rollout_ref.rollout.vllm.executable=/nowhere/vllm",
    ];
    expect(() => resolve(...words)).toThrow(/\/nowhere\/vllm is no program; expected vLLM's/);
  });

  it.each([
    ["constrain=True", /rollout\.constrain is of the engine in the training process/],
    ["quantization=int8", /rollout\.quantization is of the engine in the training process/],
  ])("cannot do %s with servers", (setting, problem) => {
    expect(() => resolve(...vllm(`actor_rollout_ref.rollout.${setting}`))).toThrow(problem);
  });

  it("cannot correct what servers do not tell", () => {
    const words = vllm(
      "actor_rollout_ref.rollout.temperature=0.7",
      "algorithm.rollout_correction.rollout_is=token",
    );
    expect(() => resolve(...words)).toThrow(/tell those at temperature 1/);
  });

  it("says how many GPUs sending weights by NCCL takes", () => {
    const { CUDA_VISIBLE_DEVICES } = process.env;
    process.env.CUDA_VISIBLE_DEVICES = "GPU-5";
    try {
      const words = [
        ...["actor_rollout_ref.rollout.name=vllm", "trainer.device=cuda"],
        ...[`actor_rollout_ref.rollout.vllm.executable=${process.execPath}`],
        ...["actor_rollout_ref.rollout.vllm.weights=nccl"],
        "actor_rollout_ref.rollout.data_parallel_size=2",
      ];
      expect(() => resolve(...words)).toThrow(/need 3 GPUs, .*there are 1 here \(GPU-5\)/);
    } finally {
      if (CUDA_VISIBLE_DEVICES === undefined) delete process.env.CUDA_VISIBLE_DEVICES;
      else process.env.CUDA_VISIBLE_DEVICES = CUDA_VISIBLE_DEVICES;
    }
  });

  it.each([
    [[], /set algorithm\.rollout_correction\.rollout_is to token or sequence/],
    [
      [
        "algorithm.rollout_correction.rollout_is=token",
        "algorithm.rollout_correction.bypass_mode=True",
      ],
      /bypass_mode=True: recorded log-probabilities are those of older/,
    ],
    [
      ["algorithm.rollout_correction.rollout_is=token", "algorithm.adv_estimator=remax"],
      /cannot play the greedy episodes/,
    ],
  ])("is not one step off with %j", (own, problem) => {
    const words = ["actor_rollout_ref.rollout.one_step_off=True", ...own];
    expect(() => resolve(...words)).toThrow(problem);
  });
});

describe("where settings come from", () => {
  const folder = mkdtempSync(join(tmpdir(), "config-"));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  it("lets the later win: preset, files, overrides", () => {
    const first = file("a.yaml", "data:\n  train_batch_size: 4\n  max_prompt_length: 100\n");
    const second = file("b.yaml", "data:\n  train_batch_size: 5\n");
    const { config } = resolveConfig({
      preset: "alfworld",
      files: [first, second],
      overrides: ["data.max_response_length=7"],
    });
    expect(config.data).toMatchObject({
      train_batch_size: 5,
      max_prompt_length: 100,
      max_response_length: 7,
    });
    expect(config.env.env_name).toBe("alfworld/AlfredTWEnv");
  });

  it.each(Object.keys(PRESETS))("has a preset %s that is valid", (name) => {
    expect(() => resolveConfig({ preset: name })).not.toThrow();
  });

  it("refuses a file that is no YAML, is no mapping, or is not there", () => {
    expect(() => resolveConfig({ files: [file("c.yaml", "a: [1")] })).toThrow(/c\.yaml/);
    expect(() => resolveConfig({ files: [file("d.yaml", "- 1")] })).toThrow(/expected settings/);
    expect(() => resolveConfig({ files: [join(folder, "none.yaml")] })).toThrow(/none\.yaml/);
    expect(() => resolveConfig({ preset: "nothing" })).toThrow(/alfworld, webshop/);
  });

  it("takes an empty file for no settings", () => {
    expect(resolveConfig({ files: [file("e.yaml", "")] }).config).toEqual(resolve().config);
  });
});

describe("what is wrong is said", () => {
  it("names the nearest known setting", () => {
    expect(error("data.train_batchsize=3")).toMatch(/Did you mean data\.train_batch_size\?/);
    expect(error("actor.optim.lr=3")).toMatch(/Did you mean actor_rollout_ref\.actor\.optim\.lr\?/);
    expect(error("lr=1")).toMatch(/Did you mean actor_rollout_ref\.actor\.optim\.lr\?/);
    expect(error("trainer.totl_epochs=1")).toMatch(/Did you mean trainer\.total_epochs\?/);
  });

  it("refuses words that are no settings", () => {
    expect(() => resolve("epochs")).toThrow(/name=value/);
    expect(error("a..b=1")).toMatch(/empty part/);
    expect(error("trainer.logger=['a")).toMatch(/no end|do not match/);
  });

  it("refuses a value in place of a section", () => {
    expect(error("trainer=3")).toMatch(/trainer is 3, expected settings/);
    expect(error("actor_rollout_ref.actor=None")).toMatch(/expected settings/);
  });

  /** Every setting that does something, with a value that none of its kind can be. */
  it.each(
    allSettings()
      .filter(({ inert, kind }) => !inert && kind !== "anything")
      .map(({ path, kind }) => [path, kind] as const),
  )("refuses nonsense for %s", (path, kind) => {
    const nonsense = kind === "names and values" ? "3" : "[[1]]";
    expect(error(`${path}=${nonsense}`)).toContain(path);
  });

  it.each([
    ["data.train_batch_size=0", /whole number > 0/],
    ["data.train_batch_size=2.5", /whole number/],
    ["algorithm.gamma=1.5", /≤ 1/],
    ["algorithm.gigpo.similarity_thresh=1", /< 1/],
    ["actor_rollout_ref.actor.clip_ratio_c=1", /> 1/],
    ["algorithm.adv_estimator=grop", /gae · grpo/],
    ["actor_rollout_ref.actor.optim.betas=[0.9]", /list of 2 numbers/],
    ["reward_model.enable=True", /reward\.judge/],
  ])("checks ranges: %s", (override, message) => {
    expect(error(override)).toMatch(message);
  });

  it.each([
    [["env.rollout.n=1"], /compares the episodes of a group/],
    [["algorithm.adv_estimator=gae", "algorithm.filter_groups.enable=True"], /filter_groups/],
    [["env.history=summary"], /env\.context=steps/],
    [["env.use_summary=True"], /env\.context=steps/],
    [["reward.environment=0"], /nothing to learn from/],
    [["reward.judge=1"], /judge_endpoint/],
    [["trainer.resume_mode=resume_path"], /resume_from_path/],
    [["trainer.resume_from_path=x"], /resume_mode=resume_path/],
    [["reward.length_minimum=9", "reward.length_maximum=3"], /length_minimum/],
    [
      ["actor_rollout_ref.actor.autocast=bfloat16", "actor_rollout_ref.model.dtype=bfloat16"],
      /float32/,
    ],
  ])("refuses what does not go together: %s", (overrides, message) => {
    expect(error(...overrides)).toMatch(message);
  });

  it("tells all problems at once", () => {
    expect(error("data.train_batch_size=0", "trainer.seed=-1").split("\n")).toHaveLength(2);
  });
});

describe("defaults that depend on others", () => {
  it("has groups where the estimator compares inside them", () => {
    expect(groupSize(resolve().config)).toBe(8);
    expect(groupSize(resolve("algorithm.adv_estimator=gae").config)).toBe(1);
    expect(groupSize(resolve("actor_rollout_ref.rollout.n=4").config)).toBe(4);
    expect(groupSize(resolve("actor_rollout_ref.rollout.n=4", "env.rollout.n=5").config)).toBe(5);
  });

  it("discounts steps in gigpo and not in the others", () => {
    expect(discount(resolve().config)).toBe(0.95);
    expect(discount(resolve("algorithm.adv_estimator=grpo").config)).toBe(1);
    expect(discount(resolve("algorithm.gamma=0.5").config)).toBe(0.5);
  });
});

describe("the reference page", () => {
  it("is the one in docs", () => {
    const page = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");
    expect(page, "run npm run docs").toBe(configurationReference());
  });

  it("has every setting", () => {
    const page = configurationReference();
    for (const { path } of allSettings()) expect(page).toContain(path.split(".").at(-1)!);
  });

  it("knows the defaults that the schema gives", () => {
    const given = configSchema.parse({}) as Record<string, unknown>;
    for (const { path, defaultValue } of allSettings()) {
      let value: unknown = given;
      for (const key of path.split(".")) value = (value as Record<string, unknown>)?.[key];
      expect(value, path).toEqual(defaultValue);
    }
  });
});

describe("the page about verl's settings", () => {
  const { working, refused } = verlKeys(VERL);

  it("is the one in docs", () => {
    const page = readFileSync(new URL("../../docs/verl.md", import.meta.url), "utf8");
    expect(page, "run npm run docs").toBe(verlReference(VERL));
  });

  it("says why of everything that is refused, and of nothing else", () => {
    expect(Object.keys(VERL.missing).sort()).toEqual([...refused].sort());
  });

  it("names only what is refused, as a whole or by value", () => {
    for (const name of refused) expect(error(`${name}=1`), name).toMatch(/no setting|expected/);
    for (const given of Object.keys(VERL.values)) expect(error(given)).toMatch(/expected/);
  });

  it("knows verl's defaults of settings that work, and names nothing twice", () => {
    const paths = working.map(({ path }) => path);
    expect(Object.keys(VERL.defaults).filter((name) => !paths.includes(name))).toEqual([]);
    expect(new Set(VERL.keys).size).toBe(VERL.keys.length);
  });

  it("has every setting without effect: they are there for verl's sake", () => {
    const inert = allSettings().filter((entry) => entry.inert);
    expect(inert.filter(({ path }) => !VERL.keys.includes(path))).toEqual([]);
  });
});
