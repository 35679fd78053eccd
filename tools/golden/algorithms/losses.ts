/**
 * @file Golden cases of losses, with their gradients; in float32, as the reference.
 */
import {
  type AggregationMode,
  aggregate,
  type Counts,
  countsOf,
  type KlEstimator,
  klController,
  klEstimate,
  klPenalty,
  type PolicyLossName,
  policyLoss,
  rowCount,
  updateKlController,
  valueLoss,
} from "../../../src/algorithms/index.ts";
import { fromTypedArray, Generator, type Tensor, tidy } from "../../../src/torch/index.ts";
import { compareNumbers } from "../compare.ts";
import { compareMetrics, compareTokens, type GoldenCase, Inputs, type Report } from "./case.ts";

export function lossCases(golden: GoldenCase): Report | undefined {
  const family = golden.name.split("/")[0];
  if (family === "policy_loss") return tidy(() => policyCase(golden));
  if (family === "value_loss") return tidy(() => valueCase(golden));
  if (family === "kl_penalty") return tidy(() => klCase(golden));
  if (family === "agg_loss") return tidy(() => aggregationCase(golden));
  if (family === "adaptive_kl") return adaptiveCase(golden);
  return undefined;
}

function leaf(values: Float64Array): Tensor {
  return fromTypedArray(values, undefined, { dtype: "float32", requiresGrad: true });
}

/** The reference's normalisation: its own rows and tokens, unless told; and its quirks. */
function aggregationOf(input: Inputs, mode: string, everyRow = false) {
  const rows = input.rows();
  const own = countsOf(rows);
  const ranks = input.number("dp_size", 1);
  const counts: Counts = {
    tokens: input.number("batch_num_tokens", own.tokens) / ranks,
    rows: input.number("global_batch_size", everyRow ? rowCount(rows) : own.rows) / ranks,
  };
  // It does not divide this one by the rows.
  if (mode === "seq-mean-token-sum-norm") counts.rows = 1;
  const horizon = input.number("loss_scale_factor", input.width());
  return { rows, counts, aggregation: mode as AggregationMode, horizon };
}

function policyCase({ name, in: fields, out }: GoldenCase): Report {
  const input = new Inputs(fields);
  const kind = name.split("/")[1] as PolicyLossName;
  const aggregation = aggregationOf(input, input.text("agg", "token-mean"), kind === "geo_mean");
  const logprobs = leaf(input.matrix("log_prob"));
  const { loss, metrics } = policyLoss(
    kind,
    {
      logprobs,
      oldLogprobs: input.matrix("old_log_prob"),
      advantages: input.matrix("advantages"),
      importanceWeights: input.has("rollout_is_weights")
        ? input.matrix("rollout_is_weights")
        : undefined,
      ...aggregation,
    },
    {
      clipRatioLow: input.number("clip_low", 0.2),
      clipRatioHigh: input.number("clip_high", 0.2),
      clipRatioC: input.number("clip_c", 3),
      tauPositive: input.number("tau_pos", 1),
      tauNegative: input.number("tau_neg", 1.05),
      klCovRatio: input.number("kl_cov_ratio", 2e-4),
      klCovCoefficient: input.number("ppo_kl_coef", 1),
      clipCovRatio: input.number("clip_cov_ratio", 2e-4),
      clipCovLow: input.number("clip_cov_lb", 1),
      clipCovHigh: input.number("clip_cov_ub", 5),
      generator: kind === "clip_cov" ? new Generator(0) : undefined,
    },
  );
  loss.backward();
  const gradient = Float64Array.from(logprobs.grad!.toNumbers());
  return {
    problems: [
      ...compareMetrics({ ...metrics, loss: loss.item() }, out),
      ...compareTokens("grad_log_prob", gradient, out.grad_log_prob, aggregation.rows),
    ],
  };
}

function valueCase({ in: fields, out }: GoldenCase): Report {
  const input = new Inputs(fields);
  const aggregation = aggregationOf(input, input.text("agg", "token-mean"));
  const values = leaf(input.matrix("vpreds"));
  const { loss, metrics } = valueLoss(
    {
      values,
      oldValues: input.matrix("values"),
      returns: input.matrix("returns"),
      ...aggregation,
    },
    { clipRange: input.number("cliprange_value", 0.5) },
  );
  loss.backward();
  const gradient = Float64Array.from(values.grad!.toNumbers());
  const ours = { loss: loss.item(), clipfrac: metrics["critic/vf_clipfrac"]! };
  return {
    problems: [
      ...compareMetrics(ours, out),
      ...compareTokens("grad", gradient, out.grad, aggregation.rows),
    ],
  };
}

function klCase({ name, in: fields, out }: GoldenCase): Report {
  const input = new Inputs(fields);
  const estimator = name.slice("kl_penalty/".length) as KlEstimator;
  const logprobs = leaf(input.matrix("logprob"));
  const reference = fromTypedArray(input.matrix("ref_logprob"), undefined, { dtype: "float32" });
  const kl = klPenalty(logprobs, reference, estimator);
  const ours = Array.from(kl.toNumbers());
  const plain = Array.from(logprobs.toNumbers(), (logprob, i) =>
    klEstimate(estimator, logprob, reference.toNumbers()[i]!),
  );
  const problems = compareNumbers("kl as numbers", plain, ours);
  if (out.kl)
    return {
      problems: [...problems, ...compareNumbers("kl", ours, (out.kl as number[][]).flat())],
    };
  // "+": the reference raises an error. The value is that of the name without it, the gradient k2's.
  const base = klPenalty(logprobs, reference, estimator.slice(0, -1) as KlEstimator);
  kl.sum().backward();
  const difference = logprobs.sub(reference).toNumbers();
  return {
    problems: [
      ...problems,
      ...compareNumbers("kl", ours, Array.from(base.toNumbers())),
      ...compareNumbers("gradient", Array.from(logprobs.grad!.toNumbers()), Array.from(difference)),
    ],
    remark: "a bug of the reference, compared with the name without + and the gradient of k2",
  };
}

function aggregationCase({ name, in: fields, out }: GoldenCase): Report {
  const input = new Inputs(fields);
  const aggregation = aggregationOf(input, name.split("/")[1]!);
  const losses = leaf(input.matrix("loss"));
  const loss = aggregate(losses, aggregation).item();
  return { problems: compareNumbers("out", [loss], [Number(out.out)]) };
}

/** Outputs like after_kl_0_2_n10: one update after the other, with a KL of 0.2 and 10 rows. */
function adaptiveCase({ in: fields, out }: GoldenCase): Report {
  const input = new Inputs(fields);
  let controller = klController({
    type: "adaptive",
    coefficient: input.number("init"),
    target: input.number("target"),
    horizon: input.number("horizon"),
  });
  const problems = Object.entries(out).flatMap(([name, expected]) => {
    const [, kl, rows] = /^after_kl_(-?\d+(?:_\d+)?)_n(\d+)$/.exec(name) ?? [];
    if (kl === undefined) return [`${name}: expected a name like after_kl_0_2_n10`];
    controller = updateKlController(controller, Number(kl.replace("_", ".")), Number(rows));
    return compareNumbers(name, [controller.coefficient], [Number(expected)]);
  });
  return { problems };
}
