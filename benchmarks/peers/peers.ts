/**
 * @file `npm run bench -- peers`: a real model (SmolLM2-135M-Instruct, float32) beside vLLM, llama.cpp, transformers
 * and TRL, all on this machine in one run: generation, a training step, a whole GRPO iteration. The peers run in
 * virtual environments outside the repository; one that cannot be had is a line of the report.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadTokenizer } from "../../src/models/index.ts";
import type { Benchmark } from "../main.ts";
import { PEERS_USAGE, peersOptions } from "./arguments.ts";
import { measureGeneration } from "./generation.ts";
import { measureGrpo } from "./grpo.ts";
import { describeMachine, type Machine, thisMachine } from "./machine.ts";
import { modelFolder } from "./models.ts";
import { type Measured, namesIn, sectionReport } from "./report.ts";
import { attempting, type Missing, type Setting } from "./setting.ts";
import { measureTraining } from "./training.ts";
import {
  GENERATION_CASES,
  type GenerationCase,
  GRPO_CASES,
  TRAINING_CASES,
  TRAINING_LENGTH,
  TRAINING_SEQUENCES,
} from "./workloads.ts";

const SECTIONS = {
  generation: measureGeneration,
  training: measureTraining,
  grpo: measureGrpo,
} as const;

interface Figures {
  readonly machine: Machine;
  readonly threads: number;
  readonly rounds: number;
  readonly generation: readonly Measured[];
  readonly training: readonly Measured[];
  readonly grpo: readonly Measured[];
  readonly missing: readonly Missing[];
}

const say = (text: string) => console.error(text);

export const peers: Benchmark = {
  usage: PEERS_USAGE,
  async run(words): Promise<Figures> {
    const options = peersOptions(words);
    const machine = thisMachine();
    say(describeMachine(machine));
    const folder = await modelFolder(say);
    const missing: Missing[] = [];
    const measured: Record<keyof typeof SECTIONS, Measured[]> = {
      ...{ generation: [], training: [], grpo: [] },
    };
    const text = longText(folder);
    for (const section of options.sections) {
      const setting: Setting = {
        ...{ folder, text, say, threads: options.threads },
        isWanted: (name) => options.cases?.includes(name) ?? true,
        attempt: attempting(section, missing, say),
      };
      measured[section] = await SECTIONS[section](options, setting);
    }
    const { threads, rounds } = options;
    return { machine, threads, rounds, ...measured, missing };
  },
  report(figures) {
    const { machine, threads, rounds, generation, training, grpo, missing } = figures as Figures;
    const tokens = TRAINING_SEQUENCES * TRAINING_LENGTH;
    const perSecond = (count: number, seconds: number) => (count / seconds).toFixed(1);
    const drawn = ({ sequences, samples, turns, reply }: GenerationCase) =>
      sequences * samples * turns * reply;
    const parts = [
      `SmolLM2-135M-Instruct, float32, ${threads} threads each, medians of ${rounds} rounds`,
      describeMachine(machine),
      sectionReport(generation, {
        title: "generation, tokens/s",
        cases: casesOf(GENERATION_CASES),
        shown: (seconds, what) =>
          perSecond(drawn(GENERATION_CASES[what as keyof typeof GENERATION_CASES]), seconds),
        goal: 1.3,
      }),
      sectionReport(training, {
        title: `training step of ${tokens} tokens, tokens/s`,
        cases: casesOf(TRAINING_CASES),
        shown: (seconds) => perSecond(tokens, seconds),
        goal: 1.4,
      }),
      sectionReport(grpo, {
        title: "GRPO iteration, s",
        cases: casesOf(GRPO_CASES),
        shown: (seconds) => seconds.toFixed(1),
        goal: 4,
      }),
      missing.map(({ who, why }) => `not measured: ${who} (${why.split("\n").at(-1)})`).join("\n"),
      versionsOf([...generation, ...training, ...grpo]),
    ];
    return parts.filter((part) => part !== "").join("\n\n");
  },
};

function casesOf(all: Readonly<Record<string, { readonly about: string }>>) {
  return Object.entries(all).map(([name, { about }]) => ({ name, about }));
}

function versionsOf(all: readonly Measured[]): string {
  return namesIn(all)
    .flatMap((who) => {
      const about = new Set(all.filter((one) => one.who === who).map((one) => one.about));
      return [...about].filter((text) => text !== "").map((text) => `${who}: ${text}`);
    })
    .join("\n");
}

/** Our own documents: English, long, and on every machine. */
function longText(folder: string): number[] {
  const docs = fileURLToPath(new URL("../../docs/", import.meta.url));
  const files = readdirSync(docs).filter((name) => name.endsWith(".md"));
  const text = files.sort().map((name) => readFileSync(docs + name, "utf8"));
  return [...loadTokenizer(folder).encodePlain(text.join("\n\n"))];
}
