/**
 * @file Where things usually are: learned from other games, as a person has learned it from other
 * homes.
 */
import { type Game, IS } from "../engine/game.ts";

export interface Places {
  /** How many objects of that class a receptacle of that class holds, where there are such objects. */
  expected(object: string, receptacle: string): number;
  /** How likely a receptacle of that class is to be closed. */
  closed(receptacle: string): number;
}

/** What one knows without experience: things are anywhere, and nothing is known to be closed. */
export const NO_PLACES: Places = { expected: () => 0, closed: () => 0.3 };

/** "locker 3" is a locker. */
export function classOf(name: string): string {
  return name.slice(0, name.lastIndexOf(" "));
}

/** Weighs one receptacle's worth of not knowing against what was seen. */
const DOUBT = 1;

export function learnPlaces(games: Iterable<Game>): Places {
  /** By object class and receptacle class: receptacles in games with such objects, and objects in them. */
  const seen = new Map<string, { receptacles: number; objects: number }>();
  const receptacles = new Map<string, { count: number; closed: number; objects: number }>();
  for (const game of games) {
    const present = new Set(game.objectNames.map(classOf));
    for (const [index, name] of game.receptacleNames.entries()) {
      const place = classOf(name);
      const contents = game.start.receptacles[index]!.objects.map((object) =>
        classOf(game.objectNames[object]!),
      );
      const total = receptacles.get(place) ?? { count: 0, closed: 0, objects: 0 };
      total.count++;
      if ((game.natures[index]! & IS.openable) !== 0) total.closed++;
      total.objects += contents.length;
      receptacles.set(place, total);
      for (const object of present) {
        const key = `${object} ${place}`;
        const entry = seen.get(key) ?? { receptacles: 0, objects: 0 };
        entry.receptacles++;
        for (const content of contents) if (content === object) entry.objects++;
        seen.set(key, entry);
      }
    }
  }
  return {
    expected(object, receptacle) {
      const entry = seen.get(`${object} ${receptacle}`) ?? { receptacles: 0, objects: 0 };
      // Where a kind of object was never seen, full receptacles are the better guess.
      const total = receptacles.get(receptacle) ?? { count: 1, objects: 1 };
      const guess = 0.01 * (total.objects / total.count);
      return (entry.objects + DOUBT * guess) / (entry.receptacles + DOUBT);
    },
    closed(receptacle) {
      const { count, closed } = receptacles.get(receptacle) ?? { count: 0, closed: 0 };
      return (closed + 0.3) / (count + 1);
    },
  };
}
