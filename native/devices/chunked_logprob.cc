/// @file openmanus::chunked_logprob: log-probabilities and entropies from hidden states on any device, some
/// rows and some of the vocabulary at a time. The [tokens, vocabulary] logits never exist as a whole, and
/// backward computes them again.
#include <ATen/ATen.h>

#include <functional>

#include "chunked.h"
#include "fused/differentiable.h"

namespace openmanus::devices {
namespace {

using at::Tensor;
using fused::AutogradContext;
using fused::variable_list;

/// Words that are looked at together.
constexpr int64_t most_words = 8192;

struct Range {
  int64_t begin;
  int64_t length;
};

std::vector<Range> ranges(int64_t total, int64_t most) {
  std::vector<Range> result;
  for (int64_t at = 0; at < total; at += most) result.push_back({at, std::min(most, total - at)});
  return result;
}

std::vector<Range> rows_of(const Tensor& hidden, const Tensor& weight) {
  const int64_t words = std::min(weight.size(0), most_words);
  return ranges(hidden.size(0), std::max<int64_t>(1, part_size / std::max<int64_t>(1, words)));
}

/// Calls body(words, their matrix in wide floats, logits of the rows) for each part of the vocabulary.
void for_words(
    const Tensor& hidden, const Tensor& weight, double temperature,
    const std::function<void(const Range&, const Tensor&, const Tensor&)>& body) {
  for (const Range& words : ranges(weight.size(0), most_words)) {
    const Tensor matrix = widened(weight.narrow(0, words.begin, words.length));
    body(words, matrix, at::mm(hidden, matrix.t()).div_(temperature));
  }
}

/// Where the targets are among some words, and which of them are.
std::pair<Tensor, Tensor> among(const Tensor& targets, const Range& words) {
  const Tensor place = targets.sub(words.begin);
  const Tensor inside = place.ge(0).logical_and(place.lt(words.length));
  return {place.clamp(0, words.length - 1).unsqueeze(1), inside};
}

struct Result {
  Tensor logprob;
  Tensor entropy;
  Tensor logsumexp;
};

Result forward(
    const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature) {
  const auto options = hidden.options().dtype(wide_type(hidden.scalar_type()));
  Result result{
      at::empty({hidden.size(0)}, options), at::empty({hidden.size(0)}, options),
      at::empty({hidden.size(0)}, options)};
  for (const Range& rows : rows_of(hidden, weight)) {
    const auto own = [&](const Tensor& tensor) {
      return tensor.narrow(0, rows.begin, rows.length);
    };
    Tensor most = at::full({rows.length}, -std::numeric_limits<double>::infinity(), options);
    Tensor sum = at::zeros({rows.length}, options);       // of e^(logit - most)
    Tensor weighted = at::zeros({rows.length}, options);  // of e^(logit - most) · (logit - most)
    Tensor chosen = at::zeros({rows.length}, options);
    for_words(
        widened(own(hidden)), weight, temperature,
        [&](const Range& words, const Tensor&, const Tensor& logits) {
          const auto [place, inside] = among(own(targets), words);
          chosen = at::where(inside, logits.gather(1, place).squeeze(1), chosen);
          const Tensor next = at::maximum(most, logits.amax(1));
          // What was summed is relative to the highest so far, 0 before the first.
          const Tensor shift = (most - next).nan_to_num(0, 0, -1e30);
          const Tensor factor = shift.exp();
          weighted = factor * (weighted + shift * sum);
          sum = factor * sum;
          const Tensor relative = logits.sub(next.unsqueeze(1));
          const Tensor powers = relative.exp();
          sum = sum + powers.sum(1);
          weighted = weighted + (powers * relative).sum(1);
          most = next;
        });
    const Tensor log = sum.log();
    own(result.logsumexp).copy_(most + log);
    own(result.logprob).copy_(chosen - most - log);
    own(result.entropy).copy_(log - weighted / sum);
  }
  return result;
}

struct ChunkedLogprob : torch::autograd::Function<ChunkedLogprob> {
  static variable_list forward(
      AutogradContext* ctx, const Tensor& hidden, const Tensor& weight, const Tensor& targets,
      double temperature) {
    const WithoutAutocast precise;
    const Result result = devices::forward(hidden, weight, targets, temperature);
    ctx->save_for_backward({hidden, weight, targets, result.entropy, result.logsumexp});
    ctx->saved_data["temperature"] = temperature;
    ctx->saved_data["hidden"] = hidden.requires_grad();
    ctx->saved_data["weight"] = weight.requires_grad();
    ctx->set_materialize_grads(false);
    return {result.logprob, result.entropy};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    fused::check_first_order("chunked_logprob");
    const WithoutAutocast precise;
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &hidden = saved[0], &weight = saved[1], &targets = saved[2];
    const bool needs_hidden = ctx->saved_data["hidden"].toBool();
    const bool needs_weight = ctx->saved_data["weight"].toBool();
    const double temperature = ctx->saved_data["temperature"].toDouble();
    const auto sums = [](bool needed, const Tensor& like) {
      return needed ? at::zeros(like.sizes(), like.options().dtype(wide_type(like.scalar_type())))
                    : Tensor();
    };
    const Tensor dhidden = sums(needs_hidden, hidden), dweight = sums(needs_weight, weight);
    for (const Range& rows : rows_of(hidden, weight)) {
      const auto own = [&](const Tensor& tensor) {
        return tensor.narrow(0, rows.begin, rows.length);
      };
      const Tensor states = widened(own(hidden));
      for_words(
          states, weight, temperature,
          [&](const Range& words, const Tensor& matrix, const Tensor& logits) {
            const Tensor logprobs = logits.sub(own(saved[4]).unsqueeze(1));
            const Tensor p = logprobs.exp();
            Tensor dlogits = at::zeros_like(p);
            if (gradients[0].defined()) {
              const Tensor given = own(gradients[0]);
              const auto [place, inside] = among(own(targets), words);
              dlogits.sub_(p * given.unsqueeze(1));
              dlogits.scatter_add_(
                  1, place, at::where(inside, given, at::zeros_like(given)).unsqueeze(1));
            }
            if (gradients[1].defined()) {
              const Tensor surprise = logprobs.add(own(saved[3]).unsqueeze(1));
              dlogits.sub_(p * surprise * own(gradients[1]).unsqueeze(1));
            }
            dlogits.div_(temperature);
            if (needs_hidden) own(dhidden).add_(at::mm(dlogits, matrix));
            if (needs_weight)
              dweight.narrow(0, words.begin, words.length).add_(at::mm(dlogits.t(), states));
          });
    }
    const auto as = [](const Tensor& sum, const Tensor& like) {
      return sum.defined() ? sum.to(like.scalar_type()) : sum;
    };
    return {as(dhidden, hidden), as(dweight, weight), Tensor(), Tensor()};
  }
};

std::tuple<Tensor, Tensor> chunked_logprob(
    const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature) {
  TORCH_CHECK(
      hidden.dim() == 2 && weight.dim() == 2 && hidden.size(1) == weight.size(1) &&
          targets.dim() == 1 && targets.size(0) == hidden.size(0) &&
          targets.scalar_type() == at::kLong && weight.size(0) > 0,
      "chunked_logprob: expected hidden [tokens, width], weight [vocabulary, width] and int64 targets "
      "[tokens], got ",
      hidden.sizes(), ", ", weight.sizes(), ", ", targets.sizes());
  if (fused::needs_graph(hidden, weight)) {
    const variable_list results = ChunkedLogprob::apply(hidden, weight, targets, temperature);
    return {results[0], results[1]};
  }
  at::NoGradGuard no_grad;
  const WithoutAutocast precise;
  const Result result = forward(hidden, weight, targets, temperature);
  return {result.logprob, result.entropy};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "chunked_logprob(Tensor hidden, Tensor weight, Tensor targets, float temperature=1.0) -> "
      "(Tensor logprob, Tensor entropy)");
}
TORCH_LIBRARY_IMPL(openmanus, CompositeImplicitAutograd, library) {
  library.impl("chunked_logprob", chunked_logprob);
}

}  // namespace openmanus::devices
