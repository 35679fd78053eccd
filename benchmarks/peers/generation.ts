/**
 * @file Generation beside the peers: who draws how many tokens in a second, with the same prompts and lengths. Before
 * anything is timed, ours and transformers must go on with a text in the same way.
 */
import type { PeersOptions } from "./arguments.ts";
import { askOurs, askPython, type ChildOptions } from "./children.ts";
import { ggufFile } from "./models.ts";
import { VARIANTS } from "./ours/variants.ts";
import type { Measured } from "./report.ts";
import type { Setting } from "./setting.ts";
import {
  cutter,
  GENERATION_CASES,
  type GenerationCase,
  type GenerationWork,
  generationWork,
  newTokens,
} from "./workloads.ts";

export interface GenerationRequest {
  /** The model's folder, and the same as GGUF. */
  readonly folder: string;
  readonly gguf: string;
  /** Of our engine. */
  readonly variant: string;
  /** Continued without drawing, before anything is timed. */
  readonly greedy?: GenerationWork;
  readonly warmUp: GenerationWork;
  readonly works: readonly GenerationWork[];
}

export interface GenerationAnswer {
  /** By case. */
  readonly seconds: Readonly<Record<string, number>>;
  /** [sequences][tokens] */
  readonly greedy?: readonly (readonly number[])[] | undefined | null;
  readonly peakBytes: number;
  /** Its versions. */
  readonly about: string;
}

const GREEDY: GenerationCase = {
  about: "checked before",
  ...{ sequences: 4, samples: 1, turns: 1, observation: 96, reply: 24 },
};
const WARM_UP: GenerationCase = {
  about: "warm-up",
  ...{ sequences: 8, samples: 1, turns: 1, observation: 32, reply: 8 },
};

interface Engine {
  readonly name: string;
  run(request: GenerationRequest, child: ChildOptions): Promise<GenerationAnswer>;
}

const THEIRS: Readonly<Record<string, Engine["run"]>> = {
  vllm: (request, child) => askPython("vllm", "vllm_generates.py", request, child),
  "llama.cpp": (request, child) => askPython("torch", "llama_cpp_generates.py", request, child),
  transformers: (request, child) => askPython("torch", "transformers_generates.py", request, child),
};

function enginesOf(peers: PeersOptions["peers"]): Engine[] {
  const ours = VARIANTS.map(
    ({ name }): Engine => ({
      name,
      run: (request, child) => askOurs("generation.ts", { ...request, variant: name }, child),
    }),
  );
  const theirs = peers.flatMap((name) => {
    const run = THEIRS[name];
    return run ? [{ name, run }] : [];
  });
  return [...(peers.includes("ours") ? ours : []), ...theirs];
}

/** Throws where ours and transformers' continuations differ: then there is nothing to compare. */
async function requireAgreement(request: GenerationRequest, setting: Setting): Promise<void> {
  const short = { ...request, works: [] };
  const [ours, theirs] = ["ours", "transformers"] as const;
  const own = await askOurs<GenerationAnswer>("generation.ts", short, setting);
  const other = await setting.attempt(theirs, () => THEIRS[theirs]!(short, setting));
  if (!other) return;
  if (JSON.stringify(own.greedy) !== JSON.stringify(other.greedy))
    throw new Error(
      `${ours} and ${theirs} do not go on alike:\n${JSON.stringify(own.greedy)}\n${JSON.stringify(other.greedy)}`,
    );
  setting.say(`${ours} and ${theirs} go on alike: ${GREEDY.sequences} × ${GREEDY.reply} tokens`);
}

export async function measureGeneration(
  { peers, rounds }: PeersOptions,
  setting: Setting,
): Promise<Measured[]> {
  const cases = Object.entries(GENERATION_CASES).filter(([name]) => setting.isWanted(name));
  if (cases.length === 0) return [];
  const cut = cutter(setting.text);
  const base = {
    ...{ folder: setting.folder, gguf: ggufFile(setting.folder), variant: VARIANTS[0]!.name },
    greedy: generationWork("greedy", GREEDY, cut),
    warmUp: generationWork("warm-up", WARM_UP, cut),
  };
  await requireAgreement({ ...base, works: [] }, setting);
  const measured: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    const works = cases.map(([name, one]) => generationWork(name, one, cut));
    const { greedy: _, ...request } = { ...base, works };
    for (const { name: who, run } of enginesOf(peers)) {
      setting.say(`generation, round ${round + 1}: ${who} …`);
      const found = await setting.attempt(who, () => run(request, setting));
      if (!found) continue;
      for (const work of works) {
        const seconds = found.seconds[work.name]!;
        const { peakBytes, about } = found;
        measured.push({ who, what: work.name, round, seconds, peakBytes, about });
        setting.say(`  ${work.name}: ${(newTokens(work) / seconds).toFixed(1)} tokens/s`);
      }
    }
  }
  return measured;
}
