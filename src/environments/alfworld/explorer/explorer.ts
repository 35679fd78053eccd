/**
 * @file A scripted expert that explores: it sees what an agent sees, does not know where things are,
 * looks into likely places first, and remembers what it saw.
 */
import type { Expert, Observation } from "../../environment.ts";
import { seededRandom } from "../../random.ts";
import { Memory, type Seen } from "./memory.ts";
import { classOf, NO_PLACES, type Places } from "./places.ts";
import { type Intent, type Sighting, thoughtOf } from "./thought.ts";
import { readWish, type Wish } from "./wish.ts";

/** The appliance for each treatment, by the rules of the game. */
const APPLIANCES = { clean: "sinkbasin", heat: "microwave", cool: "fridge" } as const;

/**
 * whimsical: looks into places that are equally likely in an order of its own, another for every seed.
 * orderly: in the order in which the room lists them, and knows nothing but what texts say. What it does
 * can be learned by whoever sees no more than that.
 */
export const EXPLORERS = ["whimsical", "orderly"] as const;
export type ExplorerKind = (typeof EXPLORERS)[number];

export function explorer(
  seed: number,
  places: Places = NO_PLACES,
  kind: ExplorerKind = "whimsical",
): Expert {
  const random = seededRandom("explorer", seed);
  const orderly = kind === "orderly";
  const memory = new Memory({ textsOnly: orderly });
  /** Breaks ties between places that are equally likely. */
  const whims = new Map<string, number>();
  let wish: Wish | undefined;
  let last: string | undefined;
  const treated = new Set<string>();
  /** The receptacle that objects are brought to, once the first is there. */
  let chosen: string | undefined;
  /** What was put there. */
  let placed: string | undefined;
  let intent: Pick<Intent, "next"> = {};
  /** Of two things that are wanted, the one to take second, if it was seen. */
  let other: Sighting | undefined;

  const whim = (name: string): number => {
    const known = whims.get(name) ?? (orderly ? 1 / (1 + whims.size) : random.unit());
    whims.set(name, known);
    return known;
  };
  const possible = (command: string): boolean => memory.admissible.has(command);

  /** Walks to a receptacle, or opens it when it is reached and closed. */
  const reach = (seen: Seen): string | undefined => {
    if (!memory.here.includes(seen.name)) return `go to ${seen.name}`;
    if (seen.closed) return `open ${seen.name}`;
    return seen.looked ? undefined : `examine ${seen.name}`;
  };

  /** The most promising place to look into next, by what one may expect there for the effort. */
  const explore = (kind: string): string | undefined => {
    let best: { seen: Seen; worth: number } | undefined;
    for (const seen of memory.receptacles.values()) {
      if (seen.looked) continue;
      const near = memory.here.includes(seen.name);
      const opening = seen.closed === undefined ? places.closed(seen.kind) : Number(seen.closed);
      const effort = near ? 1 : 1 + opening;
      const worth = (places.expected(kind, seen.kind) + 1e-4) / effort + 1e-7 * whim(seen.name);
      if (!best || worth > best.worth) best = { seen, worth };
    }
    return best && reach(best.seen);
  };

  /** Where to put the object: where others like it are, then what is near, then what needs no opening. */
  const target = (wanted: Wish): Seen | undefined => {
    const all = [...memory.receptacles.values()].filter(({ kind }) => kind === wanted.target);
    const rank = (seen: Seen): number =>
      (seen.name === chosen ? 1000 : 0) +
      (wanted.count === 2 ? 100 * alike(seen, wanted) : 0) +
      (memory.here.includes(seen.name) ? 10 : 0) +
      (seen.closed === true ? 0 : seen.closed === false ? 2 : 1) +
      whim(seen.name) / 2;
    return all.sort((a, b) => rank(b) - rank(a))[0];
  };
  const alike = (seen: Seen, { object }: Wish): number =>
    seen.contents.filter((name) => classOf(name) === object).length;

  const withObject = (held: string, wanted: Wish): string | undefined => {
    if (wanted.lamp !== undefined) {
      const lamp = [...memory.lamps].find(([name]) => classOf(name) === wanted.lamp);
      if (lamp) intent = { next: { found: lamp[0], place: lamp[1] } };
      if (!lamp) return explore(wanted.lamp);
      return possible(`use ${lamp[0]}`) ? `use ${lamp[0]}` : `go to ${lamp[1]}`;
    }
    if (wanted.treatment && !treated.has(held)) {
      const appliance = [...memory.receptacles.values()].find(
        ({ kind }) => kind === APPLIANCES[wanted.treatment!],
      );
      if (!appliance) return undefined;
      const command = `${wanted.treatment} ${held} with ${appliance.name}`;
      return possible(command) ? command : `go to ${appliance.name}`;
    }
    const place = target(wanted);
    if (!place) return undefined;
    const command = `move ${held} to ${place.name}`;
    return possible(command) ? command : reach(place);
  };

  /** Things of the wanted kind that are known and still to be brought: what is near comes first. */
  const sightings = (wanted: Wish): (Sighting & { readonly seen: Seen })[] => {
    const kept = wanted.count === 2 ? target(wanted)?.name : undefined;
    const rank = ({ found, seen }: { found: string; seen: Seen }): number =>
      (found === other?.found ? 2 : 0) + (memory.here.includes(seen.name) ? 1 : 0);
    return [...memory.receptacles.values()]
      .filter(({ name }) => name !== kept)
      .flatMap((seen) =>
        seen.contents
          .filter((name) => classOf(name) === wanted.object)
          .map((found) => ({ found, place: seen.name, seen })),
      )
      .sort((a, b) => rank(b) - rank(a));
  };

  const withEmptyHands = (wanted: Wish): string | undefined => {
    const known = sightings(wanted);
    for (const next of known) {
      intent = { next };
      const command = `take ${next.found} from ${next.place}`;
      const step = possible(command) ? command : reach(next.seen);
      if (step === undefined) continue;
      if (wanted.count === 2 && placed === undefined)
        other = known.find(({ found, place }) => found !== next.found && place === next.place);
      return step;
    }
    intent = {};
    return explore(wanted.object);
  };

  return {
    act(observation: Observation): string {
      if (last === undefined) {
        wish = readWish(observation.instruction ?? "");
        memory.begin(observation.text);
        if (orderly) for (const name of memory.receptacles.keys()) whim(name);
      }
      memory.update(last, observation);
      const done = last === undefined ? undefined : /^(clean|heat|cool) (.+) with /.exec(last);
      if (done && observation.text !== "Nothing happens.") treated.add(done[2]!);
      const moved = last === undefined ? undefined : /^move (.+) to (.+)$/.exec(last);
      if (moved && observation.text !== "Nothing happens.") [, placed, chosen] = moved;
      const { held } = memory;
      intent = {};
      const next = !wish
        ? undefined
        : held === undefined
          ? withEmptyHands(wish)
          : withObject(held, wish);
      // Who knows nothing but texts must try: what is beside it cannot be walked to.
      const tries = orderly && next?.startsWith("go to ");
      last = next !== undefined && (tries || possible(next)) ? next : "look";
      return last;
    },
    acted(action) {
      last = action;
    },
    thought() {
      if (!wish) return "look around";
      const { held } = memory;
      const treatment = held !== undefined && treated.has(held) ? undefined : wish.treatment;
      const second = placed === undefined && other?.found !== held ? other : undefined;
      return thoughtOf(wish, held, placed, { ...intent, other: second, treatment });
    },
  };
}
