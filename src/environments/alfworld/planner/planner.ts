/**
 * @file The shortest plan: knows everything, and finds the fewest commands that reach the goal.
 *
 * Every way to the goal (see ground.ts) has a lower bound of commands. The ways are tried from the
 * most promising one on, by A* over the few commands that can matter for it, until no other way can
 * be shorter.
 */
import { type Command, commandText } from "../engine/command.ts";
import { CAN, type Game, HAS_BEEN, IS } from "../engine/game.ts";
import { isAccessible, isPossible, stateAfter } from "../engine/rules.ts";
import type { State } from "../engine/state.ts";
import { type Wishes, waysToGoal } from "./ground.ts";

/** Beyond this many states something is odd; real games need some dozens. */
const MOST_STATES = 100_000;

/** Undefined where no commands reach the goal, or where the goal's form is not a household task's. */
export function shortestPlan(game: Game, start: State): readonly string[] | undefined {
  if (game.goal.isReached(start)) return [];
  const ways = waysToGoal(game, start)
    ?.map((wishes) => new Way(game, wishes))
    .map((way) => ({ way, bound: way.bound(start) }))
    .sort((a, b) => a.bound - b.bound);
  let best: readonly Command[] | undefined;
  for (const { way, bound } of ways ?? []) {
    if (bound >= (best?.length ?? Infinity)) break;
    best = search(game, start, way, best?.length ?? Infinity) ?? best;
  }
  return best?.map((command) => commandText(game, command));
}

interface Node {
  readonly state: State;
  readonly cost: number;
  readonly command: Command | undefined;
  readonly before: Node | undefined;
}

/** A*: the commands, if there are fewer than `limit`. */
function search(game: Game, start: State, way: Way, limit: number): Command[] | undefined {
  /** Nodes by cost so far plus lower bound of the rest. */
  const queues: Node[][] = [];
  const costs = new Map<string, number>();
  const enqueue = (node: Node, least: number): void => {
    // The bound may fall by two with one command; what it said before still holds.
    const total = Math.max(least, node.cost + way.bound(node.state));
    if (total >= limit) return;
    const key = way.key(node.state);
    if ((costs.get(key) ?? Infinity) <= node.cost) return;
    costs.set(key, node.cost);
    queues[total] ??= [];
    queues[total]!.push(node);
  };
  enqueue({ state: start, cost: 0, command: undefined, before: undefined }, 0);
  for (let total = 0; total < queues.length; total++) {
    for (let node = queues[total]?.pop(); node; node = queues[total]?.pop()) {
      if (way.isDone(node.state)) return commandsTo(node);
      if (costs.size > MOST_STATES) return undefined;
      for (const command of way.commands(node.state)) {
        if (!isPossible(game, node.state, command)) continue;
        const state = stateAfter(game, node.state, command);
        enqueue({ state, cost: node.cost + 1, command, before: node }, total);
      }
    }
  }
  return undefined;
}

function commandsTo(node: Node): Command[] {
  const commands: Command[] = [];
  for (let at: Node | undefined = node; at?.command; at = at.before) commands.unshift(at.command);
  return commands;
}

/** One way to the goal: what is left to do in a state, and the commands that can help. */
class Way {
  readonly #game: Game;
  readonly #wishes: Wishes;
  /** The objects that must be in hand at some time. */
  readonly #objects: readonly number[];

  constructor(game: Game, wishes: Wishes) {
    this.#game = game;
    this.#wishes = wishes;
    const { inside, cleaned, heated, cooled, held } = wishes;
    const objects = [
      ...inside.map(([object]) => object),
      ...cleaned,
      ...heated,
      ...cooled,
      ...held,
    ];
    this.#objects = [...new Set(objects)];
  }

  isDone(state: State): boolean {
    const { inside, held, at, switched } = this.#wishes;
    return (
      inside.every(([object, receptacle]) =>
        state.receptacles[receptacle]!.objects.includes(object),
      ) &&
      held.every((object) => state.held === object) &&
      at.every((location) => state.location === location) &&
      switched.every((object) => (state.conditions[object]! & HAS_BEEN.switched) !== 0) &&
      this.#objects.every((object) => this.#treatments(state, object).length === 0)
    );
  }

  /** Tells apart only what matters on this way. */
  key(state: State): string {
    const parts: number[] = [state.location, state.held];
    for (const object of [...this.#objects, ...this.#wishes.switched]) {
      parts.push(-1, state.conditions[object]!);
      for (const [index, { objects }] of state.receptacles.entries())
        if (objects.includes(object)) parts.push(index);
    }
    parts.push(-2);
    for (const [index, { opened }] of state.receptacles.entries()) if (opened) parts.push(index);
    return parts.join();
  }

  /** What must still be done to an object while it is held. */
  #treatments(state: State, object: number): ("clean" | "heat" | "cool")[] {
    const { cleaned, heated, cooled } = this.#wishes;
    const is = state.conditions[object]!;
    const left: ("clean" | "heat" | "cool")[] = [];
    if (cleaned.includes(object) && !(is & HAS_BEEN.cleaned)) left.push("clean");
    if (heated.includes(object) && !(is & HAS_BEEN.heated)) left.push("heat");
    if (cooled.includes(object) && !(is & HAS_BEEN.cooled)) left.push("cool");
    return left;
  }

  /** Whether the object must be in hand once more. */
  #isWanted(state: State, object: number): boolean {
    if (this.#wishes.held.includes(object) || this.#treatments(state, object).length > 0)
      return true;
    return this.#targets(state, object).length > 0;
  }

  /** The receptacles that the object should be in and is not. */
  #targets(state: State, object: number): number[] {
    return this.#wishes.inside
      .filter(([wished, receptacle]) => {
        return wished === object && !state.receptacles[receptacle]!.objects.includes(object);
      })
      .map(([, receptacle]) => receptacle);
  }

  #hasTarget(object: number): boolean {
    return this.#wishes.inside.some(([wished]) => wished === object);
  }

  #holders(state: State, object: number): number[] {
    return state.receptacles.flatMap(({ objects }, index) =>
      objects.includes(object) ? [index] : [],
    );
  }

  /** At least this many commands are left. Infinity where there is no way. */
  bound(state: State): number {
    const game = this.#game;
    const targetPlaces = this.#wishes.inside.map(([, receptacle]) => game.locations[receptacle]!);
    let bound = 0;
    /** One walk brings the agent to all objects that lie beside their target, and so does carrying another one there. */
    let walksToTarget = 0;
    let carriesToTarget = 0;
    /** Receptacles that must be opened, whatever else: each once. */
    const toOpen = new Set<number>();
    for (const object of this.#objects) {
      if (!this.#isWanted(state, object)) continue;
      let places = [state.location];
      if (state.held !== object) {
        const holders = this.#holders(state, object).filter((index) => game.locations[index]! >= 0);
        if (holders.length === 0) return Infinity;
        places = holders.map((index) => game.locations[index]!);
        bound += 1;
        if (!places.includes(state.location)) {
          if (places.some((place) => targetPlaces.includes(place))) walksToTarget = 1;
          else bound += 1;
        }
        if (holders.length === 1 && !isAccessible(game, state, holders[0]!))
          toOpen.add(holders[0]!);
      }
      for (const treatment of this.#treatments(state, object)) {
        const appliances = this.#appliances(treatment);
        if (appliances.length === 0) return Infinity;
        const near = appliances.some((index) => places.includes(game.locations[index]!));
        bound += 1 + (near ? 0 : 1);
        // Only the last one's place is known to be where the object is carried on from, and only if
        // there is one treatment; with several, any of their places may be.
        const reached = appliances.map((index) => game.locations[index]!);
        places = near ? [...places, ...reached] : reached;
      }
      for (const target of this.#targets(state, object)) {
        bound += 1;
        if (!places.includes(game.locations[target]!)) carriesToTarget++;
        if (!isAccessible(game, state, target)) toOpen.add(target);
      }
      // What lies only in its target but must be treated has to be put back.
      const returns = state.held !== object && this.#targets(state, object).length === 0;
      if (returns && this.#holders(state, object).length === 1 && this.#hasTarget(object))
        bound += 1;
    }
    const dark = this.#wishes.switched.filter(
      (object) => !(state.conditions[object]! & HAS_BEEN.switched),
    );
    // Something else in hand must be put down before anything can be taken.
    const blocked = state.held >= 0 && !this.#objects.includes(state.held);
    const hasToTake = this.#objects.some(
      (object) => object !== state.held && this.#isWanted(state, object),
    );
    const walks = Math.max(walksToTarget, carriesToTarget);
    return bound + walks + dark.length + toOpen.size + (blocked && hasToTake ? 1 : 0);
  }

  #appliances(treatment: "clean" | "heat" | "cool"): number[] {
    const nature = { clean: IS.sink, heat: IS.microwave, cool: IS.fridge }[treatment];
    return this.#game.natures.flatMap((is, index) =>
      (is & nature) !== 0 && this.#game.locations[index]! >= 0 ? [index] : [],
    );
  }

  /** Commands that may help; some of them may not be possible. */
  commands(state: State): Command[] {
    const game = this.#game;
    const commands: Command[] = [];
    /** Receptacles that are worth going to, or opening. */
    const goals = new Set<number>();
    const { held } = state;
    if (held < 0) {
      for (const object of this.#objects) {
        if (!this.#isWanted(state, object)) continue;
        for (const holder of this.#holders(state, object)) {
          commands.push({ verb: "take", object, with: holder });
          goals.add(holder);
        }
      }
    } else if (this.#objects.includes(held)) {
      for (const treatment of this.#treatments(state, held))
        for (const appliance of this.#appliances(treatment)) {
          commands.push({ verb: treatment, object: held, with: appliance });
          goals.add(appliance);
        }
      for (const target of this.#wishes.inside
        .filter(([object]) => object === held)
        .map(([, receptacle]) => receptacle)) {
        commands.push({ verb: "move", object: held, with: target });
        goals.add(target);
      }
    } else {
      for (let index = 0; index < game.receptacleIds.length; index++)
        if (game.mayHold[index * game.objectIds.length + held] === 1) {
          commands.push({ verb: "move", object: held, with: index });
          goals.add(index);
        }
    }
    for (const object of this.#wishes.switched) {
      if (!(game.abilities[object]! & CAN.beSwitched)) continue;
      commands.push({ verb: "use", object, with: -1 });
      for (const holder of this.#holders(state, object)) goals.add(holder);
    }
    const reached = new Set<number>();
    for (const goal of goals) {
      if (!isAccessible(game, state, goal)) commands.push({ verb: "open", object: -1, with: goal });
      if (reached.has(game.locations[goal]!)) continue;
      reached.add(game.locations[goal]!);
      commands.push({ verb: "go", object: -1, with: goal });
    }
    for (const location of this.#wishes.at) {
      const there = game.receptaclesAt[location]![0];
      if (there !== undefined && !reached.has(location))
        commands.push({ verb: "go", object: -1, with: there });
    }
    return commands;
  }
}
