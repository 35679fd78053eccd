/**
 * @file A model: its configuration and its parameters, and ways to get one.
 */
import {
  asParameters,
  type Device,
  type Dtype,
  dispose,
  empty,
  type Generator,
  type Hold,
  keep,
  noGrad,
  ones,
  type Parameters,
  randn,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import { verifyCheckpoint } from "../checkpoint/verify.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { Checkpoint } from "../safetensors/checkpoint.ts";
import { layoutOf, type Piece, separate } from "./layout.ts";

/** A small addition to the matrix products of layers: LoRA (lora/lora.ts). */
export interface Adapter {
  /**
   * `product` [tokens, out] is x [tokens, in] through a layer's matrix ("self_attn.qkv_proj"). Gives
   * it with what the adapter adds. Dropout is drawn from the generator; without one nothing drops.
   */
  add(layer: number, matrix: string, x: Tensor, product: Tensor, dropout: Generator | null): Tensor;
  /** Whether it is part of the weights at the moment, so that there is nothing to add. */
  readonly merged?: boolean;
}

export interface Model {
  readonly config: ModelConfig;
  /** All weights by the names of layout.ts, in a fixed order. */
  readonly parameters: Parameters;
  /** What an optimiser trains: all parameters, or an adapter's alone. */
  readonly trainable: Parameters;
  /** What is added to the layers' matrix products; null for nothing. */
  adapter: Adapter | null;
  readonly device: Device;
  /** Where weights lie in shards over several processes: what fetches them. `parameters` has what is here. */
  readonly units?: WeightUnits | undefined;
  /**
   * Of a model on a device whose weights are on the host between their uses: brings them, and gives a function that
   * lets them go. `changes`: they are written meanwhile, and what they became is kept.
   */
  readonly fetch?: ((options?: { changes?: boolean }) => () => void) | undefined;
  /** A tensor of one layer, or null where this family has none: layer(0, "self_attn.qkv_proj.bias"). */
  layer(index: number, name: string): Tensor | null;
  /** The matrix of the output layer [vocabulary, hiddenSize]. */
  readonly output: Tensor;
  /** The weights that the model computes with, by transformers' names; views where possible. */
  weights(): Map<string, Tensor>;
  dispose(): void;
}

/** Weights that come and go, unit by unit (sharding/units.ts). All ranks go through the same passes. */
export interface WeightUnits {
  /** The dtype that weights have where they are computed with. */
  readonly dtype: Dtype;
  /**
   * Runs one pass: at most one forward and, if it records, its backward. Whatever the body leaves out is
   * made up for afterwards, so that the other ranks, which do it, find this one.
   */
  pass<Result>(records: boolean, body: () => Result): Result;
  /** Fetches a layer for its segment, and lets it go. */
  hold(layer: number): Hold;
  /** The most passes that any rank has. */
  most(passes: number): number;
}

/** The dtype of a model's weights. */
export function weightDtype({ parameters, units }: Pick<Model, "parameters" | "units">): Dtype {
  return units?.dtype ?? parameters.get("model.norm.weight")!.dtype;
}

/** A model over tensors that are already there; they become parameters that record gradients. */
export function modelOf(config: ModelConfig, tensors: Parameters, device: Device = "cpu"): Model {
  const parameters = asParameters(tensors);
  const layers = Array.from({ length: config.layers }, (_, index) => {
    const prefix = `model.layers.${index}.`;
    const own = [...parameters].filter(([name]) => name.startsWith(prefix));
    return new Map(own.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
  });
  return {
    config,
    parameters,
    trainable: parameters,
    adapter: null,
    device,
    layer: (index, name) => layers[index]!.get(name) ?? null,
    get output() {
      const name = config.tiedEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
      const output = parameters.get(name);
      if (!output) throw new Error(`this model has no output layer (${name})`);
      return output;
    },
    weights: () =>
      separate(config, new Map([...parameters].map(([name, tensor]) => [name, tensor.detach()]))),
    dispose: () => dispose(parameters),
  };
}

/** A new model: normal weights, zero biases, norms that multiply by one, as transformers initialises. */
export function newModel(config: ModelConfig, generator: Generator): Model {
  const tensors = new Map<string, Tensor>();
  for (const { name, shape } of layoutOf(config))
    tensors.set(
      name,
      keep(
        tidy(() => {
          if (name.endsWith("norm.weight")) return config.normsAddOne ? zeros(shape) : ones(shape);
          if (name.endsWith(".bias")) return zeros(shape);
          return randn(shape, generator).mul_(config.initializerRange);
        }),
      ),
    );
  return modelOf(config, tensors, generator.device);
}

export interface LoadModelOptions {
  /** Dtype in memory; default: that of the file. */
  dtype?: Dtype;
  device?: Device;
  /** Refuse weights that are infinite or not numbers. Default true. */
  checkFinite?: boolean;
}

/** Makes a tensor of a value model's head ("score.weight"). */
export type NewHead = (name: string, shape: readonly number[]) => Tensor;

/**
 * Loads the weights of a checkpoint, each into its place; missing, misshapen or unknown ones are
 * refused. With `newHead` the checkpoint may be a policy's: its own head is left out.
 */
export function modelFromCheckpoint(
  config: ModelConfig,
  checkpoint: Checkpoint,
  options: LoadModelOptions = {},
  newHead: NewHead | null = null,
): Model {
  verifyCheckpoint(checkpoint, config, { newHead: newHead !== null });
  const tensors = new Map<string, Tensor>();
  try {
    for (const piece of layoutOf(config))
      tensors.set(
        piece.name,
        keep(
          tidy(() =>
            newHead && piece.name.startsWith("score.")
              ? newHead(piece.name, piece.shape)
              : loadPiece(piece, checkpoint, options),
          ),
        ),
      );
  } catch (error) {
    dispose(tensors);
    throw error;
  }
  return modelOf(config, tensors, options.device);
}

/** Nothing is in memory twice but one part of a joined matrix: the large embedding has one part. */
function loadPiece(piece: Piece, checkpoint: Checkpoint, options: LoadModelOptions): Tensor {
  const { device = "cpu", checkFinite = true } = options;
  const dtype = options.dtype ?? checkpoint.info(piece.parts[0]!.name).dtype;
  const load = (name: string): Tensor => {
    const tensor = checkpoint.load(name, { dtype, copy: true });
    // A sum is five times faster than looking at every value, and finite only if they are.
    if (checkFinite && !tidy(() => Number.isFinite(tensor.sum().item())))
      tidy(() => checkpoint.load(name, { dtype, copy: true, checkFinite }));
    return tensor;
  };
  if (piece.parts.length === 1) return load(piece.parts[0]!.name).toDevice(device);
  const joined = empty(piece.shape, { dtype, device });
  let start = 0;
  noGrad(() => {
    for (const { name, shape } of piece.parts) {
      tidy(() => joined.narrow(0, start, shape[0]!).copy_(load(name)));
      start += shape[0]!;
    }
  });
  return joined;
}
