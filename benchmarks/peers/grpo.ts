/**
 * @file A whole GRPO iteration beside TRL's GRPOTrainer: the same model, prompts, lengths and reward, all weights,
 * float32, one update. Everybody plays and learns in a process of their own, by the way that a user would take.
 */
import { type Chat, loadChat } from "../../src/models/index.ts";
import type { PeersOptions } from "./arguments.ts";
import { askOurs, askPython } from "./children.ts";
import { endlessFolder } from "./models.ts";
import type { Measured } from "./report.ts";
import type { Setting } from "./setting.ts";
import { GRPO_CASES, type GrpoCase, textOfLength } from "./workloads.ts";

/** What an agent is told, turn by turn: as text for ours, as text and ids for TRL, which makes no turns of its own. */
export interface GrpoTask {
  readonly texts: readonly string[];
  /** The whole first prompt, as the chat writes it. */
  readonly prompt: string;
  /** [turns][tokens]: that prompt, and what the chat puts between a reply and the next one. */
  readonly ids: readonly (readonly number[])[];
}

export interface GrpoRequest {
  readonly folder: string;
  readonly grpo: GrpoCase;
  readonly tasks: readonly GrpoTask[];
  /** Iterations that are timed, after one that is not. */
  readonly iterations: number;
  /** What else the peer is told. */
  readonly settings: Readonly<Record<string, number | boolean>>;
}

export interface GrpoAnswer {
  /** Of an iteration: the median. */
  readonly seconds: number;
  /** Means of the iterations that were timed. */
  readonly parts: Readonly<Record<string, number>>;
  readonly peakBytes: number;
  readonly about: string;
}

/** Who is measured, and how it is told to be at its best. */
const CONTENDERS = [
  { name: "ours", peer: "ours", settings: {} },
  { name: "trl", peer: "trl", settings: { batch: 8, checkpointing: false } },
] as const;

export async function measureGrpo(
  { peers, rounds, iterations }: PeersOptions,
  setting: Setting,
): Promise<Measured[]> {
  const folder = endlessFolder(setting.folder);
  const chat = loadChat(folder);
  const words = wordsOf(chat, setting.text);
  const measured: Measured[] = [];
  const cases = Object.entries(GRPO_CASES)
    .filter(([what]) => setting.isWanted(what))
    .map(([what, grpo]) => ({
      ...{ what, grpo },
      tasks: tasksOf(chat, words, grpo, grpo.tasks * (1 + iterations)),
    }));
  for (let round = 0; round < rounds; round++)
    for (const { what, grpo, tasks } of cases) {
      for (const { name: who, peer, settings } of CONTENDERS) {
        if (!peers.includes(peer)) continue;
        setting.say(`GRPO, round ${round + 1}, ${what}: ${who} …`);
        const request: GrpoRequest = { folder, grpo, tasks, iterations, settings };
        const found = await setting.attempt(who, () =>
          peer === "ours"
            ? askOurs<GrpoAnswer>("grpo.ts", request, setting)
            : askPython<GrpoAnswer>("torch", "trl_trains.py", request, setting),
        );
        if (!found) continue;
        measured.push({ who, what, round, ...found });
        const { seconds, peakBytes, parts } = found;
        setting.say(
          `  ${seconds.toFixed(1)} s, ${(peakBytes / 1e9).toFixed(2)} GB ${JSON.stringify(parts)}`,
        );
      }
    }
  return measured;
}

/** Plain words of the text. */
export function wordsOf(chat: Chat, text: readonly number[]): string[] {
  const words = chat.tokenizer.decode(text.slice(0, 20_000)).match(/\b[a-z]{2,12}\b/g) ?? [];
  return [...words];
}

/** Tasks whose prompts and later messages have exactly so many tokens. */
export function tasksOf(
  chat: Chat,
  words: readonly string[],
  { prompt, turns, observation }: GrpoCase,
  count: number,
): GrpoTask[] {
  const user = (content: string) => [{ role: "user" as const, content }];
  const later = (text: string) => chat.continuation(user("x"), user(text)).afterCutReply;
  return Array.from({ length: count }, (_, task) => {
    const texts = Array.from({ length: turns }, (_, turn) => {
      // Other words for every task and turn.
      const begin = (task * 97 + turn * 389) % words.length;
      const own = [...words.slice(begin), ...words.slice(0, begin)];
      return turn === 0
        ? textOfLength(prompt, own, (text) => chat.promptIds(user(text)).length)
        : textOfLength(observation, own, (text) => later(text).length);
    });
    const [first = "", ...rest] = texts;
    return {
      texts,
      prompt: chat.render(user(first)),
      ids: [chat.promptIds(user(first)), ...rest.map((text) => [...later(text)])],
    };
  });
}
