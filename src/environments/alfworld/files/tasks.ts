/**
 * @file The six kinds of task, and how games are sorted into splits and kinds by their paths.
 */

export const TASK_TYPES = [
  "pick_and_place_simple",
  "look_at_obj_in_light",
  "pick_clean_then_place_in_recep",
  "pick_heat_then_place_in_recep",
  "pick_cool_then_place_in_recep",
  "pick_two_obj_and_place",
] as const;

export type TaskType = (typeof TASK_TYPES)[number];

export const SPLITS = ["train", "valid_seen", "valid_unseen", "valid_train"] as const;

/** Games outside of the known folders: all in one split of this name. */
export const OTHER_SPLIT = "games";

/** A game's place in the data, from its path (with "/" between the parts). */
export interface Entry {
  /** From the split on: "train/<task>/<trial>/game.tw-pddl". */
  readonly id: string;
  readonly split: string;
  /** Undefined where the folder's name does not tell. */
  readonly type: TaskType | undefined;
  /** The number of its floor plan, which tells its room. Undefined where the folder's name does not tell. */
  readonly plan: number | undefined;
}

export function entryOf(path: string): Entry {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const place = parts.findLastIndex((part) => (SPLITS as readonly string[]).includes(part));
  const type = TASK_TYPES.find((type) => parts.some((part) => part.startsWith(`${type}-`)));
  // "pick_and_place_simple-OBJECT-None-PLACE-20".
  const ending = parts.find((part) => part.startsWith(`${type}-`))?.match(/-(\d+)$/)?.[1];
  const about = { type, plan: ending === undefined ? undefined : Number(ending) };
  return place < 0
    ? { id: parts.join("/"), split: OTHER_SPLIT, ...about }
    : { id: parts.slice(place).join("/"), split: parts[place]!, ...about };
}

export function isGamePath(path: string): boolean {
  return path.endsWith(".tw-pddl");
}

/** The original leaves these out: their goals need actions that the text games do not have. */
export function isLeftOut(path: string): boolean {
  return path.includes("movable") || path.includes("Sliced");
}
