/**
 * @file How far a mission is fulfilled, and what an action does to that.
 */
import type { Description, Errand, Mission, Scene } from "../level/mission.ts";
import { matches } from "../level/mission.ts";
import { type Point, stepsApart, type Thing } from "../thing.ts";

export type Action = "left" | "right" | "forward" | "pickup" | "drop" | "toggle";
export type Verdict = "success" | "failure" | "continue";

/** The things that a description meant at the beginning, and where they were when last looked for. */
export interface Meant {
  readonly ids: ReadonlySet<number>;
  readonly places: readonly Point[];
}

export interface ErrandProgress {
  readonly errand: Errand;
  readonly what: Meant;
  readonly beside: Meant | undefined;
  /** What was held when the errand was last looked at. */
  readonly heldBefore: number | undefined;
}

export type Progress =
  | ErrandProgress
  | {
      readonly verb: "and" | "before" | "after";
      readonly first: Progress;
      readonly second: Progress;
      readonly isFirstDone: boolean;
      readonly isSecondDone: boolean;
    };

/** What can be seen of the world after an action. */
export interface Situation {
  readonly width: number;
  readonly cells: readonly (Thing | undefined)[];
  /** Before the agent. */
  readonly front: Point;
  readonly carried: Thing | undefined;
}

export function firstProgress(scene: Scene, mission: Mission): Progress {
  if ("first" in mission)
    return {
      verb: mission.verb,
      first: firstProgress(scene, mission.first),
      second: firstProgress(scene, mission.second),
      isFirstDone: false,
      isSecondDone: false,
    };
  const meant = (what: Description): Meant => {
    const found = matches(scene, what);
    return {
      ids: new Set(found.map(({ thing }) => thing.id)),
      places: found.map(({ place }) => place),
    };
  };
  const beside = mission.verb === "put" ? meant(mission.beside) : undefined;
  return { errand: mission, what: meant(mission.what), beside, heldBefore: undefined };
}

/** Looks where the things are; done when something was dropped, and at no other time. */
export function lookedAgain(progress: Progress, situation: Situation): Progress {
  if ("first" in progress)
    return {
      ...progress,
      first: lookedAgain(progress.first, situation),
      second: lookedAgain(progress.second, situation),
    };
  const { what, beside } = progress;
  const found = (meant: Meant): Meant => ({ ...meant, places: placesOf(meant.ids, situation) });
  return { ...progress, what: found(what), beside: beside && found(beside) };
}

function placesOf(ids: ReadonlySet<number>, { cells, width }: Situation): readonly Point[] {
  const places: Point[] = [];
  cells.forEach((thing, index) => {
    if (thing && ids.has(thing.id)) places.push({ x: index % width, y: Math.floor(index / width) });
  });
  return places;
}

/** What the action, which is already done, means for the mission. */
export function judged(
  progress: Progress,
  action: Action,
  situation: Situation,
): { readonly progress: Progress; readonly verdict: Verdict } {
  if (!("first" in progress)) return judgedErrand(progress, action, situation);
  if (progress.verb === "and") return judgedBoth(progress, action, situation);
  // One after the other: "after" begins with the second.
  const [early, late] =
    progress.verb === "before" ? (["first", "second"] as const) : (["second", "first"] as const);
  const isEarlyDone = early === "first" ? progress.isFirstDone : progress.isSecondDone;
  const at = isEarlyDone ? late : early;
  const part = judged(progress[at], action, situation);
  const next = { ...progress, [at]: part.progress };
  if (isEarlyDone || part.verdict !== "success") return { progress: next, verdict: part.verdict };
  // The same action may fulfil the later one, too.
  return judged(
    { ...next, [early === "first" ? "isFirstDone" : "isSecondDone"]: true },
    action,
    situation,
  );
}

function judgedBoth(
  progress: Exclude<Progress, ErrandProgress>,
  action: Action,
  situation: Situation,
): { readonly progress: Progress; readonly verdict: Verdict } {
  let { first, second, isFirstDone, isSecondDone } = progress;
  if (!isFirstDone) {
    const part = judged(first, action, situation);
    first = part.progress;
    isFirstDone = part.verdict === "success";
  }
  if (!isSecondDone) {
    const part = judged(second, action, situation);
    second = part.progress;
    isSecondDone = part.verdict === "success";
  }
  return {
    progress: { ...progress, first, second, isFirstDone, isSecondDone },
    verdict: isFirstDone && isSecondDone ? "success" : "continue",
  };
}

function judgedErrand(
  progress: ErrandProgress,
  action: Action,
  situation: Situation,
): { readonly progress: Progress; readonly verdict: Verdict } {
  return {
    progress: { ...progress, heldBefore: situation.carried?.id },
    verdict: verdictOf(progress, action, situation),
  };
}

function verdictOf(
  { errand, what, beside, heldBefore }: ErrandProgress,
  action: Action,
  { cells, width, front, carried }: Situation,
): Verdict {
  const ahead = cells[front.y * width + front.x];
  switch (errand.verb) {
    case "go to":
      return what.places.some(({ x, y }) => x === front.x && y === front.y)
        ? "success"
        : "continue";
    case "open":
      if (action !== "toggle") return "continue";
      if (ahead?.state === "open" && what.ids.has(ahead.id)) return "success";
      return errand.strict && ahead?.kind === "door" ? "failure" : "continue";
    case "pick up":
      if (action !== "pickup") return "continue";
      if (heldBefore === undefined && carried && what.ids.has(carried.id)) return "success";
      return errand.strict && carried ? "failure" : "continue";
    case "put":
      if (action !== "drop" || heldBefore === undefined || !what.ids.has(heldBefore))
        return "continue";
      return ahead?.id === heldBefore &&
        beside!.places.some((place) => stepsApart(front, place) === 1)
        ? "success"
        : "continue";
  }
}

/** The errand that is to be done now. */
export function currentErrand(progress: Progress): ErrandProgress {
  if (!("first" in progress)) return progress;
  if (progress.verb === "after")
    return currentErrand(progress.isSecondDone ? progress.first : progress.second);
  return currentErrand(progress.isFirstDone ? progress.second : progress.first);
}

/** The errands that are still to be done, the current one included. */
export function openErrands(progress: Progress): readonly ErrandProgress[] {
  if (!("first" in progress)) return [progress];
  return [
    ...(progress.isFirstDone ? [] : openErrands(progress.first)),
    ...(progress.isSecondDone ? [] : openErrands(progress.second)),
  ];
}
