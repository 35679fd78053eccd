/**
 * @file How fast episodes are: 128 of them at once in the household, with a model of the preset small;
 * how much of the time is spent outside of the model; and how much longer a loop in lock-step takes.
 */
import {
  type Completion,
  createEngine,
  type GenerationRequest,
  type TextGenerator,
} from "../src/generation/index.ts";
import { type Collection, collect, modelPolicy } from "../src/rollout/index.ts";
import { threads } from "../src/torch/index.ts";
import type { Benchmark } from "./main.ts";
import { table } from "./measure.ts";
import { lockStepSeconds, secondsOf } from "./rollout-lockstep.ts";
import { EPISODES, openWorkload, REPLY_TOKENS, TURNS, type Workload } from "./rollout-workload.ts";

/** Keys and values of all episodes fit: 6 kB for each of a million tokens. */
const CACHE_BYTES = 8 * 2 ** 30;
const SAMPLING = { maximumTokens: REPLY_TOKENS, temperature: 1 };
const MEASURED_TURNS = [0, 12, 24, 36, 49];
/** The yardstick's cost is that of its tokens: a quarter of the episodes, four times. */
const YARDSTICK_SHARE = 4;

interface Figures {
  threads: number;
  episodes: number;
  turns: number;
  /** Tokens of an episode's context at its end, on average. */
  contextTokens: number;
  seconds: number;
  turnsPerSecond: number;
  /** Drawn tokens. */
  tokensPerSecond: number;
  /** Tokens that went through the model, prompts included. */
  computedPerSecond: number;
  /** Seconds of the same episodes when every reply is known already. */
  outsideSeconds: number;
  outsideShare: number;
  lockStepSeconds: number;
  ratio: number;
  /** The same three in seconds of the processor: on a machine that does other things, these count. */
  cpuSeconds: number;
  outsideCpuShare: number;
  cpuRatio: number;
}

export const rollout: Benchmark = {
  async run(): Promise<Figures> {
    const workload = await openWorkload();
    const engine = createEngine(workload.model, { cacheBytes: CACHE_BYTES });
    const recorder = recording(engine);
    console.error(`${EPISODES} episodes of up to ${TURNS} turns …`);
    const before = process.cpuUsage();
    const played = await play(workload, recorder.generator);
    const cpuSeconds = secondsOf(process.cpuUsage(before));
    const { computedTokens } = engine.statistics;
    await engine.close();

    console.error("the same episodes, with replies that are known …");
    const outside = await times(3, async () => {
      const begun = process.cpuUsage();
      const again = await play(workload, recorder.replay());
      if (again.account.sampledTokens !== played.account.sampledTokens)
        throw new Error("the replayed episodes are not those that were played");
      return { seconds: again.account.seconds, cpu: secondsOf(process.cpuUsage(begun)) };
    });
    const outsideSeconds = Math.min(...outside.map((run) => run.seconds));
    const outsideCpu = Math.min(...outside.map((run) => run.cpu));

    console.error("the loop in lock-step …");
    const quarter = [...recorder.prompts.values()].filter((_, i) => i % YARDSTICK_SHARE === 0);
    const lockStep = await lockStepSeconds({
      model: workload.model,
      prompts: quarter,
      turns: TURNS,
      measured: MEASURED_TURNS,
      sampling: { ...SAMPLING, stopTokens: [workload.chat.endOfTurnId] },
      cacheBytes: CACHE_BYTES / YARDSTICK_SHARE,
      onTurn: (turn, seconds) => console.error(`  turn ${turn}: ${seconds.toFixed(1)} s`),
    });
    workload.model.dispose();

    const { seconds, turns, sampledTokens } = played.account;
    const contexts = played.all.map((episode) =>
      episode.turns.reduce((sum, turn) => sum + turn.promptIds.length + turn.reply.ids.length, 0),
    );
    const lockStepAll = lockStep.seconds * YARDSTICK_SHARE;
    return {
      threads: threads(),
      episodes: played.all.length,
      turns,
      contextTokens: contexts.reduce((a, b) => a + b, 0) / contexts.length,
      seconds,
      turnsPerSecond: turns / seconds,
      tokensPerSecond: sampledTokens / seconds,
      computedPerSecond: computedTokens / seconds,
      outsideSeconds,
      outsideShare: outsideSeconds / seconds,
      lockStepSeconds: lockStepAll,
      ratio: lockStepAll / seconds,
      cpuSeconds,
      outsideCpuShare: outsideCpu / cpuSeconds,
      cpuRatio: (lockStep.cpuSeconds * YARDSTICK_SHARE) / cpuSeconds,
    };
  },
  report(found) {
    const f = found as Figures;
    const shown = (value: number, digits = 1) => value.toFixed(digits);
    return table([
      ["what", "figure", "bar", ""],
      [
        "episodes",
        `${f.episodes} (${f.turns} turns, ${shown(f.contextTokens, 0)} tokens each)`,
        "",
        "",
      ],
      [
        "time",
        `${shown(f.seconds)} s, ${shown(f.cpuSeconds)} s of the processor, ${f.threads} threads`,
        "",
        "",
      ],
      ["turns", `${shown(f.turnsPerSecond)} /s`, "", ""],
      ["drawn tokens", `${shown(f.tokensPerSecond)} /s`, "", ""],
      ["computed tokens", `${shown(f.computedPerSecond, 0)} /s`, "", ""],
      [
        "outside the model",
        `${shown(100 * f.outsideShare)} % (${shown(f.outsideSeconds)} s); ` +
          `${shown(100 * f.outsideCpuShare)} % of the processor's time`,
        "≤ 10 %",
        f.outsideShare > 0.1 ? "MISSED" : "",
      ],
      [
        "lock-step loop",
        `${shown(f.lockStepSeconds, 0)} s (from ${MEASURED_TURNS.length} of ${TURNS} turns)`,
        "",
        "",
      ],
      [
        "ratio to it",
        `${shown(f.ratio)} ×; ${shown(f.cpuRatio)} × in the processor's time`,
        "≥ 10 ×",
        f.ratio < 10 ? "MISSED" : "",
      ],
    ]);
  },
};

function play(workload: Workload, generator: TextGenerator): Promise<Collection> {
  const { world, about, agent, tasks, model, chat } = workload;
  const contextLength = model.config.maximumPositions;
  const policy = modelPolicy({ generator, chat, contextLength, sampling: SAMPLING });
  return collect({ ...{ world, about, agent, policy, tasks, seed: 1, limits: { turns: TURNS } } });
}

/** The engine, with what it was asked and what it answered, and a generator that knows the answers. */
function recording(engine: TextGenerator) {
  const prompts = new Map<string, (readonly number[])[]>();
  const answers = new Map<string, Completion[]>();
  const generator: TextGenerator = {
    ...engine,
    async generate(request: GenerationRequest) {
      const episode = request.conversation!;
      const prompt = [...request.prompt];
      const completion = await engine.generate(request);
      prompts.set(episode, [...(prompts.get(episode) ?? []), prompt]);
      answers.set(episode, [...(answers.get(episode) ?? []), completion]);
      return completion;
    },
  };
  const replay = (): TextGenerator => {
    const turns = new Map<string, number>();
    return {
      async generate({ conversation = "" }) {
        const turn = turns.get(conversation) ?? 0;
        turns.set(conversation, turn + 1);
        // As the engine does: the answers of one moment come together.
        await new Promise((resolve) => setImmediate(resolve));
        return answers.get(conversation)![turn]!;
      },
      release() {},
      close: async () => {},
    };
  };
  return { generator, prompts, replay };
}

async function times<Value>(count: number, run: () => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for (let i = 0; i < count; i++) values.push(await run());
  return values;
}
