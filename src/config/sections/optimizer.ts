/**
 * @file The optimiser's settings, the same for actor and critic.
 */
import { z } from "zod";
import { inert, notNegative, positive, section, setting, share } from "../setting.ts";

export function optimizer(lr: number) {
  return section({
    lr: setting(notNegative.default(lr), "Learning rate."),
    lr_warmup_steps: setting(
      z.int().min(-1).default(-1),
      "Iterations over which it rises from 0; -1: lr_warmup_steps_ratio decides.",
    ),
    lr_warmup_steps_ratio: setting(share.default(0), "The same as a share of all iterations."),
    warmup_style: setting(
      z.enum(["constant", "linear", "cosine"]).nullable().default("constant"),
      "What it does afterwards.",
    ),
    lr_scheduler_type: setting(
      z.enum(["constant", "linear", "cosine"]).nullish(),
      "verl's newer name for warmup_style; wins over it.",
    ),
    min_lr_ratio: setting(share.nullable().default(0), "What is left of it at the end."),
    total_training_steps: inert(z.int().default(-1), "the trainer knows how many there are"),
    weight_decay: setting(notNegative.default(0.01), "Decoupled weight decay."),
    betas: setting(z.tuple([share, share]).default([0.9, 0.999]), "Decay of AdamW's two moments."),
    eps: setting(positive.default(1e-8), "AdamW's ε."),
    num_cycles: inert(z.number().default(0), "cosine goes down once"),
  });
}
