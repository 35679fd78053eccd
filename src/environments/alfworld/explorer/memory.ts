/**
 * @file What the explorer has seen so far: where it is, what it holds, what is in which receptacle.
 * All of it comes from observations and the lists of admissible commands, or from the texts alone: for
 * agents that are not shown the lists, which give away what is within reach and was not described. (Lamps
 * come from the lists in any case: in rooms of our own no text may tell of them.)
 */
import type { Observation } from "../../environment.ts";
import { classOf } from "./places.ts";

export interface Seen {
  readonly name: string;
  readonly kind: string;
  /** Its contents are known. */
  looked: boolean;
  closed: boolean | undefined;
  /** The names of the objects in it. */
  contents: readonly string[];
}

const DESCRIPTION =
  /On the (?<surface>[^.,]+), you see (?<on>[^.]*)\.|The (?<open>[^.,]+) is open\. In it, you see (?<in>[^.]*)\.|The (?<closed>[^.,]+) is closed\./g;

export class Memory {
  readonly #textsOnly: boolean;
  readonly receptacles = new Map<string, Seen>();
  /** The names of the receptacles within reach. */
  here: readonly string[] = [];
  /** By texts alone: where it went last, and where one need not go from there. */
  #near: readonly string[] = [];
  held: string | undefined;
  /** Lamps, with a receptacle beside them. */
  readonly lamps = new Map<string, string>();
  /** The commands of the last observation. */
  admissible: ReadonlySet<string> = new Set();

  constructor({ textsOnly = false } = {}) {
    this.#textsOnly = textsOnly;
  }

  /** The first observation names the receptacles of the room. */
  begin(text: string): void {
    const room = /you see ([^.]*)\./.exec(text)?.[1] ?? "";
    for (const name of names(room))
      this.receptacles.set(name, {
        name,
        kind: classOf(name),
        looked: false,
        closed: undefined,
        contents: [],
      });
  }

  /** Takes in what followed upon a command. */
  update(command: string | undefined, { text, admissible = [] }: Observation): void {
    this.admissible = new Set(admissible);
    if (command?.startsWith("go to ")) this.#walk(command.slice("go to ".length), text);
    if (command !== undefined && text !== "Nothing happens.") this.#followCommand(command);
    for (const { groups } of text.matchAll(DESCRIPTION)) {
      const {
        surface,
        on,
        open,
        in: inside,
        closed,
      } = groups as Record<string, string | undefined>;
      this.#describe((surface ?? open ?? closed)!, on ?? inside, closed !== undefined);
    }
    this.#readCommands(admissible);
  }

  #describe(name: string, contents: string | undefined, closed: boolean): void {
    const seen = this.receptacles.get(name);
    if (!seen) return;
    seen.closed = closed;
    if (contents === undefined) return;
    seen.contents = names(contents);
    seen.looked = true;
  }

  /** One does not walk to what is within reach already: where nothing happened, it is here. */
  #walk(name: string, text: string): void {
    if (text !== "Nothing happens.") this.#near = [name];
    else if (this.receptacles.has(name)) this.#near = [...this.#near, name];
  }

  #followCommand(command: string): void {
    const [, verb, object, receptacle] = /^(take|move) (.+) (?:from|to) (.+)$/.exec(command) ?? [];
    const seen = receptacle === undefined ? undefined : this.receptacles.get(receptacle);
    if (!seen || object === undefined) return;
    this.held = verb === "take" ? object : undefined;
    seen.contents =
      verb === "take"
        ? seen.contents.filter((name) => name !== object)
        : [...seen.contents, object];
  }

  /** The commands tell what is within reach, also of the receptacles that were not described. */
  #readCommands(admissible: readonly string[]): void {
    if (this.#textsOnly) this.here = this.#near;
    else this.#look(admissible);
    for (const command of admissible)
      if (command.startsWith("use ") && this.here[0] !== undefined)
        this.lamps.set(command.slice(4), this.here[0]);
  }

  #look(admissible: readonly string[]): void {
    this.here = admissible
      .filter((command) => command.startsWith("examine "))
      .map((command) => command.slice(8))
      .filter((name) => this.receptacles.has(name));
    for (const name of this.here) {
      const seen = this.receptacles.get(name)!;
      seen.closed = this.admissible.has(`open ${name}`);
      if (this.held !== undefined || seen.closed || seen.looked) continue;
      const ending = ` from ${name}`;
      seen.contents = admissible
        .filter((command) => command.startsWith("take ") && command.endsWith(ending))
        .map((command) => command.slice(5, -ending.length));
      seen.looked = true;
    }
  }
}

/** "a x 2, a x 1, and a y 1" as names. */
function names(list: string): string[] {
  if (list === "nothing") return [];
  return list.split(/, (?:and )?/).map((item) => item.replace(/^a /, ""));
}
