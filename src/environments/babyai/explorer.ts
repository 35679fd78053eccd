/**
 * @file The scripted expert: it sees what an agent sees, looks around, goes through the doors that it knows
 * least, and does what the goal says when it sees the things for it.
 *
 * The order of a goal's errands is not in its text ("after you" is written "and", as in the original), and it
 * has no map, so it does not win every game.
 */
import type { Expert, Observation } from "../environment.ts";
import { type Random, seededRandom } from "../random.ts";

interface Seen {
  /** "red ball", "blue locked door". */
  readonly name: string;
  /** "red ball 2": as commands name it. */
  readonly numbered: string;
  readonly ahead: number;
  /** To the right; negative to the left. */
  readonly right: number;
}

interface Sought {
  readonly color: string | undefined;
  readonly kind: string | undefined;
}

interface Errand {
  readonly verb: string;
  readonly what: Sought;
  readonly beside: Sought | undefined;
}

const SEEN =
  /There is a ((?:\w+ )+?)(\d+) (?:right in front of you (\d+) steps away|(\d+) steps in front of you and (\d+) steps to your (left|right))\./g;
const SOUGHT = "(?:the|a) (?:(blue|green|grey|purple|red|yellow) )?(key|ball|box|door|object)";
const ERRAND = new RegExp(`(go to|pick up|open|put) ${SOUGHT}(?: [^,]*?next to ${SOUGHT})?`, "g");

export function babyaiExplorer(seed: number): Expert {
  const random = seededRandom("babyai", "explorer", seed);
  let errands: readonly Errand[] = [];
  let current = 0;
  /** How often doors of a name were gone through. */
  const used = new Map<string, number>();
  /** Colours of locked doors that were seen. */
  const locks = new Set<string>();
  let looks = 0;
  let steps: string[] = [];
  let reason = "";
  const say = (action: string, why: string): string => {
    reason = why;
    return action;
  };

  function act({ text, admissible }: Observation): string {
    if (text.startsWith("Your goal: ")) errands = errandsIn(text.split("\n", 1)[0]!);
    const can = new Set(admissible ?? []);
    const seen = seenIn(text);
    if (errands.length === 0) return say(random.pick([...can]), "The goal says nothing to me.");
    const errand = errands[current % errands.length]!;
    const wanted = fulfilling(errand, seen, can, text);
    if (wanted) {
      const [action, isLast] = wanted;
      if (isLast) current++;
      looks = 0;
      steps = [];
      return say(action, `I see what I need to ${errand.verb}.`);
    }
    return explore(seen, can, text);
  }

  function explore(seen: readonly Seen[], can: ReadonlySet<string>, text: string): string {
    const locked = seen.find(
      ({ numbered }) => can.has(`toggle and go through ${numbered}`) && numbered.includes("locked"),
    );
    if (locked) {
      looks = 0;
      steps = ["move forward"];
      return say(`toggle and go through ${locked.numbered}`, "I have the key of this door.");
    }
    const next = steps.shift();
    if (next && can.has(next)) return say(next, "I go on.");
    steps = [];
    for (const { name } of seen) if (name.includes("locked")) locks.add(name.split(" ")[0]!);
    const key = seen.find(({ name }) => name.endsWith(" key") && locks.has(name.split(" ")[0]!));
    if (key && can.has(`pickup ${key.numbered}`))
      return say(`pickup ${key.numbered}`, "I have seen a door for this key.");
    const isKeyHeld = [...locks].some((color) => text.includes(`carrying a ${color} key`));
    if (key && can.has("drop") && !isKeyHeld) return say("drop", "I need my hand for a key.");
    if (looks < 3 && random.chance(0.9)) {
      looks++;
      const door = leastUsed(seen, can, used, random, 0);
      if (door) return through(door);
      return say("turn right", "I look around.");
    }
    looks = random.integer(2);
    const door = leastUsed(seen, can, used, random, 2);
    if (door) return through(door);
    const room = Number(/facing a \w+ (\d+) steps/.exec(text)?.[1] ?? 7);
    if (can.has("move forward") && room > 1) {
      steps = new Array<string>(Math.max(0, Math.min(4, Math.floor(room / 2)))).fill(
        "move forward",
      );
      return say("move forward", "I look elsewhere.");
    }
    if (can.has("drop") && random.chance(0.2)) return say("drop", "I do not need this.");
    return say(random.pick(["turn left", "turn right"]), "I look around.");
  }

  function through({ name, numbered, command }: Door): string {
    used.set(name, (used.get(name) ?? 0) + 1);
    looks = 0;
    steps = ["move forward"];
    return say(`${command} ${numbered}`, "I look behind this door.");
  }

  return {
    act,
    acted() {
      // Somebody else acted: what was intended is void.
      steps = [];
    },
    thought: () => reason,
  };
}

interface Door {
  readonly name: string;
  readonly numbered: string;
  readonly command: string;
}

/** A door that can be gone through, and was so at most as often as given more than never. */
function leastUsed(
  seen: readonly Seen[],
  can: ReadonlySet<string>,
  used: ReadonlyMap<string, number>,
  random: Random,
  most: number,
): Door | undefined {
  const doors = seen.flatMap(({ name, numbered }): Door[] => {
    const command = ["go through", "toggle and go through"].find((verb) =>
      can.has(`${verb} ${numbered}`),
    );
    const color = name.split(" ")[0]!;
    return command ? [{ name: color, numbered, command }] : [];
  });
  const count = ({ name }: Door): number => used.get(name) ?? 0;
  const least = Math.min(...doors.map(count));
  return least > most ? undefined : random.shuffled(doors).find((door) => count(door) === least);
}

function errandsIn(goal: string): readonly Errand[] {
  return [...goal.matchAll(ERRAND)].map(([, verb, color, kind, otherColor, otherKind]) => ({
    verb: verb!,
    what: sought(color, kind!),
    beside: otherKind ? sought(otherColor, otherKind) : undefined,
  }));
}

function sought(color: string | undefined, kind: string): Sought {
  return { color, kind: kind === "object" ? undefined : kind };
}

function seenIn(text: string): readonly Seen[] {
  return [...text.matchAll(SEEN)].map(([, name, number, straight, ahead, side, where]) => ({
    name: name!.trim(),
    numbered: name! + number!,
    ahead: Number(straight ?? ahead),
    right: straight ? 0 : Number(side) * (where === "left" ? -1 : 1),
  }));
}

function isSought({ color, kind }: Sought, name: string): boolean {
  return (!color || name.startsWith(`${color} `)) && (!kind || name.endsWith(` ${kind}`));
}

function isOpenable(door: string, carried: string | undefined): boolean {
  return !door.includes("locked") || carried === `${door.split(" ")[0]} key`;
}

/** What to do for the errand now, and whether that is its end; undefined where nothing for it is seen. */
function fulfilling(
  { verb, what, beside }: Errand,
  seen: readonly Seen[],
  can: ReadonlySet<string>,
  text: string,
): readonly [action: string, isLast: boolean] | undefined {
  const carried = /You are carrying a (\w+ \w+)\./.exec(text)?.[1];
  const first = (
    verbs: readonly string[],
    which: Sought,
    among: readonly Seen[] = seen,
  ): string | undefined => {
    for (const { name, numbered } of among)
      if (isSought(which, name))
        for (const each of verbs) if (can.has(`${each} ${numbered}`)) return `${each} ${numbered}`;
    return undefined;
  };
  switch (verb) {
    case "go to": {
      const action = first(["go to"], what);
      return action ? [action, true] : undefined;
    }
    case "open": {
      // Going through it would be one action too many: what counts is how a command ends.
      const door = seen.find(({ ahead, right }) => ahead === 1 && right === 0);
      if (door && isSought(what, door.name) && can.has("toggle")) return ["toggle", true];
      const closed = seen.filter(({ name }) => !name.includes("open") && isOpenable(name, carried));
      const action = first(["go to"], what, closed);
      return action && (!door || !isSought(what, door.name)) ? [action, false] : undefined;
    }
    case "pick up": {
      const action = first(["pickup"], what);
      if (action) return [action, true];
      return carried && can.has("drop") && first(["go to"], what) ? ["drop", false] : undefined;
    }
    default: {
      if (!carried) {
        const action = first(["pickup"], what);
        return action ? [action, false] : undefined;
      }
      if (!isSought(what, carried)) return can.has("drop") ? ["drop", false] : ["turn left", false];
      const near = seen.find(({ name }) => isSought(beside!, name));
      if (!near) return undefined;
      const isBeside =
        (near.ahead === 2 && near.right === 0) || (near.ahead === 1 && Math.abs(near.right) === 1);
      if (isBeside && can.has("drop")) return ["drop", true];
      // Face to face: a step aside and it is beside the place ahead.
      if (near.ahead === 1 && near.right === 0) return ["turn left", false];
      if (near.ahead === 0 && near.right === 1)
        return can.has("move forward") ? ["move forward", false] : ["turn left", false];
      const action = first(["go to"], beside!);
      return action ? [action, false] : undefined;
    }
  }
}
