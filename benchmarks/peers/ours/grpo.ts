/**
 * @file Our side of the peers' GRPO iteration: `train` of the library, with the options that everybody has.
 */
import { join } from "node:path";
import { BARE_PROMPTS } from "../../../src/agents/index.ts";
import {
  defineEnvironment,
  type Metrics,
  rewardFunction,
  type Trajectory,
  train,
} from "../../../src/library/index.ts";
import { median, statusBytes } from "../../measure.ts";
import type { GrpoAnswer, GrpoRequest } from "../grpo.ts";
import { answer, type Request } from "./answering.ts";

/** The share of the letter e: some number that every reply has, and hardly two the same. trl_trains.py has it, too. */
const letters = rewardFunction("letters", 1, ({ trajectory }) => {
  const text = trajectory.turns.map(({ reply }) => reply.text).join("");
  return text.split("e").length / Math.max(1, text.length);
});

/** Says what the tasks have, turn by turn, whatever the agent does. */
function worldOf({ tasks, grpo: { turns } }: GrpoRequest) {
  return defineEnvironment({
    name: "peers",
    summary: "says what it says",
    maximumSteps: turns,
    splits: { train: tasks.map((_, i) => ({ id: String(i), data: i })) },
    start: ({ data }) => ({ texts: tasks[Number(data)]!.texts, turn: 0 }),
    intro: ({ texts }) => texts[0]!,
    act({ texts, turn }) {
      const next = turn + 1;
      return { text: texts[next] ?? "", state: { texts, turn: next }, done: next === turns };
    },
  });
}

/** Throws where an episode is not the one that all others play. */
function requireSame({ tasks, grpo }: GrpoRequest, { task, turns }: Trajectory): void {
  const { ids } = tasks[Number(task.data)]!;
  const isSame =
    turns.length === grpo.turns &&
    turns.every(
      ({ promptIds, reply }, i) =>
        promptIds.length === ids[i]!.length &&
        reply.ids.length === grpo.reply &&
        // Later ones may be the words for an empty reply.
        (i > 0 || promptIds.join() === ids[i]!.join()),
    );
  if (!isSame)
    throw new Error(
      `episode ${task.id} is not what was asked for: ${turns.map(({ promptIds, reply }) => `${promptIds.length} + ${reply.ids.length}`).join(", ")}`,
    );
}

await answer<GrpoRequest & Request>(async (request): Promise<GrpoAnswer> => {
  const { folder, grpo, iterations, place, threads } = request;
  const all: Metrics[] = [];
  let peakBytes = 0;
  await train({
    world: worldOf(request),
    model: folder,
    algorithm: "grpo",
    rewards: [letters],
    agent: {
      // An empty reply is told something of the same length, as any other.
      prompts: { ...BARE_PROMPTS, unreadable: () => request.tasks[0]!.texts.at(-1)! },
      ...{ format: "action", replyTokens: grpo.reply },
    },
    ...{ tasks: grpo.tasks, groupSize: grpo.group, turns: grpo.turns },
    ...{ iterations: 1 + iterations, learningRate: 1e-6 },
    validation: { every: 0 },
    folder: join(place, "run"),
    progress: false,
    settings: {
      data: { shuffle: false },
      trainer: { save_freq: -1, threads },
    },
    onEpisode: (trajectory) => requireSame(request, trajectory),
    onIteration: (_, metrics) => {
      all.push(metrics);
      peakBytes = statusBytes("VmHWM");
    },
  });
  const timed = all.slice(1);
  const mean = (name: string) =>
    timed.reduce((sum, metrics) => sum + (metrics[`timing_s/${name}`] ?? 0), 0) / timed.length;
  return {
    seconds: median(timed.map((metrics) => metrics["timing_s/step"]!)),
    parts: { generation: mean("gen"), update: mean("update_actor") },
    peakBytes,
    about: "",
  };
});
