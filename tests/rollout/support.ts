/**
 * @file What the tests of rollouts share: a tiny model folder (made once per file, in a temporary
 * folder), a generator that remembers what it answered, and a small world.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import {
  defineEnvironment,
  openWorld,
  type Task,
  type World,
  type WorldDefinition,
} from "../../src/environments/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../../src/generation/index.ts";
import {
  Chat,
  initModelFolder,
  loadChatTemplate,
  loadModel,
  loadTokenizer,
  type Model,
  presetConfig,
} from "../../src/models/index.ts";
import {
  type CollectOptions,
  type Policy,
  scriptedPolicy,
  type Trajectory,
  type Turn,
} from "../../src/rollout/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";

/** A folder of this test file, gone after it. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-rollout-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const TEXT = [
  "You are in the middle of a room. Looking quickly around you, you see a desk 1, and a lamp 1.",
  "go to desk 1 take lamp 1 from desk 1 open fridge 1 put lamp 1 in drawer 2 Thought: Action:",
  '<think> </think> <action> </action> <tool_call>{"name": "act", "arguments": {"action": "go"}}',
];

/** A new model folder: the tiny preset, with weights from a seed and a tokenizer of a few texts. */
export function newModelFolder(parent: string, name = "tiny"): string {
  const folder = join(parent, name);
  const config = {
    ...presetConfig("tiny", { family: "qwen3" }),
    maximumPositions: 4096,
    initializerRange: 0.02,
  };
  initModelFolder(folder, { config, texts: TEXT, vocabularySize: 400, seed: 1 });
  return folder;
}

export interface TinyModel {
  readonly folder: string;
  readonly model: Model;
  readonly chat: Chat;
}

/** The folder's model, sharpened so that some tokens are much likelier than others. */
export function openTinyModel(folder: string, sharpness = 4): TinyModel {
  const model = loadModel(folder);
  noGrad(() => {
    for (const parameter of model.parameters.values())
      if (parameter.ndim > 1) tidy(() => parameter.mul_(sharpness));
  });
  return { folder, model, chat: openChat(folder) };
}

export function openChat(folder: string): Chat {
  return new Chat({ tokenizer: loadTokenizer(folder), template: loadChatTemplate(folder) });
}

/** What a generator was asked and what it answered. */
export interface Answered {
  readonly conversation: string | undefined;
  readonly prompt: readonly number[];
  readonly completion: Completion;
}

/** The generator, and everything it answered, as it was before anybody else touched it. */
export function recorded(generator: TextGenerator): {
  generator: TextGenerator;
  answers: Answered[];
} {
  const answers: Answered[] = [];
  return {
    answers,
    generator: {
      async generate(request: GenerationRequest) {
        const prompt = [...request.prompt];
        const completion = await generator.generate(request);
        const copy = structuredClone(completion);
        answers.push({ conversation: request.conversation, prompt, completion: copy });
        return completion;
      },
      release: (conversation) => generator.release(conversation),
      close: () => generator.close(),
    },
  };
}

/** Count up to the task's number; "drop" loses. */
export const counting: WorldDefinition = defineEnvironment({
  name: "counting",
  summary: "count aloud from 1",
  maximumSteps: 10,
  splits: { train: 50 },
  start: (task) => ({ goal: 2 + (Number(task.id.split("/")[1]) % 4), said: 0 }),
  intro: ({ goal }) => ({ text: `Nothing is said.`, instruction: `count to ${goal}` }),
  actions: ({ said }) => [`say ${said + 1}`, `say ${said + 2}`, "drop"],
  act({ goal, said }, action) {
    if (action === "drop") return { text: "You drop it.", lost: true };
    if (action !== `say ${said + 1}`) return { text: "That is not next." };
    const won = said + 1 === goal;
    return { text: `You said ${said + 1}.`, state: { goal, said: said + 1 }, won };
  },
  solution: ({ goal }) => Array.from({ length: goal }, (_, i) => `say ${i + 1}`),
  expert: () => ({ act: ({ admissible }) => admissible![0]! }),
});

export async function tasksOf(world: World, count: number, split?: string): Promise<Task[]> {
  const set = await world.tasks(split ?? world.splits[0]!);
  return Array.from({ length: count }, (_, i) => set.task(i % set.length));
}

/** Experts in the counting world, in the format "action": a collection that goes well. */
export async function countingRollout(chat: Chat, count = 4): Promise<CollectOptions> {
  const world = await openWorld(counting);
  const agent = createAgent();
  return {
    world,
    about: counting,
    agent,
    policy: expertPolicy(world, chat),
    limits: { turns: 10 },
    tasks: await tasksOf(world, count),
    seed: 1,
  };
}

export function expertPolicy(world: World, chat: Chat, format = createAgent().format): Policy {
  return scriptedPolicy({ chat, format, expert: () => world.expert!(1) });
}

/** As if the policy had drawn what the expert said. */
export function asSampled(trajectory: Trajectory): Trajectory {
  const turns = trajectory.turns.map((turn, i): Turn => {
    const logprobs = turn.reply.ids.map((id, j) => -((id % 7) + i + j + 1) / 10);
    return {
      ...turn,
      reply: { ...turn.reply, logprobs, sampledLogprobs: logprobs, source: "policy" },
    };
  });
  return { ...trajectory, turns };
}
