/**
 * @file Processes of our own engine that only play, as the servers of a run: how they are started, and what they share of
 * the machine.
 */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { OwnPlayer, VllmOptions } from "../../generation/index.ts";
import { availableThreads } from "../../setup/index.ts";
import { PLAYER_KEY, type PlayerSettings } from "./player.ts";

const START = fileURLToPath(new URL("../../../bin/player.mjs", import.meta.url));

export interface PlayersOptions extends Pick<PlayerSettings, "dtype" | "engine"> {
  /** How many play for this training process. */
  readonly players: number;
  /** Whether somebody learns while they play. */
  readonly ahead: boolean;
  /** Of each; undefined: a share of those that this process has. */
  readonly threads: number | undefined;
  readonly startSeconds: number;
  readonly answerSeconds: number;
}

/** Requests that a player is asked at once. */
const AT_ONCE = 256;

export function playersOptions(options: PlayersOptions): Omit<VllmOptions, "contextLength"> {
  const { players, ahead, dtype, engine, startSeconds, answerSeconds } = options;
  const ours = Number(process.env.OMP_NUM_THREADS) || availableThreads();
  const threads = options.threads ?? Math.max(1, Math.floor(ours / (players + (ahead ? 1 : 0))));
  // Nobody else on this machine is to ask them.
  const apiKey = randomBytes(24).toString("base64url");
  const own: OwnPlayer = (folder, port) => ({
    command: process.execPath,
    words: [
      START,
      JSON.stringify({ folder, port, threads, dtype, engine } satisfies PlayerSettings),
    ],
    variables: { [PLAYER_KEY]: apiKey },
  });
  return {
    ...{ own, apiKey, dtype, threads, startSeconds, answerSeconds },
    ...{ executable: undefined, urls: [], replicas: players, tensorParallel: 1 },
    ...{ maximumSequences: AT_ONCE, memoryShare: 0, cacheBytes: engine.cacheBytes ?? 2 ** 30 },
    ...{ tokensPerStep: engine.tokensPerStep ?? 2048, cutsPrompts: true, eager: true },
    ...{ weights: "files", words: [] },
  };
}
