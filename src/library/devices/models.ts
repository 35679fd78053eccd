/**
 * @file A device computes models: transformers' numbers of the goldens that come with the package, and operators as
 * the CPU computes them.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine } from "../../generation/index.ts";
import {
  loadModel,
  logits,
  type Model,
  openSafetensors,
  packSequences,
  separate,
  tokenOutputs,
} from "../../models/index.ts";
import {
  adamw,
  attention,
  attentionOperator,
  type Device,
  type Dtype,
  fromTypedArray,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../torch/index.ts";
import { apart, type Measured, NotHere } from "./finding.ts";

const GOLDENS = fileURLToPath(new URL("../../../tests/models/golden", import.meta.url));

interface Golden {
  readonly rows: readonly number[][];
  readonly logits: readonly number[][][];
  readonly logprobs: readonly number[];
  readonly greedy: readonly number[][];
  readonly adamw: { lr: number; betas: [number, number]; eps: number; weight_decay: number };
}

export function goldenFamilies(): string[] {
  return existsSync(GOLDENS) ? readdirSync(GOLDENS) : [];
}

function open(family: string, device: Device): { model: Model; golden: Golden; folder: string } {
  const folder = join(GOLDENS, family);
  const golden = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as Golden;
  return { model: loadModel(folder, { dtype: "float32", device }), golden, folder };
}

/** Logits, log-probabilities, gradients and a step of AdamW, as transformers computed them. */
export function checkGolden(family: string, device: Device): Measured[] {
  const { model, golden, folder } = open(family, device);
  const { lr, betas, eps, weight_decay } = golden.adamw;
  const settings = {
    lr,
    beta1: betas[0],
    beta2: betas[1],
    epsilon: eps,
    weightDecay: weight_decay,
  };
  const optimizer = adamw(model.trainable, settings);
  /** The largest difference over a file's tensors; `relative`: to each one's largest number. */
  const worst = (file: string, own: ReadonlyMap<string, Tensor>, relative: boolean): number => {
    const opened = openSafetensors(join(folder, `${file}.safetensors`));
    try {
      return Math.max(
        ...[...opened.tensors.keys()].map((name) =>
          tidy(() => {
            const theirs = opened.load(name).toNumbers();
            const scale = relative ? Math.max(...theirs.map(Math.abs)) : 1;
            return apart(own.get(name)!.toNumbers(), theirs) / scale;
          }),
        ),
      );
    } finally {
      opened.close();
    }
  };
  try {
    return tidy(() => {
      const packed = packSequences(golden.rows, { device });
      const found = noGrad(() => logits(model, packed));
      const ids = (list: number[]) => tensor(list, { dtype: "int64", device });
      const before = golden.rows.flatMap((row, i) =>
        row.slice(1).map((_, at) => packed.places[i]![at]!),
      );
      const targets = golden.rows.flatMap((row) => row.slice(1));
      const { logprobs } = tokenOutputs(model, packed, ids(before), ids(targets));
      logprobs.mean().neg().backward();
      const gradients = separate(
        model.config,
        new Map([...model.parameters].map(([name, { grad }]) => [name, grad!])),
      );
      const gradient = worst("gradients", gradients, true);
      optimizer.step();
      return [
        { what: "logits", found: apart(found.toNumbers(), golden.logits.flat(2)), most: 1e-4 },
        { what: "log p", found: apart(logprobs.toNumbers(), golden.logprobs), most: 1e-4 },
        { what: "gradients", found: gradient, most: 1e-4 },
        { what: "AdamW", found: worst("stepped", model.weights(), false), most: 1e-4 },
      ];
    });
  } finally {
    optimizer.dispose();
    model.dispose();
  }
}

/** Greedy continuations are transformers'; drawn ones the CPU's. */
export async function checkGeneration(family: string, device: Device): Promise<Measured[]> {
  const answers = async (where: Device, temperature: number) => {
    const { model, golden } = open(family, where);
    const engine = createEngine(model, { cacheBytes: 2 ** 20 });
    try {
      const maximumTokens = golden.greedy[0]!.length;
      const sampling = { temperature, maximumTokens, stopTokens: [] };
      const all = await Promise.all(
        golden.rows.map((prompt, i) => engine.generate({ prompt, seed: i, sampling })),
      );
      return { golden, ids: all.flatMap(({ ids }) => [...ids]), all };
    } finally {
      await engine.close();
      model.dispose();
    }
  };
  const unequal = (one: readonly number[], other: readonly number[]) =>
    one.filter((id, i) => id !== other[i]).length + Math.abs(one.length - other.length);
  const { golden, ids } = await answers(device, 0);
  const [here, there] = [await answers("cpu", 1), await answers(device, 1)];
  const logprobs = ({ all }: typeof here) => all.flatMap(({ logprobs: own }) => [...own]);
  return [
    { what: "greedy tokens that differ", found: unequal(ids, golden.greedy.flat()), most: 0 },
    { what: "drawn tokens that differ", found: unequal(there.ids, here.ids), most: 0 },
    { what: "log p", found: apart(logprobs(there), logprobs(here)), most: 1e-4 },
  ];
}

const TOLERANCE: Partial<Record<Dtype, number>> = { float32: 1e-4, bfloat16: 0.05, float16: 0.01 };

/** Attention over packed sequences in a dtype, and which operator computes it there. */
export function checkAttention(dtype: Dtype, device: Device): string {
  return tidy(() => {
    const waves = (heads: number, step: number) =>
      Float32Array.from({ length: 70 * heads * 64 }, (_, i) => Math.sin(i * step));
    const bounds = tensor([0, 40, 41, 70], { dtype: "int64" });
    const make = (where: Device, as: Dtype) =>
      [
        fromTypedArray(waves(4, 0.71), [70, 4, 64], { device: where, dtype: as }),
        fromTypedArray(waves(2, 0.53), [70, 2, 64], { device: where, dtype: as }),
        fromTypedArray(waves(2, 0.29), [70, 2, 64], { device: where, dtype: as }),
      ] as const;
    const there = make(device, dtype);
    const found = attention(...there, bounds);
    const exact = attention(...make("cpu", "float32"), bounds);
    const difference = apart(found.toNumbers(), exact.toNumbers());
    if (!(difference <= TOLERANCE[dtype]!))
      throw new Error(`attention in ${dtype} is ${difference} from the CPU's in float32`);
    const operator = device === "cpu" ? "our kernel" : attentionOperator(there[0], there[1]);
    return `${operator}, ${difference.toExponential(1)} from float32 on the CPU`;
  });
}

export function requireGoldens(): void {
  if (goldenFamilies().length === 0)
    throw new NotHere(`the goldens are not in ${GOLDENS}; run this in a checkout`);
}
