/**
 * @file `npm run bench -- worlds`: steps per second of our worlds, and of ALFWorld beside what Python's users run (textworld
 * and alfworld of PyPI): the same games, the same actions, by turns in one run. What both show is compared, too.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ArgumentError } from "../arguments.ts";
import { realGames } from "../environments/real-games.ts";
import type { Benchmark } from "../main.ts";
import { median, table } from "../measure.ts";
import { askScript } from "../peers/children.ts";
import { NoEnvironment } from "../peers/environments.ts";
import { type Episode, type Shown, walks } from "./episodes.ts";
import { NATIVE, type NativeRate, nativeRate } from "./native.ts";
import { ourPass, type Pass } from "./ours.ts";
import type { Seconds } from "./watch.ts";

const WAYS = ["textworld", "alfworld"] as const;
type Player = "ours" | (typeof WAYS)[number];

/** What somebody needed for an ALFWorld step and for a beginning, in seconds: medians over the rounds. */
interface Played {
  readonly player: Player;
  readonly version: string;
  readonly step: Seconds;
  readonly reset: Seconds;
  /** Of how many texts and lists of commands how many are those of our engine. Lists are compared as sets. */
  readonly texts: Agreement;
  readonly lists: Agreement;
}

interface Agreement {
  readonly equal: number;
  readonly compared: number;
  /** The first that differ. */
  readonly example?: readonly [theirs: string, ours: string];
}

interface Figures {
  readonly native: readonly NativeRate[];
  readonly alfworld:
    | { readonly games: number; readonly steps: number; readonly players: readonly Played[] }
    | string;
  /** Why Python's are not there. */
  readonly missing?: string;
}

interface Answer extends Pass {
  readonly shown: Readonly<Record<string, readonly Shown[]>>;
  readonly versions: Readonly<Record<string, string>>;
}

export const worlds: Benchmark = {
  usage:
    "[--games 6] [--steps 50] [--rounds 3] [--seconds 2, of each of our worlds] [--no-python] [--no-native]",
  async run(words): Promise<Figures> {
    const options = optionsOf(words);
    const native: NativeRate[] = [];
    for (const name of options.native ? Object.keys(NATIVE) : []) {
      console.error(`${name} …`);
      native.push(await nativeRate(name, options.seconds));
    }
    const temporary = mkdtempSync(join(tmpdir(), "openmanus-worlds-"));
    try {
      const folder = await realGames(join(temporary, "all"));
      if (folder === undefined)
        return { native, alfworld: "no games of ALFWorld here: set ALFWORLD_DATA" };
      const place = join(temporary, "played");
      mkdirSync(place);
      const episodes = await walks(folder, place, options.games, options.steps);
      return { native, ...(await sideBySide(place, episodes, options)) };
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  },
  report(found) {
    const { native, alfworld, missing } = found as Figures;
    return [
      table([
        ["our world", "steps/s (clock)", "steps/s (core)", "a beginning, ms (core)"],
        ...native.map(({ world, step, reset }) => [
          ...[world, shown(1 / step.clock), shown(1 / step.core), shown(1000 * reset.core)],
        ]),
      ]),
      typeof alfworld === "string" ? alfworld : alfworldTable(alfworld),
      ...(missing === undefined ? [] : [`Python's worlds were not measured: ${missing}`]),
    ].join("\n\n");
  },
};

/** Everybody plays all episodes in each round, by turns. */
async function sideBySide(
  place: string,
  episodes: readonly Episode[],
  { rounds, seconds, python }: ReturnType<typeof optionsOf>,
): Promise<Omit<Figures, "native">> {
  const passes: Record<Player, Pass[]> = { ours: [], textworld: [], alfworld: [] };
  const answers: Partial<Record<Player, Answer>> = {};
  let missing: string | undefined;
  for (let round = 0; round < rounds; round++) {
    console.error(`alfworld, round ${round + 1} of ${rounds} …`);
    passes.ours.push(await ourPass(place, episodes, seconds));
    for (const way of python ? WAYS : []) {
      if (missing !== undefined) continue;
      try {
        const answer = await askPlayer(way, place, episodes);
        passes[way].push(answer);
        answers[way] = answer;
      } catch (error) {
        if (!(error instanceof NoEnvironment)) throw error;
        missing = error.message;
      }
    }
  }
  const steps = episodes.reduce((sum, { actions }) => sum + actions.length, 0);
  const players = (["ours", ...WAYS] as const)
    .filter((player) => passes[player].length > 0)
    .map((player): Played => {
      const { versions, shown: theirs } = answers[player] ?? {};
      return {
        player,
        version: player === "ours" ? "" : (versions?.[player] ?? "?"),
        step: medianOf(passes[player], "steps", steps),
        reset: medianOf(passes[player], "resets", episodes.length),
        ...agreement(episodes, theirs),
      };
    });
  return {
    alfworld: { games: episodes.length, steps, players },
    ...(missing !== undefined && { missing }),
  };
}

function askPlayer(
  way: (typeof WAYS)[number],
  place: string,
  episodes: readonly Episode[],
): Promise<Answer> {
  const script = fileURLToPath(new URL("./python/alfworld_plays.py", import.meta.url));
  const asked = episodes.map(({ id, file, actions }) => ({ id, file, actions }));
  const request = { way, folder: place, episodes: asked };
  return askScript("worlds", script, request, { threads: 1, say: console.error });
}

function medianOf(passes: readonly Pass[], part: keyof Pass, count: number): Seconds {
  const each = (kind: keyof Seconds): number =>
    median(passes.map((pass) => pass[part][kind])) / count;
  return { clock: each("clock"), core: each("core") };
}

/** Texts as they are but for the blanks around them; lists as sets. */
function agreement(
  episodes: readonly Episode[],
  theirs: Answer["shown"] | undefined,
): { texts: Agreement; lists: Agreement } {
  const pairs = theirs
    ? episodes.flatMap(({ id, shown }) => shown.map((own, i) => [theirs[id]?.[i], own] as const))
    : [];
  const compared = (view: (seen: Shown) => string): Agreement => {
    const views = pairs.map(
      ([their, own]) => [their ? view(their) : "nothing", view(own)] as const,
    );
    const example = views.find(([their, own]) => their !== own);
    const equal = views.filter(([their, own]) => their === own).length;
    return { equal, compared: views.length, ...(example && { example }) };
  };
  return {
    texts: compared(([text]) => text.trim()),
    lists: compared(([, commands]) => [...commands].sort().join("\n")),
  };
}

function alfworldTable({ games, steps, players }: Exclude<Figures["alfworld"], string>): string {
  const [ours] = players;
  const times = (theirs: Seconds, own: Seconds): string =>
    `${shown(theirs.core / own.core)}× (clock ${shown(theirs.clock / own.clock)}×)`;
  const share = ({ equal, compared }: Agreement): string =>
    compared === 0 ? "" : `${equal} of ${compared}`;
  return [
    `ALFWorld: ${games} games, the same ${steps} actions for everybody`,
    table([
      [
        ...["who", "steps/s (clock)", "steps/s (core)", "a beginning, ms (core)"],
        ...["a step of ours is faster by", "texts equal", "lists equal"],
      ],
      ...players.map(({ player, version, step, reset, texts, lists }) => [
        ...[`${player} ${version}`.trim(), shown(1 / step.clock), shown(1 / step.core)],
        ...[shown(1000 * reset.core), player === "ours" ? "" : times(step, ours!.step)],
        ...[share(texts), share(lists)],
      ]),
    ]),
  ].join("\n");
}

function shown(number: number): string {
  return number >= 100
    ? Math.round(number).toLocaleString("en")
    : String(Number(number.toPrecision(3)));
}

function optionsOf(words: readonly string[]) {
  const text = (usual: string) => ({ type: "string", default: usual }) as const;
  const flag = { type: "boolean", default: false } as const;
  let values: Record<"games" | "steps" | "rounds" | "seconds", string> &
    Record<"no-python" | "no-native", boolean>;
  try {
    ({ values } = parseArgs({
      args: [...words],
      options: {
        ...{ games: text("6"), steps: text("50"), rounds: text("3"), seconds: text("2") },
        ...{ "no-python": flag, "no-native": flag },
      },
    }));
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
  const number = (name: "games" | "steps" | "rounds" | "seconds", whole: boolean): number => {
    const value = Number(values[name]);
    if (!(value > 0) || !Number.isFinite(value) || (whole && !Number.isInteger(value)))
      throw new ArgumentError(
        `--${name}: expected a${whole ? " whole" : ""} number above 0, got "${values[name]}"`,
      );
    return value;
  };
  return {
    ...{ games: number("games", true), steps: number("steps", true) },
    ...{ rounds: number("rounds", true), seconds: number("seconds", false) },
    ...{ python: !values["no-python"], native: !values["no-native"] },
  };
}
