/**
 * @file One episode of a household game behind the interface of all worlds.
 */
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Observation,
  type StepResult,
  type Task,
} from "../environment.ts";
import { admissibleCommands } from "./engine/admissible.ts";
import type { Game } from "./engine/game.ts";
import { play } from "./engine/play.ts";
import type { State } from "./engine/state.ts";
import { shortestPlan } from "./planner/planner.ts";

/** What the environments of a world share. */
export interface Context {
  readonly name: string;
  /** Throws EnvironmentError when there is no such game or its file is broken. */
  gameOf(task: Task): Game;
  /** The reward of the step that solves the task. */
  readonly winReward: number;
}

class GameObservation implements Observation {
  readonly text: string;
  readonly info: Readonly<Record<string, Json>>;
  readonly #game: Game;
  readonly #state: State;
  #admissible: readonly string[] | undefined;

  constructor(text: string, info: Readonly<Record<string, Json>>, game: Game, state: State) {
    this.text = text;
    this.info = info;
    this.#game = game;
    this.#state = state;
  }

  get anchor(): string {
    return this.text;
  }

  get instruction(): string {
    return this.#game.task;
  }

  get admissible(): readonly string[] {
    this.#admissible ??= admissibleCommands(this.#game, this.#state);
    return this.#admissible;
  }
}

/** The goal cannot become true while nothing changes that it is about: most steps are walking. */
function canDecide(game: Game, before: State, after: State): boolean {
  if (after.held !== before.held || after.conditions !== before.conditions) return true;
  return game.goal.watchesAgent && after !== before;
}

export class GameEnvironment implements LocalEnvironment {
  readonly #context: Context;
  #game: Game | undefined;
  #state: State | undefined;
  #info: Readonly<Record<string, Json>> = {};
  #end: StepResult | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  reset(task: Task): Observation {
    const game = this.#context.gameOf(task);
    this.#game = game;
    this.#state = game.start;
    this.#info = { gamefile: task.id };
    this.#end = undefined;
    return new GameObservation(game.intro, this.#info, game, game.start);
  }

  step(action: string): StepResult {
    if (this.#end) return { ...this.#end, reward: 0 };
    const [game, before] = this.#begun();
    const { state, text, admissible } = play(game, before, action);
    this.#state = state;
    const won = canDecide(game, before, state) && game.goal.isReached(state);
    const result = {
      observation: new GameObservation(text, this.#info, game, state),
      reward: won ? this.#context.winReward : 0,
      done: won,
      won,
      admissible,
      score: won ? 1 : 0,
    };
    if (won) this.#end = result;
    return result;
  }

  clone(): GameEnvironment {
    const copy = new GameEnvironment(this.#context);
    copy.#game = this.#game;
    copy.#state = this.#state;
    copy.#info = this.#info;
    copy.#end = this.#end;
    return copy;
  }

  plan(): readonly string[] | undefined {
    return shortestPlan(...this.#begun());
  }

  #begun(): [Game, State] {
    if (this.#game && this.#state) return [this.#game, this.#state];
    throw new EnvironmentError(
      this.#context.name,
      "there is no episode yet; call reset(task) before step() and plan().",
    );
  }
}
