/**
 * @file The work of the rollout benchmark: a small model with a tokenizer of the household's words, and
 * the household, in which some episodes end early by a seeded rule (a random model never wins).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, createAgent } from "../src/agents/index.ts";
import {
  type Environment,
  findWorld,
  openWorld,
  seededRandom,
  type Task,
  type World,
} from "../src/environments/index.ts";
import {
  byteChat,
  type Chat,
  initModelFolder,
  loadChat,
  loadModel,
  type Model,
  presetConfig,
} from "../src/models/index.ts";
import { collect, scriptedPolicy, type WorldFacts } from "../src/rollout/index.ts";

export const EPISODES = 128;
export const TURNS = 50;
export const REPLY_TOKENS = 12;

export interface Workload {
  readonly world: World;
  readonly about: WorldFacts;
  readonly agent: Agent;
  readonly tasks: readonly Task[];
  readonly model: Model;
  readonly chat: Chat;
}

export async function openWorkload(): Promise<Workload> {
  const definition = await findWorld("household");
  const household = await openWorld(definition);
  const split = await household.tasks("train");
  const tasks = Array.from({ length: EPISODES }, (_, i) => split.task(i));
  const agent = createAgent();
  const about = { name: "household", summary: definition.briefing ?? definition.summary };
  const texts = await householdTexts(household, about, agent, tasks.slice(0, 16));
  const folder = mkdtempSync(join(tmpdir(), "openmanus-bench-"));
  const place = join(folder, "small");
  const config = { ...presetConfig("small"), maximumPositions: 16_384 };
  initModelFolder(place, { config, texts, seed: 1 });
  const model = loadModel(place);
  const chat = loadChat(place);
  rmSync(folder, { recursive: true });
  return { world: endingEarly(household), about, agent, tasks, model, chat };
}

/** What the tokenizer learns from: prompts of experts' episodes. */
async function householdTexts(
  world: World,
  about: WorldFacts,
  agent: Agent,
  tasks: readonly Task[],
): Promise<string[]> {
  const expert = () => world.expert!(1);
  const policy = scriptedPolicy({ chat: byteChat(), format: agent.format, expert });
  const { all } = await collect({
    ...{ world, about, agent, policy, tasks, seed: 1, limits: { turns: TURNS } },
  });
  return all.flatMap(({ turns }) =>
    turns.flatMap(({ messages }) => messages.map(({ content }) => content)),
  );
}

/** Half of the episodes go on to the last turn, the others end somewhere before it. */
function endingEarly(world: World): World {
  return {
    ...world,
    environment(): Environment {
      const inner = world.environment();
      let left = 0;
      return {
        reset(task) {
          const random = seededRandom("benchmark ends", task.id);
          left = random.integer(2) === 0 ? TURNS : 5 + random.integer(TURNS - 5);
          return inner.reset(task);
        },
        async step(action) {
          const result = await inner.step(action);
          return --left > 0 ? result : { ...result, done: true };
        },
      };
    },
  };
}
