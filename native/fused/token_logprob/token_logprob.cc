/// @file openmanus::token_logprob: log-probabilities of given tokens, and the entropy of the
/// distributions, from hidden states and the output matrix. The [tokens, vocab] logits exist as a whole
/// only where they are small, and kept for backward.
#include "token_logprob.h"

#include <optional>

#include "fused/differentiable.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

void check(const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature) {
  TORCH_CHECK(
      hidden.dim() == 2, "token_logprob: hidden must be [tokens, hidden], got ", hidden.sizes());
  TORCH_CHECK(
      weight.dim() == 2 && weight.size(1) == hidden.size(1) && weight.size(0) >= 1,
      "token_logprob: weight must be [vocab, hidden] = [vocab, ", hidden.size(1), "], got ",
      weight.sizes());
  TORCH_CHECK(
      targets.dim() == 1 && targets.size(0) == hidden.size(0) && targets.scalar_type() == at::kLong,
      "token_logprob: targets must be int64 [tokens] = [", hidden.size(0), "], got ",
      targets.scalar_type(), " ", targets.sizes());
  TORCH_CHECK(
      is_supported(hidden.scalar_type()) && is_supported(weight.scalar_type()) &&
          accumulate_type(hidden.scalar_type()) == accumulate_type(weight.scalar_type()),
      "token_logprob: hidden and weight must be float32, bfloat16 or float16, or both float64, got ",
      hidden.scalar_type(), " and ", weight.scalar_type());
  TORCH_CHECK(
      hidden.device().is_cpu() && weight.device().is_cpu() && targets.device().is_cpu(),
      "token_logprob: expected CPU tensors, got ", hidden.device(), ", ", weight.device(), ", ",
      targets.device());
  TORCH_CHECK(
      std::isfinite(temperature) && temperature > 0,
      "token_logprob: temperature must be positive and finite, got ", temperature);
  const Tensor dense = targets.contiguous();
  const int64_t* ids = dense.data_ptr<int64_t>();
  for (int64_t i = 0; i < dense.numel(); ++i)
    TORCH_CHECK(
        ids[i] >= 0 && ids[i] < weight.size(0), "token_logprob: target ", ids[i], " of token ", i,
        " is not in the vocabulary of ", weight.size(0));
}

struct Result {
  Tensor logprob, entropy;
  Tensor logsumexp, tiles;  // for backward; no tiles if they are too large to be kept
};

template <typename T>
KeptTiles<T> kept_tiles(const Tensor& tiles, int64_t tokens) {
  if (!tiles.defined()) return {};
  return {tiles.data_ptr<T>(), blocks_of(tokens, token_block)};
}

Result forward(
    const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature,
    bool entropy, bool for_backward) {
  check(hidden, weight, targets, temperature);
  const Tensor h = as_rows(hidden), w = as_rows(weight), ids = targets.contiguous();
  const int64_t tokens = h.size(0);
  const auto options = hidden.options().dtype(accumulate_type(hidden.scalar_type()));
  Result result{
      at::empty({tokens}, options), at::empty({entropy ? tokens : 0}, options),
      at::empty({for_backward ? tokens : 0}, options), Tensor()};
  with_accumulate_type(hidden.scalar_type(), [&](auto element) {
    using T = decltype(element);
    if (for_backward && KeptTiles<T>::fit(w.size(0), tokens))
      result.tiles = at::empty({KeptTiles<T>::size(w.size(0), tokens)}, options);
    token_logprob_forward<T>(
        Matrix(h), Matrix(w), ids.data_ptr<int64_t>(), T(1 / temperature),
        result.logprob.data_ptr<T>(), entropy ? result.entropy.data_ptr<T>() : nullptr,
        for_backward ? result.logsumexp.data_ptr<T>() : nullptr,
        kept_tiles<T>(result.tiles, tokens));
  });
  return result;
}

struct TokenLogprob : torch::autograd::Function<TokenLogprob> {
  static variable_list forward(
      AutogradContext* ctx, const Tensor& hidden, const Tensor& weight, const Tensor& targets,
      double temperature, bool entropy) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    Result result = fused::forward(hidden, weight, targets, temperature, entropy, true);
    ctx->save_for_backward(
        {hidden, weight, targets, result.entropy, result.logsumexp, result.tiles});
    ctx->saved_data["temperature"] = temperature;
    ctx->saved_data["hidden"] = hidden.requires_grad();
    ctx->saved_data["weight"] = weight.requires_grad();
    ctx->set_materialize_grads(false);  // a loss without the entropy leaves its gradient undefined
    if (!entropy) ctx->mark_non_differentiable({result.entropy});
    return {result.logprob, result.entropy};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("token_logprob");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor h = as_rows(saved[0]), w = as_rows(saved[1]), ids = saved[2].contiguous();
    const Tensor &entropy = saved[3], &logsumexp = saved[4];
    const bool needs_hidden = ctx->saved_data["hidden"].toBool();
    const bool needs_weight = ctx->saved_data["weight"].toBool();
    const Tensor dlogprob =
        gradients[0].defined() ? gradients[0].contiguous() : at::zeros_like(logsumexp);
    // Also when the entropy only serves as a metric, with coefficient zero.
    const bool has_entropy =
        gradients[1].defined() && entropy.numel() > 0 && gradients[1].ne(0).any().item<bool>();
    const Tensor dentropy = has_entropy ? gradients[1].contiguous() : Tensor();
    const bool empty = h.numel() == 0;  // then no kernel would fill the gradients
    const auto gradient_of = [&](bool needed, const Tensor& tensor) {
      return !needed ? Tensor()
             : empty ? at::zeros(tensor.sizes(), tensor.options())
                     : at::empty(tensor.sizes(), tensor.options());
    };
    const Tensor dhidden = gradient_of(needs_hidden, h), dweight = gradient_of(needs_weight, w);
    if (empty) return {dhidden, dweight, Tensor(), Tensor(), Tensor()};
    with_accumulate_type(h.scalar_type(), [&](auto element) {
      using T = decltype(element);
      const std::optional<Matrix> dh = needs_hidden ? std::optional(Matrix(dhidden)) : std::nullopt;
      const std::optional<Matrix> dw = needs_weight ? std::optional(Matrix(dweight)) : std::nullopt;
      token_logprob_backward<T>(
          Matrix(h), Matrix(w), ids.data_ptr<int64_t>(),
          T(1 / ctx->saved_data["temperature"].toDouble()), logsumexp.data_ptr<T>(),
          has_entropy ? entropy.data_ptr<T>() : nullptr, dlogprob.data_ptr<T>(),
          has_entropy ? dentropy.data_ptr<T>() : nullptr, kept_tiles<T>(saved[5], h.size(0)),
          dh ? &*dh : nullptr, dw ? &*dw : nullptr);
    });
    return {dhidden, dweight, Tensor(), Tensor(), Tensor()};
  }
};

/// entropy=false: the second result is empty, [0].
std::tuple<Tensor, Tensor> token_logprob(
    const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature,
    bool entropy) {
  Result result = forward(hidden, weight, targets, temperature, entropy, false);
  return {result.logprob, result.entropy};
}

std::tuple<Tensor, Tensor> token_logprob_autograd(
    const Tensor& hidden, const Tensor& weight, const Tensor& targets, double temperature,
    bool entropy) {
  if (needs_graph(hidden, weight)) {
    variable_list results = TokenLogprob::apply(hidden, weight, targets, temperature, entropy);
    return {results[0], results[1]};
  }
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return token_logprob(hidden, weight, targets, temperature, entropy);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("token_logprob", token_logprob); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) {
  library.impl("token_logprob", token_logprob_autograd);
}

}  // namespace openmanus::fused
