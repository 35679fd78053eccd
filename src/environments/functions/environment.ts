/**
 * @file An environment over a world's functions. Without promises where the functions give none.
 */
import {
  type Environment,
  EnvironmentError,
  type Observation,
  type StepResult,
  type Task,
} from "../environment.ts";
import type { OptionTable, OptionValues } from "../options.ts";
import { type Random, seededRandom } from "../random.ts";
import { type Awaitable, after, finallyAfter, frozen, guarded } from "./call.ts";
import type { Answer, WorldParts } from "./parts.ts";

/** What the environments of an opened world share. */
export interface Opened<State, Table extends OptionTable, Resource> {
  readonly parts: WorldParts<State, Table, Resource>;
  readonly options: OptionValues<Table>;
  readonly resource: Resource;
  /** Why nothing can be begun any more, once the world is closed. */
  closedError(): EnvironmentError | undefined;
  /** Gives back what `start` made for an episode. */
  finish(state: State): Awaitable<unknown>;
  /** Environments that have an episode to finish; they are closed with the world. */
  readonly living: Set<Environment>;
}

/** Where an episode stands. */
interface Episode<State> {
  readonly task: Task;
  readonly state: State;
  readonly instruction: string | undefined;
  readonly steps: number;
  /** The result that ended it. */
  readonly end?: StepResult;
}

export function functionEnvironment<State, Table extends OptionTable, Resource>(
  world: Opened<State, Table, Resource>,
  begun?: Episode<State>,
): Environment {
  const { parts } = world;
  const { name } = parts;
  let episode = begun;
  /** Whether `finish` is still to be called for the episode. */
  let unfinished = false;
  let closed = false;
  /** The call that is under way. */
  let busy: string | undefined;

  function closedError(): EnvironmentError | undefined {
    if (closed) return new EnvironmentError(name, "it is closed; make a new environment.");
    return world.closedError();
  }

  function requireOpen(): void {
    const error = closedError();
    if (error) throw error;
  }

  /** One call at a time: a second one would act on a state that is about to be replaced. */
  function alone<Value>(call: string, work: () => Awaitable<Value>): Awaitable<Value> {
    requireOpen();
    if (busy !== undefined)
      throw new EnvironmentError(name, `${call} while ${busy} is under way; wait for it first.`);
    busy = call;
    return finallyAfter(work, () => {
      busy = undefined;
    });
  }

  function finish(): Awaitable<unknown> {
    if (!unfinished) return undefined;
    unfinished = false;
    world.living.delete(environment);
    return world.finish(episode!.state);
  }

  const environment: Environment = {
    reset: (task) =>
      alone("reset()", () =>
        after(finish(), () => {
          episode = undefined;
          return after(startOf(world, task), (state) => {
            const error = closedError();
            // Closed in the meantime: nobody else will come to finish it.
            if (error) return after(world.finish(state), () => Promise.reject(error));
            episode = { task, state, instruction: undefined, steps: 0 };
            if (parts.finish) {
              unfinished = true;
              world.living.add(environment);
            }
            const intro = guarded(name, "intro", () => parts.intro(state, task));
            const { text, instruction } =
              typeof intro === "string" ? { text: intro, instruction: undefined } : intro;
            episode = { ...episode, instruction };
            return observation(world, episode, { text });
          });
        }),
      ),
    step(action) {
      if (!episode && busy === undefined)
        throw new EnvironmentError(name, "step() before reset(); call reset(task) first.");
      if (episode?.end) return { ...episode.end, reward: 0 };
      return alone("step()", () => {
        const before = episode!;
        return after(acted(world, before, action), (answer) => {
          requireOpen();
          const next: Episode<State> = {
            ...before,
            state: answer.state === undefined ? before.state : frozen(answer.state),
            steps: before.steps + 1,
          };
          const result = resultOf(world, before, next, action, answer);
          episode = result.done ? { ...next, end: result } : next;
          return result.done ? after(finish(), () => result) : result;
        });
      });
    },
    ...(parts.finish
      ? {
          close() {
            if (closed) return;
            closed = true;
            return after(finish(), () => {});
          },
        }
      : { clone: () => functionEnvironment(world, episode) }),
    ...(parts.plan && {
      plan() {
        if (!episode)
          throw new EnvironmentError(name, "plan() before reset(); call reset(task) first.");
        const { state, task, steps, end } = episode;
        return end ? undefined : guarded(name, "plan", () => parts.plan!(state, task, steps));
      },
    }),
  };
  return environment;
}

export function startOf<State, Table extends OptionTable, Resource>(
  { parts, options, resource }: Opened<State, Table, Resource>,
  task: Task,
): Awaitable<State> {
  const random = randomOf(parts.name, task, 0);
  const state = guarded(parts.name, "start", () => parts.start(task, random, options, resource));
  return after<State, State>(state, frozen);
}

/** The random numbers of a task's step; step 0 is its start. */
export function randomOf(name: string, task: Task, step: number): Random {
  return seededRandom(name, task.split, task.id, task.seed ?? 0, step);
}

function acted<State, Table extends OptionTable, Resource>(
  { parts, resource }: Opened<State, Table, Resource>,
  { task, state, steps }: Episode<State>,
  action: string,
): Awaitable<Answer<State>> {
  const random = randomOf(parts.name, task, steps + 1);
  const place = `act (${shown(action)})`;
  const answer = guarded(parts.name, place, () => parts.act(state, action, random, resource));
  return after<Answer<State>, Answer<State>>(answer, (given) => {
    if (typeof given?.text === "string") return given;
    throw new EnvironmentError(
      parts.name,
      `its function ${place} gave no text; expected it to return { text: "…" }.`,
    );
  });
}

function resultOf<State, Table extends OptionTable, Resource>(
  world: Opened<State, Table, Resource>,
  { state }: Episode<State>,
  next: Episode<State>,
  action: string,
  answer: Answer<State>,
): StepResult {
  const { parts } = world;
  const { won = false, lost = false } = answer;
  const known = parts.actions && guarded(parts.name, "actions", () => parts.actions!(state));
  const admissible = answer.admissible ?? known?.includes(action);
  return {
    observation: observation(world, next, answer),
    reward: answer.reward ?? (won ? 10 : 0),
    done: won || lost || (answer.done ?? false),
    won,
    ...(lost && { lost }),
    ...(admissible !== undefined && { admissible }),
    score: answer.score ?? (won ? 1 : 0),
  };
}

function observation<State, Table extends OptionTable, Resource>(
  { parts }: Opened<State, Table, Resource>,
  { state, instruction }: Episode<State>,
  { text, anchor = text, info = {} }: Pick<Answer<State>, "text" | "anchor" | "info">,
): Observation {
  const plain = { text, anchor, info, ...(instruction !== undefined && { instruction }) };
  if (!parts.actions) return plain;
  let list: readonly string[] | undefined;
  return {
    ...plain,
    get admissible() {
      list ??= guarded(parts.name, "actions", () => parts.actions!(state));
      return list;
    },
  };
}

function shown(action: string): string {
  return JSON.stringify(action.length > 60 ? `${action.slice(0, 60)}…` : action);
}
