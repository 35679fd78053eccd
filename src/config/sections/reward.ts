/**
 * @file `reward.*`: the components of the reward and their weights. A weight of 0 leaves a component out.
 */
import { z } from "zod";
import { secretReference } from "../secrets.ts";
import { count, countOrZero, inert, positive, secret, section, setting } from "../setting.ts";

const weight = (value = 0) => z.number().default(value);

export const reward = section({
  environment: setting(
    weight(1),
    "Weight of what the world gives for each step (10 for the one that solves the task).",
  ),
  goal: setting(weight(), "Weight of a solved task: 1, else goal_failure."),
  goal_failure: setting(z.number().default(0), "What a task that is not solved gives."),
  score: setting(weight(), "Weight of the world's score, 0 to 1."),
  time_penalty: setting(weight(), "Weight of −1 / max_steps per turn."),
  length_penalty: setting(weight(), "Weight of what replies are too long by."),
  length_maximum: setting(count.default(500), "Tokens of a reply that cost nothing."),
  length_minimum: setting(countOrZero.default(0), "A shorter reply costs, too."),
  length_growth: setting(
    z.enum(["linear", "quadratic", "log"]).default("linear"),
    "How the cost grows.",
  ),
  format: setting(weight(), "Weight of the share of replies that have the form asked for."),
  invalid_actions: setting(
    weight(),
    "Weight of −1 per invalid action, in the reward (the actor's invalid-action penalty is besides).",
  ),
  repetition: setting(weight(), "Weight of −1 per action that was done in the same state before."),
  exploration: setting(
    weight(),
    "Weight of new states, more for those that no other member of the group saw.",
  ),
  consistency: setting(weight(), "Weight of the agreement of actions with the plans stated."),
  kl: setting(weight(), "Weight of −KL to the reference per token."),
  judge: setting(weight(), "Weight of a judge model's mark."),
  judge_endpoint: setting(z.string().optional(), "The judge: an OpenAI-compatible server."),
  judge_model: setting(z.string().default("gpt-4o-mini"), "Its model."),
  judge_api_key: secret(
    secretReference().optional(),
    "Where its key is: env:NAME (a variable) or file:PATH (a file's first line). Default: env:OPENAI_API_KEY, if it is set.",
  ),
  judge_rubric: setting(z.string().optional(), "What it is to judge."),
  model: setting(
    weight(),
    "Weight of a reward model's score: of preferences its score, of outcomes the probability of a win, of steps what each turn adds to it.",
  ),
  model_path: setting(
    z.string().optional(),
    "The reward model: a folder that openmanus-rl reward-model made, from the same tokenizer.",
  ),
  seconds: setting(
    positive.nullable().default(120),
    "Time of one component for one episode, a judge's too; an episode whose reward is later is left out. null: no limit.",
  ),
  files: setting(
    z.array(z.string()).default([]),
    "Files of one's own, each with one reward component or several (rewardFunction).",
  ),
});

/** verl's section of the same purpose: only its switch matters, and only when off. */
export const rewardModel = section({
  enable: setting(
    z.literal(false).nullable().default(false),
    "verl's reward model is not offered; reward.model (with reward.model_path), reward.judge and reward functions are.",
  ),
  overlong_buffer: section({
    enable: setting(
      z.boolean().default(false),
      "DAPO's soft punishment: a reply that comes near data.max_response_length loses reward, gradually.",
    ),
    len: setting(count.default(128), "How near: the last so many tokens."),
    penalty_factor: setting(positive.default(1), "What a reply of the full length loses."),
    log: inert(z.boolean().default(false), "the component is in the metrics and the breakdown"),
  }),
  reward_manager: inert(z.string().default("episode"), "rewards are composed by reward.*"),
});
