/**
 * @file Things of one's own that a configuration names by their files, or a program gives as objects.
 */
import {
  type HistoryOptions,
  type MakeHistory,
  PROMPT_SETS,
  type Prompts,
  type ReplyFormat,
} from "../agents/index.ts";
import { type AdvantageEstimator, type PolicyLossKind, policyLosses } from "../algorithms/index.ts";
import { hasMethods, importOne, importOwn, type OwnKind } from "../assembly/index.ts";
import { isFileName, type Tool, toolMakers, type WorldDefinition } from "../environments/index.ts";
import type { MetricsLogger } from "../monitoring/index.ts";
import type { RewardComponent } from "../rewards/index.ts";
import { namedEstimator } from "./combinations.ts";
import { ConfigError } from "./override.ts";
import type { Config } from "./schema.ts";

/** What a program may give as objects; each wins over what the configuration names. */
export interface OwnParts {
  readonly world?: WorldDefinition | undefined;
  readonly format?: ReplyFormat | undefined;
  readonly prompts?: Partial<Prompts> | undefined;
  readonly history?: HistoryOptions | MakeHistory | undefined;
  readonly tools?: readonly Tool[] | undefined;
  /** Beside what reward.* asks for. */
  readonly rewards?: readonly RewardComponent[] | undefined;
  readonly estimator?: AdvantageEstimator | undefined;
  readonly loss?: PolicyLossKind | undefined;
}

const FORMAT: OwnKind<ReplyFormat> = {
  what: "a reply format",
  made: "defineFormat({ name, style, fields })",
  is: (value): value is ReplyFormat => hasMethods(value, "instruction", "parse", "write"),
};

const PROMPT_PARTS = ["system", "turn", "step", "unreadable"];
const PROMPTS: OwnKind<Partial<Prompts>> = {
  what: "prompts",
  made: `functions: { ${PROMPT_PARTS.join(", ")} }, some or all of them`,
  is: (value): value is Partial<Prompts> =>
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).length > 0 &&
    Object.keys(value).every((name) => PROMPT_PARTS.includes(name)) &&
    hasMethods(value, ...Object.keys(value)),
};

const HISTORY: OwnKind<MakeHistory> = {
  what: "a function that makes a history",
  made: "(episode) => ({ record(step) {…}, text(present) {…} })",
  is: (value): value is MakeHistory => typeof value === "function",
};

function isNamed(value: unknown): boolean {
  return typeof (value as { name?: unknown } | null | undefined)?.name === "string";
}

const TOOL: OwnKind<Tool> = {
  what: "a tool",
  made: "{ name, description, parameters, execute }",
  is: (value): value is Tool => isNamed(value) && hasMethods(value, "execute"),
};

const REWARD: OwnKind<RewardComponent> = {
  what: "a reward component",
  made: "rewardFunction(name, weight, compute)",
  is: (value): value is RewardComponent => isNamed(value) && hasMethods(value, "compute"),
};

const ESTIMATOR: OwnKind<AdvantageEstimator> = {
  what: "an advantage estimator",
  made: "{ summary, needs, estimate(batch, options) }",
  is: (value): value is AdvantageEstimator =>
    hasMethods(value, "estimate") && typeof (value as { needs?: unknown }).needs === "object",
};

const LOSS: OwnKind<PolicyLossKind> = {
  what: "a policy loss",
  made: "{ tokenLosses(terms, options) }",
  is: (value): value is PolicyLossKind => hasMethods(value, "tokenLosses"),
};

export const LOGGER: OwnKind<MetricsLogger> = {
  what: "a logger",
  made: "{ log(step, metrics), close() }",
  is: (value): value is MetricsLogger => hasMethods(value, "log", "close"),
};

/** Everything that is named, found. */
export interface FoundParts {
  readonly format: string | ReplyFormat;
  readonly prompts: Partial<Prompts>;
  readonly history: HistoryOptions | MakeHistory | undefined;
  readonly tools: readonly Tool[];
  readonly rewards: readonly RewardComponent[];
  readonly estimator: AdvantageEstimator;
  readonly loss: PolicyLossKind;
}

export async function findParts(config: Config, own: OwnParts = {}): Promise<FoundParts> {
  const { env, reward, algorithm, actor_rollout_ref: policy } = config;
  const loss = policy.actor.policy_loss.loss_mode;
  const rewardFiles = [...reward.files, config.custom_reward_function.path ?? []].flat();
  return {
    format:
      own.format ?? (isFileName(env.format) ? await importOne(env.format, FORMAT) : env.format),
    prompts:
      own.prompts ??
      (isFileName(env.prompts)
        ? await importOne(env.prompts, PROMPTS)
        : PROMPT_SETS[env.prompts as keyof typeof PROMPT_SETS]),
    history:
      own.history ?? (isFileName(env.history) ? await importOne(env.history, HISTORY) : undefined),
    tools: [...(own.tools ?? []), ...(await Promise.all(env.tools.map(toolsOf))).flat()],
    rewards: [
      ...(own.rewards ?? []),
      ...(await Promise.all(rewardFiles.map((file) => importOwn(file, REWARD)))).flat(),
    ],
    estimator:
      own.estimator ??
      namedEstimator(algorithm.adv_estimator) ??
      (await importOne(algorithm.adv_estimator, ESTIMATOR)),
    loss:
      own.loss ??
      (isFileName(loss)
        ? await importOne(loss, LOSS)
        : policyLosses[loss as keyof typeof policyLosses]),
  };
}

/** Tools that can be had by name alone; the others need to be told something, in a file of one's own. */
const TOOLS_BY_NAME = ["calculator", "javascript"] as const;

async function toolsOf(name: string): Promise<readonly Tool[]> {
  if (isFileName(name)) return importOwn(name, TOOL);
  const known = TOOLS_BY_NAME.find((one) => one === name);
  if (known) return [await toolMakers[known]()];
  throw new ConfigError(
    `env.tools names "${name}", expected ${TOOLS_BY_NAME.join(", ")}, or a file that exports tools`,
  );
}
