/**
 * @file What changed in the configuration of a run that goes on, and what that means: nothing for the run; another course
 * from here on; or another run, which must not be passed off as this one.
 */
import { parse as parseYaml } from "yaml";
import type { RunOptions, SettingChange } from "../../training/index.ts";
import { isUsual } from "./command-line.ts";
import { isTree, type Plain } from "../override.ts";
import { mayDiffer } from "./record.ts";
import { allSettings } from "../tree.ts";

/** Where a run is compared with itself: what of it cannot change, and why. The first that fits. */
const ANOTHER_RUN: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /^(?:actor_rollout_ref|critic)\.model\./,
    "another model: its weights and moments are not those of the checkpoint",
  ],
  [
    /^actor_rollout_ref\.rollout\.(?:val_kwargs\.|constrain$|quantization$)/,
    "validations before and after would not be of the same thing",
  ],
  [
    /^algorithm\.adv_estimator$/,
    "another algorithm: what was learned by the one would be called the other's",
  ],
  [/^(?:reward\.|custom_reward_function\.)/, "another reward: the curve would be of two measures"],
  [/^own\./, "another world, tools or reward of one's own"],
  [
    /^data\./,
    "other tasks or other limits: what was measured before would not be comparable with what comes",
  ],
  [
    /^env\./,
    "another world, or the same in another form: success before and after would not be of the same tasks",
  ],
  [/^trainer\.seed$/, "another seed: the run would be called by one that it has not"],
];

/** How many episodes are played and of which tasks, and not what is measured. */
const COURSE =
  /^data\.(?:train_batch_size$|curriculum\.)|^env\.rollout\.(?:n|oversample|concurrency|retries|episode_seconds)$/;

/** How it is computed, and what it is called: to rounding the same. */
const HARMLESS =
  /^trainer\.(?:threads|device|project_name|experiment_name|balance_batch)$|api_key$|(?:token_len|micro_batch_size)|offload|prefix_grouper|gradient_checkpointing|cache_bytes|max_num_batched_tokens|gpu_memory_utilization|enforce_eager|fsdp_config|strategy$/;

export const HARMLESS_MEANS = "how long, how often, where to, how fast: the run is the same";
export const COURSE_MEANS =
  "from here on the run takes another course; what came before was trained otherwise, and a run from the start would not be this one";

/** `now`: the whole configuration, with the names of things of one's own as `own`. */
export function changesSince(
  { identity, record }: Parameters<RunOptions["changesSince"]>[0],
  now: Readonly<Record<string, unknown>>,
): SettingChange[] {
  const before = new Map([...leaves(recorded(record)), ...leaves(identity)]);
  const after = leaves(now);
  const defaults = new Map(allSettings().map(({ path, defaultValue }) => [path, defaultValue]));
  const isKnown = (path: string) =>
    path.startsWith("own.") ||
    [...defaults.keys()].some((known) => path === known || path.startsWith(`${known}.`));
  const said = (value: Plain | undefined) => JSON.stringify(value) ?? "unset";
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((path): SettingChange[] => {
    const [old, present] = [before.get(path), after.get(path)];
    if (JSON.stringify(old) === JSON.stringify(present) || !isKnown(path)) return [];
    // One that an earlier version did not have, as it would be anyway; or one that is no longer said.
    if (old === undefined && isUsual(present!, defaults.get(path))) return [];
    if (present === undefined && isUsual(old!, defaults.get(path))) return [];
    const means = meaningOf(path);
    if (means.kind === "harmless" && old === undefined) return [];
    return [{ path, before: said(old), after: said(present), ...means }];
  });
}

function meaningOf(path: string): Pick<SettingChange, "kind" | "means"> {
  if (mayDiffer(path) || HARMLESS.test(path)) return { kind: "harmless", means: HARMLESS_MEANS };
  const found = ANOTHER_RUN.find(([pattern]) => pattern.test(path));
  if (found && !COURSE.test(path)) return { kind: "another run", means: found[1] };
  return { kind: "course", means: COURSE_MEANS };
}

function recorded(record: string | undefined): unknown {
  try {
    return record === undefined ? {} : parseYaml(record);
  } catch {
    // It was torn: what must be the same is known all the same.
    return {};
  }
}

/** Values by their paths; a list is one value. */
function leaves(value: unknown, path: readonly string[] = []): Map<string, Plain> {
  if (!isTree(value as Plain))
    return new Map(path.length > 0 ? [[path.join("."), value as Plain]] : []);
  return new Map(
    Object.entries(value as Record<string, unknown>).flatMap(([name, inside]) => [
      ...leaves(inside, [...path, name]),
    ]),
  );
}
