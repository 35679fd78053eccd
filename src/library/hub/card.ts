/**
 * @file The card of a model that is pushed (README.md): what it was made from, how, and how good it is, as far as
 * the folder of its run says. It is for others: nothing in it tells where on this machine anything is.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse as parseYaml, stringify } from "yaml";
import { changedSettings, SETTINGS_FILE } from "../../config/index.ts";
import { type Interval, wilson } from "../../evaluation/index.ts";
import { describeModel, hubNameIn, modelFolderOf } from "../../models/index.ts";
import { openTrajectoryStore, type StoredEpisode, TRAINABLE } from "../../rollout/index.ts";
import { type RunResults, readRunDescription, runResults } from "../../training/index.ts";

/** A policy of a run: after so many iterations. */
export interface RunPolicy {
  readonly run: string;
  readonly iteration: number;
}

/** `folder`: the model's; `policy`: of which run it is, where it is of one. */
export function modelCard(name: string, folder: string, policy?: RunPolicy): string {
  const found = policy && factsOf(policy);
  const { architecture, parameters } = describeModel(folder);
  const size = `${Number((parameters / 1e6).toPrecision(3))} million parameters, ${architecture}`;
  const sections = found
    ? [`${size}.`, madeOf(found), successOf(found), commandOf(found)]
    : [`${size}.`, "It was not made by a run of openmanus-rl, or its run is not known."];
  return [
    `---\n${stringify(frontMatter(found))}---`,
    `# ${name.split("/")[1]}`,
    ...sections,
    usageOf(name, folder),
  ].join("\n\n");
}

interface RunFacts {
  readonly algorithm: string;
  readonly world: string;
  /** A name on the Hub, or undefined: a folder of somebody's machine. */
  readonly base: { readonly name: string; readonly commit: string } | undefined;
  readonly start: string;
  readonly iteration: number;
  readonly state: RunResults["state"];
  readonly settings: readonly string[];
  readonly version: string;
  readonly validations: readonly Validated[];
}

interface Validated {
  readonly iteration: number;
  readonly won: number;
  readonly episodes: number;
}

function factsOf({ run, iteration }: RunPolicy): RunFacts | undefined {
  const results = runResults(run);
  const description = readRunDescription(run);
  if (!results || !description) return undefined;
  const record = readFileSync(join(run, "config.yaml"), "utf8");
  const { env, algorithm } = parseYaml(record) as {
    env: { env_name: string };
    algorithm: { adv_estimator: string };
  };
  const found = hubNameIn(description.start);
  const isOnHub = modelFolderOf(description.start) !== description.start;
  const versions = JSON.parse(readFileSync(join(run, "versions.json"), "utf8")) as Record<
    string,
    string
  >;
  return {
    algorithm: algorithm.adv_estimator,
    world: basename(env.env_name).replace(/\.[cm]?[jt]s$/, ""),
    base: isOnHub && found?.revision ? { name: found.name, commit: found.revision } : undefined,
    start: basename(description.start),
    iteration,
    state: results.state,
    settings: changedSettings(record),
    version: versions["openmanus-rl"] ?? "unknown",
    validations: validationsIn(run),
  };
}

/** Of all ranks; episodes that ended through no doing of the agent are left out, as in all rates of ours. */
function validationsIn(run: string): Validated[] {
  const stores = readdirSync(run).filter((name) => /^validation(?:-\d+)?$/.test(name));
  const episodes = stores.flatMap((name) => {
    const store = openTrajectoryStore(join(run, name));
    try {
      return [...store.episodes()];
    } finally {
      store.close();
    }
  });
  const played = episodes.filter(({ status }) => TRAINABLE.has(status));
  const byStep = new Map<number, StoredEpisode[]>();
  for (const episode of played)
    byStep.set(episode.step, [...(byStep.get(episode.step) ?? []), episode]);
  return [...byStep]
    .sort(([a], [b]) => a - b)
    .map(([iteration, some]) => ({
      ...{ iteration, episodes: some.length, won: some.filter(({ won }) => won).length },
    }));
}

function frontMatter(found: RunFacts | undefined): Record<string, unknown> {
  return {
    ...(found?.base && { base_model: found.base.name, base_model_relation: "finetune" }),
    ...{ library_name: "transformers", pipeline_tag: "text-generation" },
    tags: [
      ...["openmanus-rl", "reinforcement-learning", "agent"],
      ...(found ? [found.algorithm, found.world] : []),
    ],
  };
}

function madeOf({ base, start, world, algorithm, iteration, state, version }: RunFacts): string {
  const from = base
    ? `[${base.name}](https://huggingface.co/${base.name}), commit \`${base.commit}\``
    : `a model of its maker's own (\`${start}\`)`;
  return [
    "## How it was made",
    "",
    `- base model: ${from}`,
    `- world: ${world}`,
    `- algorithm: ${algorithm}`,
    `- training: the policy after iteration ${iteration} of ${state.step}, ${state.episodes} episodes, ` +
      `${state.tokens} sampled tokens`,
    `- with [openmanus-rl](https://github.com/openmanus-rl/openmanus-rl) ${version}`,
  ].join("\n");
}

/** The first validation, and that of the policy itself; an interval for each. */
function successOf({ validations, iteration }: RunFacts): string {
  const first = validations[0];
  const own = validations.find((one) => one.iteration === iteration);
  const rows = [...(first && first !== own ? [rowOf(first)] : []), ...(own ? [rowOf(own)] : [])];
  if (rows.length === 0)
    return "## Success\n\nIt was not validated, or its episodes were not kept.";
  return [
    "## Success",
    "",
    "On validation tasks, which training never sees; 95 % intervals (Wilson's). The iteration was chosen by these",
    "very tasks where several were validated, so the last row may be a little too good.",
    "",
    "| policy | episodes | won | success | 95 % |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function rowOf({ iteration, won, episodes }: Validated): string {
  const { low, high }: Interval = wilson(won, episodes);
  const policy = iteration === 0 ? "before training" : `after iteration ${iteration}`;
  return `| ${policy} | ${episodes} | ${won} | ${percent(won / episodes)} | ${percent(low)} – ${percent(high)} |`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function commandOf({ settings }: RunFacts): string {
  const words = settings.map((word) =>
    /^[\w.=/@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
  );
  return [
    "## The command",
    "",
    "```sh",
    ["openmanus-rl train", ...words].join(" \\\n  "),
    "```",
  ].join("\n");
}

function usageOf(name: string, folder: string): string {
  const knows = existsSync(join(folder, SETTINGS_FILE))
    ? ` The world and the form of prompts and replies are in \`${SETTINGS_FILE}\`.`
    : "";
  return [
    "## Use",
    "",
    "```sh",
    `openmanus-rl play --model ${name}`,
    `openmanus-rl eval ${name}`,
    "```",
    "",
    `transformers and vLLM load it like any other model.${knows}`,
    "",
  ].join("\n");
}
