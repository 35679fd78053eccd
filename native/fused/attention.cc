/// @file openmanus::attention: causal attention over packed sequences, without materialised scores.
#include "attention.h"

#include "differentiable.h"

namespace openmanus::fused {
namespace {

using at::Tensor;

std::vector<int64_t> boundaries_of(const Tensor& cumulative_lengths, int64_t tokens) {
  TORCH_CHECK(
      cumulative_lengths.dim() == 1 && cumulative_lengths.size(0) >= 1 &&
          (cumulative_lengths.scalar_type() == at::kLong ||
           cumulative_lengths.scalar_type() == at::kInt),
      "attention: cumulative_lengths must be int64 or int32 [sequences + 1], got ",
      cumulative_lengths.scalar_type(), " ", cumulative_lengths.sizes());
  const Tensor values = cumulative_lengths.to(at::kCPU, at::kLong).contiguous();
  const int64_t* first = values.data_ptr<int64_t>();
  std::vector<int64_t> boundaries(first, first + values.numel());
  TORCH_CHECK(
      boundaries.front() == 0 && boundaries.back() == tokens,
      "attention: cumulative_lengths must begin with 0 and end with the number of tokens, ", tokens,
      ", got ", boundaries.front(), " and ", boundaries.back());
  for (size_t i = 1; i < boundaries.size(); ++i)
    TORCH_CHECK(
        boundaries[i - 1] <= boundaries[i], "attention: cumulative_lengths must not decrease, got ",
        boundaries[i - 1], " before ", boundaries[i], " at index ", i);
  return boundaries;
}

AttentionShape check(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window) {
  TORCH_CHECK(
      query.dim() == 3 && query.size(1) >= 1 && query.size(2) >= 1,
      "attention: query must be [tokens, heads, head_dim], got ", query.sizes());
  TORCH_CHECK(
      key.dim() == 3 && key.size(0) == query.size(0) && key.size(1) >= 1 &&
          key.size(2) == query.size(2),
      "attention: key must be [tokens, kv_heads, head_dim] = [", query.size(0), ", kv_heads, ",
      query.size(2), "], got ", key.sizes());
  TORCH_CHECK(
      value.sizes() == key.sizes(), "attention: value must have the shape of key, ", key.sizes(),
      ", got ", value.sizes());
  TORCH_CHECK(
      query.size(1) % key.size(1) == 0, "attention: heads (", query.size(1),
      ") must be a multiple of kv_heads (", key.size(1), ")");
  TORCH_CHECK(
      is_supported(query.scalar_type()) && key.scalar_type() == query.scalar_type() &&
          value.scalar_type() == query.scalar_type(),
      "attention: query, key and value must all be float32, float64, bfloat16 or float16, got ",
      query.scalar_type(), ", ", key.scalar_type(), ", ", value.scalar_type());
  TORCH_CHECK(
      query.device().is_cpu() && key.device().is_cpu() && value.device().is_cpu(),
      "attention: expected CPU tensors, got ", query.device(), ", ", key.device(), ", ",
      value.device());
  TORCH_CHECK(std::isfinite(scale), "attention: scale must be finite, got ", scale);
  TORCH_CHECK(
      window == -1 || window >= 1,
      "attention: window must be at least 1 (a query sees itself), or -1 for none, got ", window);
  AttentionShape shape{
      boundaries_of(cumulative_lengths, query.size(0)),
      query.size(1),
      key.size(1),
      query.size(2),
      scale,
      1};
  for (int64_t sequence = 0; sequence < shape.sequences(); ++sequence)
    shape.window = std::max(shape.window, shape.length(sequence));
  if (window >= 1) shape.window = std::min(shape.window, window);
  return shape;
}

/// Views of one packed tensor are used as they are; only head_dim must be contiguous.
Tensor with_contiguous_heads(const Tensor& tensor) {
  return tensor.stride(2) == 1 || tensor.size(2) == 1 ? tensor : tensor.contiguous();
}

/// Also gives logsumexp [heads, tokens] if asked to.
Tensor forward(
    const AttentionShape& shape, const Tensor& query, const Tensor& key, const Tensor& value,
    Tensor* logsumexp) {
  Tensor output = at::empty({shape.tokens(), shape.heads, shape.head_dim}, query.options());
  if (logsumexp)
    *logsumexp = at::empty(
        {shape.heads, shape.tokens()}, query.options().dtype(accumulate_type(query.scalar_type())));
  with_accumulate_type(query.scalar_type(), [&](auto element) {
    using T = decltype(element);
    attention_forward<T>(
        shape, Heads(query), Heads(key), Heads(value), Heads(output),
        logsumexp ? logsumexp->data_ptr<T>() : nullptr);
  });
  return output;
}

struct Attention : torch::autograd::Function<Attention> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
      const Tensor& cumulative_lengths, double scale, int64_t window) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor q = with_contiguous_heads(query), k = with_contiguous_heads(key);
    const Tensor v = with_contiguous_heads(value);
    const AttentionShape shape = check(q, k, v, cumulative_lengths, scale, window);
    Tensor logsumexp;
    Tensor output = fused::forward(shape, q, k, v, &logsumexp);
    ctx->save_for_backward({query, key, value, cumulative_lengths, output, logsumexp});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["window"] = window;
    ctx->saved_data["query"] = query.requires_grad();
    ctx->saved_data["key"] = key.requires_grad();
    ctx->saved_data["value"] = value.requires_grad();
    return output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    check_first_order("attention");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor q = with_contiguous_heads(saved[0]), k = with_contiguous_heads(saved[1]);
    const Tensor v = with_contiguous_heads(saved[2]), &output = saved[4], &logsumexp = saved[5];
    const AttentionShape shape = check(
        q, k, v, saved[3], ctx->saved_data["scale"].toDouble(), ctx->saved_data["window"].toInt());
    const auto gradient_of = [&](const char* name, const Tensor& tensor) {
      return ctx->saved_data[name].toBool() ? at::empty(tensor.sizes(), tensor.options())
                                            : Tensor();
    };
    const Tensor dq = gradient_of("query", q), dk = gradient_of("key", k);
    const Tensor dv = gradient_of("value", v);
    const Tensor doutput = with_contiguous_heads(gradients[0]);
    const auto heads_of = [](const Tensor& tensor) {
      return tensor.defined() ? Heads(tensor) : Heads();
    };
    with_accumulate_type(q.scalar_type(), [&](auto element) {
      using T = decltype(element);
      attention_backward<T>(
          shape, Heads(q), Heads(k), Heads(v), Heads(output), logsumexp.data_ptr<T>(),
          Heads(doutput), heads_of(dq), heads_of(dk), heads_of(dv));
    });
    return {dq, dk, dv, Tensor(), Tensor(), Tensor()};
  }
};

Tensor attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window) {
  const AttentionShape shape = check(query, key, value, cumulative_lengths, scale, window);
  return forward(
      shape, with_contiguous_heads(query), with_contiguous_heads(key), with_contiguous_heads(value),
      nullptr);
}

Tensor attention_autograd(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window) {
  if (needs_graph(query, key, value)) {
    check(query, key, value, cumulative_lengths, scale, window);
    return Attention::apply(query, key, value, cumulative_lengths, scale, window);
  }
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return attention(query, key, value, cumulative_lengths, scale, window);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("attention", attention); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) {
  library.impl("attention", attention_autograd);
}

}  // namespace openmanus::fused
