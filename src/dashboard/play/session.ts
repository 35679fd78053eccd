/**
 * @file A place in the browser to play a run's world: the world is opened once, and episodes are played in it one after the
 * other, by a person or by a policy that the run has saved, which waits before every reply until it is told to go on.
 */
import { join } from "node:path";
import {
  folderPlayer,
  type ModelPlayer,
  OptionError,
  openRunWorld,
  type PlayOptions,
  type RunWorld,
} from "../../assembly/index.ts";
import { resolvePlay, type Settings, settingsOf } from "../../config/index.ts";
import {
  boundedEnvironment,
  type HandPlayed,
  playByHand,
  type Task,
  taskNamed,
} from "../../environments/index.ts";
import { liveWatch, shortened } from "../../monitoring/index.ts";
import { type Policy, runEpisode } from "../../rollout/index.ts";
import { deriveSeed } from "../../torch/index.ts";
import { checkpointFolder, policyAfter, savedPolicies } from "../../training/index.ts";
import type { BeginPlay, PlayTable } from "../api.ts";
import type { FollowedLive } from "../events.ts";
import { type LiveLines, liveLines } from "./lines.ts";

export interface PlaySession extends FollowedLive {
  readonly table: Omit<PlayTable, "session">;
  begin(given: BeginPlay): Promise<void>;
  /** A person's action. */
  act(action: string): Promise<void>;
  /** Lets the policy go on for so many turns. */
  go(turns: number): void;
  close(): Promise<void>;
}

/** An episode that is being played. */
interface Playing {
  act?(action: string): Promise<void>;
  go?(turns: number): void;
  stop(): Promise<void>;
}

/** `given`: settings of the world that a folder's word is not enough for, because they start programs. */
export async function openPlaySession(run: string, given: Settings): Promise<PlaySession> {
  const { iterations, best } = savedPolicies(run);
  const last = iterations.at(-1);
  if (last === undefined)
    throw new OptionError(
      "the run has saved no checkpoint yet, and its world is known by one: wait for its first (trainer.save_freq)",
    );
  const noted = settingsOf(join(checkpointFolder(run, last), "actor"), given);
  const { play, world: where } = await resolvePlay({ settings: given }, noted);
  const world = await openRunWorld(where);
  const lines = liveLines();
  let playing: Playing | undefined;
  let player: { readonly iteration: number; readonly of: ModelPlayer } | undefined;

  async function stop(): Promise<void> {
    const ending = playing;
    playing = undefined;
    await ending?.stop();
  }

  async function playerAfter(iteration: number): Promise<ModelPlayer> {
    if (player?.iteration === iteration) return player.of;
    await player?.of.close();
    player = undefined;
    const policy = policyAfter(run, iteration);
    if (!policy) throw new OptionError(`the run has no policy of iteration ${iteration} any more`);
    player = { iteration, of: folderPlayer(policy.folder, play) };
    return player.of;
  }

  try {
    if (world.world.program)
      throw new OptionError(
        "the episodes of this world are programs that ask a model by themselves: they cannot be played step by step",
      );
    const splits: { name: string; length: number }[] = [];
    for (const name of world.world.splits)
      splits.push({ name, length: (await world.namedTasks(name)).length });
    return {
      table: { splits, split: world.valSplit, iterations, best, turns: world.turns },
      follow: lines.follow,
      async begin({ split, task: wanted, seed, iteration }) {
        await stop();
        const task = taskNamed(await world.namedTasks(split), wanted);
        if (!task) throw new OptionError(`the split ${split} has no task "${wanted}"`);
        const policy = iteration === undefined ? undefined : await playerAfter(iteration);
        lines.clear();
        playing = policy
          ? watched({ world, play, player: policy, task, seed, lines })
          : await byHand({ world, task, lines });
      },
      async act(action) {
        if (!playing?.act) throw new OptionError("nobody waits for an action: begin a task first");
        await playing.act(action);
      },
      go(turns) {
        if (!playing?.go) throw new OptionError("no policy is playing: begin a task first");
        playing.go(turns);
      },
      async close() {
        await stop();
        await player?.of.close();
        await world.world.close?.();
      },
    };
  } catch (error) {
    await world.world.close?.();
    throw error;
  }
}

/** The name of the one episode that there is. */
const EPISODE = "played";

async function byHand(parts: {
  readonly world: RunWorld;
  readonly task: Task;
  readonly lines: LiveLines;
}): Promise<Playing> {
  const { world, task, lines } = parts;
  const played: HandPlayed = await playByHand(world.world, task, world.turns);
  const noTokens = { stream: () => ({ push: () => "", finish: () => "" }) };
  const watch = liveWatch({ id: EPISODE, task, attempt: 0 }, noTokens, false, lines.say);
  const tell = () => {
    const { text, instruction, admissible } = played.observation;
    const isFirst = played.steps === 0 && instruction !== undefined && !text.includes(instruction);
    watch.told(played.steps, isFirst ? `${instruction}\n\n${text}` : text, admissible);
  };
  tell();
  let total = 0;
  let isBusy = false;
  return {
    async act(action) {
      if (isBusy || played.end)
        throw new OptionError(
          played.end ? "the episode is over" : "the world has not answered yet",
        );
      isBusy = true;
      try {
        const turn = played.steps;
        const result = await played.act(action);
        const { reward, score, admissible = null } = result;
        total += reward;
        watch.acted(turn, { action, admissible, reward, score });
        if (!played.end) return tell();
        const status = played.end === "over" ? "lost" : played.end;
        const text = shortened(played.observation.text);
        lines.say({ kind: "ended", episode: EPISODE, status, reward: total, score, text });
      } finally {
        isBusy = false;
      }
    },
    stop: played.close,
  };
}

function watched(parts: {
  readonly world: RunWorld;
  readonly play: PlayOptions;
  readonly player: ModelPlayer;
  readonly task: Task;
  readonly seed: number;
  readonly lines: LiveLines;
}): Playing {
  const { world, play, player, task, seed, lines } = parts;
  const leaving = new AbortController();
  const environment = boundedEnvironment(world.about.name, world.world.environment());
  const { policy, go } = waiting(player.policy);
  const { tokenizer } = policy.chat;
  const over = runEpisode({
    ...{ id: EPISODE, step: 0, group: EPISODE, member: 0, task },
    seed: deriveSeed(seed, task.id),
    ...{ environment, about: world.about, agent: player.agent, policy },
    // Whoever looks may think for as long as they like.
    limits: { ...play.limits, seconds: undefined, turns: world.turns },
    signal: leaving.signal,
    watch: liveWatch({ id: EPISODE, task, attempt: 0 }, tokenizer, true, lines.say),
  });
  return {
    go,
    async stop() {
      leaving.abort(new Error("another episode was begun"));
      await over;
      await environment.close?.();
    },
  };
}

/** The same policy, which replies only as often as it is told to. */
function waiting(policy: Policy): { policy: Policy; go(turns: number): void } {
  let allowed = 0;
  let wake = () => {};
  return {
    policy: {
      ...policy,
      async reply(request) {
        while (allowed <= 0 && !request.signal.aborted)
          await new Promise<void>((resolve) => {
            wake = resolve;
            request.signal.addEventListener("abort", () => resolve(), { once: true });
          });
        request.signal.throwIfAborted();
        allowed--;
        return policy.reply(request);
      },
    },
    go(turns) {
      allowed = turns;
      wake();
    },
  };
}
