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
  keep,
  noGrad,
  ones,
  type Parameters,
  randn,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { Checkpoint } from "../safetensors/checkpoint.ts";
import { layoutOf, type Piece, separate } from "./layout.ts";

export interface Model {
  readonly config: ModelConfig;
  /** By the names of layout.ts, in a fixed order. */
  readonly parameters: Parameters;
  readonly device: Device;
  /** A tensor of one layer, or null where this family has none: layer(0, "self_attn.qkv_proj.bias"). */
  layer(index: number, name: string): Tensor | null;
  /** The matrix of the output layer [vocabulary, hiddenSize]. */
  readonly output: Tensor;
  /** Views with transformers' names, for saving and looking. */
  weights(): Map<string, Tensor>;
  dispose(): void;
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

/** A new model: normal weights, zero biases, ones for norms, as transformers initialises. */
export function newModel(config: ModelConfig, generator: Generator): Model {
  const tensors = new Map<string, Tensor>();
  for (const { name, shape } of layoutOf(config))
    tensors.set(
      name,
      keep(
        tidy(() => {
          if (name.endsWith("norm.weight")) return ones(shape);
          if (name.endsWith(".bias")) return zeros(shape);
          return randn(shape, generator).mul(config.initializerRange);
        }),
      ),
    );
  return modelOf(config, tensors, generator.device);
}

export interface LoadModelOptions {
  /** Dtype in memory; default: that of the file. */
  dtype?: Dtype;
  device?: Device;
}

/** Loads the weights of a checkpoint, each into its place; missing or misshapen ones are refused. */
export function modelFromCheckpoint(
  config: ModelConfig,
  checkpoint: Checkpoint,
  options: LoadModelOptions = {},
): Model {
  requireWeights(config, checkpoint);
  const tensors = new Map<string, Tensor>();
  for (const piece of layoutOf(config))
    tensors.set(piece.name, keep(tidy(() => loadPiece(piece, checkpoint, options))));
  return modelOf(config, tensors, options.device);
}

function requireWeights(config: ModelConfig, checkpoint: Checkpoint): void {
  for (const { parts } of layoutOf(config))
    for (const { name, shape } of parts) {
      if (!checkpoint.has(name))
        throw new ModelFileError(checkpoint.folder, `the weights lack ${name}, [${shape}]`);
      const found = checkpoint.info(name).shape;
      if (String(found) !== String(shape))
        throw new ModelFileError(
          checkpoint.folder,
          `${name} has shape [${found}]; config.json says [${shape}]`,
        );
    }
}

function loadPiece(piece: Piece, checkpoint: Checkpoint, options: LoadModelOptions): Tensor {
  const { device = "cpu" } = options;
  const dtype = options.dtype ?? checkpoint.info(piece.parts[0]!.name).dtype;
  const joined = empty(piece.shape, { dtype, device });
  let start = 0;
  noGrad(() => {
    for (const { name, shape } of piece.parts) {
      tidy(() => joined.narrow(0, start, shape[0]!).copy_(checkpoint.load(name)));
      start += shape[0]!;
    }
  });
  return joined;
}
