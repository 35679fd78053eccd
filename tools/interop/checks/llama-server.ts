/**
 * @file llama.cpp's server as a player: with the same weights it plays the same episodes as our engine, token for
 * token, ids in and ids out, and says the same of their probability.
 */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  evaluate,
  folderPlayer,
  GREEDY,
  openRunWorld,
  type Player,
  serverPlayer,
} from "../../../src/assembly/index.ts";
import { runOptions } from "../../../src/config/index.ts";
import { exportGguf } from "../../../src/models/index.ts";
import type { Trajectory } from "../../../src/rollout/index.ts";
import { taskOrder } from "../../../src/training/index.ts";
import { mazeConfig, warmWalker } from "../../../tests/training/support/maze.ts";
import type { InteropCheck } from "../check.ts";
import type { PeerProcess } from "../peers.ts";

const EPISODES = 16;
const PATIENCE = 60_000;

const check: InteropCheck = {
  name: "llama-server",
  async run(peers, folder) {
    const warm = await warmWalker(folder);
    const file = join(folder, "policy.gguf");
    exportGguf(warm, file, { type: "f32" });
    const server = peers.serve("llama_serves.py", file);
    try {
      const baseUrl = `${await addressOf(server)}/v1`;
      const config = mazeConfig(warm, join(folder, "unused"));
      const { play: given, world: where } = await runOptions(config);
      const play = { ...given, evaluation: GREEDY };
      const world = await openRunWorld(where);
      const tasks = taskOrder(await world.world.tasks(world.trainSplit), 3, true).next(EPISODES);
      const played = async (player: Player): Promise<readonly Trajectory[]> => {
        try {
          return (await evaluate({ play, world, player, tasks })).all;
        } finally {
          await player.close();
        }
      };
      const ours = await played(folderPlayer(warm, play));
      const theirs = await played(
        serverPlayer({ baseUrl, model: "policy", tokenizer: warm }, play),
      );
      return [compared(ours, theirs)];
    } finally {
      await server.stop();
    }
  },
};

function compared(ours: readonly Trajectory[], theirs: readonly Trajectory[]) {
  const of = (all: readonly Trajectory[]) => all.flatMap(({ turns }) => turns);
  const [a, b] = [of(ours), of(theirs)];
  const what = `${EPISODES} episodes, token by token`;
  const first = a.findIndex(
    ({ reply, promptIds }, i) =>
      String(reply.ids) !== String(b[i]?.reply.ids) ||
      String(promptIds) !== String(b[i]?.promptIds),
  );
  if (first >= 0 || a.length !== b.length)
    return {
      ...{ what, detail: "" },
      problem: `turn ${first + 1}: ${a[first]?.reply.ids} by us, ${b[first]?.reply.ids} by it (${theirs.find(({ error }) => error)?.error})`,
    };
  const largest = Math.max(
    ...a.flatMap(({ reply }, i) =>
      reply.logprobs.map((logprob, k) => Math.abs(logprob - b[i]!.reply.logprobs[k]!)),
    ),
  );
  return {
    what,
    detail: `the same ${a.length} replies, |Δ log p| at most ${largest.toExponential(1)}`,
    problem: largest < 1e-3 ? undefined : "expected less than 1e-3",
  };
}

async function addressOf(server: PeerProcess): Promise<string> {
  for (const until = Date.now() + PATIENCE; ; await wait(100)) {
    const found = /serving at (http:\S+)/.exec(server.output())?.[1];
    if (found) return found;
    if (server.hasEnded() || Date.now() > until)
      throw new Error(`llama.cpp's server did not start:\n${server.output().slice(-2000)}`);
  }
}

export default check;
