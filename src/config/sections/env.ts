/**
 * @file `env.*`: the world, its tasks, and how the agent sees it and answers.
 */
import { z } from "zod";
import { FORMAT_NAMES } from "../../agents/index.ts";
import { HISTORY_NAMES, PROMPT_NAMES } from "../names.ts";
import { secretReference } from "../secrets.ts";
import {
  count,
  countOrZero,
  inert,
  named,
  positive,
  secret,
  section,
  setting,
} from "../setting.ts";
import { search } from "./search.ts";

export const env = section({
  env_name: setting(
    z
      .union([
        z.string(),
        z
          .array(z.string())
          .min(1)
          .transform((names) => names.join("+")),
      ])
      .default("household"),
    "A world's name (openmanus-rl env list), or the path of a module that exports one. Several as a list ([alfworld,webshop], with weights [alfworld*3,webshop]): one policy for all of them, success by world; options are then named webshop:shops.",
  ),
  options: setting(
    z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
      .default({}),
    "The world's own options (openmanus-rl env show NAME).",
  ),
  train_split: setting(
    z.string().optional(),
    "Tasks to train on. Default: the world's first split.",
  ),
  val_split: setting(
    z.string().optional(),
    "Tasks to validate on; default: the world's second split (its first, if it has one only), or " +
      '"held_out" where data.held_out sets some aside.',
  ),
  also_validate: setting(
    z.array(z.string()).default([]),
    "Other splits that are played whenever env.val_split is, as many tasks of each: val/SPLIT/success_rate. Only reported: no policy is chosen by them.",
  ),
  seed: setting(z.int().nonnegative().default(0), "Of the world's own randomness."),
  open_seconds: setting(
    positive.nullable().default(600),
    "Seconds to open the world, and to list the tasks of a split; null: no limit.",
  ),
  max_observation_characters: setting(
    count.default(200_000),
    "A longer observation is an error of the world: it would hold up every other episode.",
  ),
  isolate: setting(
    z.union([z.boolean(), countOrZero]).default(0),
    "So many processes of their own for the world, which then can neither end nor freeze the run; 0 or False: in this process; True: one for each core, 4 at most. The world must be a name or a file.",
  ),
  isolate_memory_mb: setting(
    count.default(2048),
    "JavaScript's memory of each of these processes; one that needs more dies, and only its episodes with it.",
  ),
  isolate_variables: setting(
    z.array(z.string()).default([]),
    "Environment variables that they are given although their names sound like secrets (KEY, TOKEN, SECRET, PASSWORD, …).",
  ),
  max_steps: setting(count.optional(), "Turns per episode. Default: the world's own number."),
  rollout: section({
    n: setting(
      count.optional(),
      "Episodes per task (the group). Default: 8 for estimators that compare inside groups, 1 for the others.",
    ),
    concurrency: setting(count.optional(), "Episodes at once. Default: all of them."),
    retries: setting(
      countOrZero.default(2),
      "How often an episode is begun again after an error of its world.",
    ),
    episode_seconds: setting(
      positive.optional(),
      "Time of one episode; those that take longer are left out, and counted.",
    ),
    step_seconds: setting(
      positive.nullable().default(120),
      "Time of one answer of the world (reset, step) or of a tool; a later one is an error of the world. null: no limit.",
    ),
    max_parse_failures: setting(
      count.optional(),
      "Replies in a row that cannot be read before the episode ends.",
    ),
    max_tokens: setting(count.optional(), "Sampled tokens of one episode at most."),
    oversample: setting(
      countOrZero.default(0),
      "Further groups that are begun and dropped when enough are complete: a way round stragglers that prefers quick ones.",
    ),
  }),
  search,
  format: setting(
    named(FORMAT_NAMES).default("action"),
    "How the agent answers; a file of one's own exports a format (defineFormat).",
  ),
  context: setting(
    z.enum(["conversation", "steps"]).default("conversation"),
    "One growing conversation per episode, or a prompt of its own for every turn (as verl-agent trains).",
  ),
  prompts: setting(
    named(PROMPT_NAMES).default("full"),
    "full: the agent is told what world it is in and how to answer; bare: only the world's own text, for models that have learned the form; reminding: the same, and the task again in every turn. A file of one's own exports prompts (some of system, turn, step, unreadable).",
  ),
  examples: setting(
    z.union([countOrZero, z.string().min(1)]).default(0),
    "Episodes that every prompt begins with, as turns before its own: so many short ones of the world's expert, or a file with a chat in each line. For pretrained models, which follow what they are shown.",
  ),
  show_admissible: setting(
    z.boolean().default(true),
    "Whether prompts list the admissible actions.",
  ),
  history: setting(
    named(HISTORY_NAMES).default("window"),
    "What a prompt tells of the past, in the context steps. A file of one's own exports a function that makes a history.",
  ),
  history_length: setting(countOrZero.default(2), "Past steps that it has word for word."),
  tools: setting(
    z.array(z.string()).default([]),
    'Tools of the agent\'s own, beside what its world offers, for the format "tools": calculator, javascript, or files that export tools.',
  ),
  validity: setting(
    z.enum(["form", "admissible", "both"]).default("both"),
    "What makes an action invalid: the reply's form, or that the world does not know it.",
  ),
  use_summary: setting(z.boolean().default(false), "The same as history=summary."),
  summary_endpoint: setting(
    z.string().optional(),
    "An OpenAI-compatible server that writes the summaries. Default: the policy itself.",
  ),
  summary_model: setting(z.string().default("gpt-4o"), "That server's model."),
  summary_api_key: secret(
    secretReference().optional(),
    "Where its key is: env:NAME (a variable) or file:PATH (a file's first line). Default: env:OPENAI_API_KEY, if it is set.",
  ),
  summary_concurrency: setting(count.default(8), "Requests to it at once."),
  resources_per_worker: inert(z.unknown().optional(), "env.isolate says where worlds run"),
  alfworld: section({
    eval_dataset: inert(z.string().default("eval_in_distribution"), "env.val_split says it"),
  }),
  webshop: section({
    use_small: inert(z.boolean().default(true), "env.options says which files are read"),
    human_goals: inert(z.boolean().optional(), "env.options says it"),
  }),
});
