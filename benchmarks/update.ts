/**
 * @file What an update saves: a group's prompt computed once, and groups without a signal not at all. The
 * forward and backward passes of an update, as training makes them, with the sizes of SmolLM2-135M.
 */
import { type ModelConfig, newModel, presetConfig, tokenOutputs } from "../src/models/index.ts";
import * as torch from "../src/torch/index.ts";
import { packRows, passesOf, type TokenRows } from "../src/training/workers/tokens.ts";
import type { Benchmark } from "./main.ts";
import { sideBySide, table } from "./measure.ts";
import { randomIds } from "./models-ours.ts";

/** The sizes of SmolLM2-135M. */
export const SMOLLM2: ModelConfig = {
  ...presetConfig("small", { family: "llama" }),
  ...{ vocabularySize: 49_152, hiddenSize: 576, layers: 30, heads: 9, keyValueHeads: 3 },
  ...{ headDimension: 64, intermediateSize: 1536, maximumPositions: 8192 },
  slidingWindows: new Array<null>(30).fill(null),
};
const GROUP = 8;
const REPLY = 64;
const ROUNDS = 3;
const TOKENS_PER_PASS = 4608;

interface Figures {
  readonly rows: {
    readonly name: string;
    /** Seconds. */
    readonly plain: number;
    readonly shared: number;
  }[];
}

/** Groups with a prompt of their own, and random replies. */
function batchOf(groups: number, prompt: number): TokenRows {
  const { vocabularySize } = SMOLLM2;
  const prompts = randomIds(groups, prompt, vocabularySize, 1);
  const replies = randomIds(groups * GROUP, REPLY, vocabularySize, 2);
  const length = prompt + REPLY;
  const ids = replies.flatMap((reply, row) => [...prompts[Math.floor(row / GROUP)]!, ...reply]);
  return {
    ids: Int32Array.from(ids),
    rows: {
      offsets: Int32Array.from({ length: groups * GROUP + 1 }, (_, row) => row * length),
      mask: Uint8Array.from(ids, (_, at) => (at % length < prompt ? 0 : 1)),
    },
  };
}

export const update: Benchmark = {
  run(): Figures {
    const model = newModel(SMOLLM2, new torch.Generator(1));
    const pass = (batch: TokenRows, sharePrefixes: boolean) => () => {
      const size = { tokensPerPass: TOKENS_PER_PASS, sharePrefixes };
      const all = Array.from({ length: batch.rows.offsets.length - 1 }, (_, row) => row);
      for (const members of passesOf(batch, all, model, size))
        torch.tidy(() => {
          const { packed, before, targets } = packRows(batch, members, model, size);
          const how = { layersPerSegment: 1, entropy: false };
          torch.backward(tokenOutputs(model, packed, before, targets, how).logprobs.mean());
        });
      torch.clearGradients(model.trainable);
    };
    const rows = [128, 512].map((prompt) => {
      const batch = batchOf(1, prompt);
      console.error(`prompt ${prompt} …`);
      const times = sideBySide({ plain: pass(batch, false), shared: pass(batch, true) }, ROUNDS);
      return { name: `${GROUP} replies of ${REPLY}, prompt ${prompt}`, ...times };
    });
    model.dispose();
    return { rows };
  },
  report(figures) {
    const { rows } = figures as Figures;
    const lines = rows.map(({ name, plain, shared }) => [
      name,
      `${plain.toFixed(2)} s`,
      `${shared.toFixed(2)} s`,
      `${(plain / shared).toFixed(2)} ×`,
    ]);
    return table([["update of a group (135M)", "each row", "prefix once", "faster"], ...lines]);
  },
};
