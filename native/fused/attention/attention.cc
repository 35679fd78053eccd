/// @file openmanus::attention: causal attention over packed sequences, which may share their
/// beginnings, without materialised scores.
#include "attention.h"

#include "fused/differentiable.h"

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

/// Fills in parents, positions and subtree_end.
void take_parents(AttentionShape& shape, const c10::optional<Tensor>& given) {
  const int64_t runs = shape.runs();
  shape.parents.assign(runs, -1);
  if (given && given->defined()) {
    TORCH_CHECK(
        given->dim() == 1 && given->size(0) == runs &&
            (given->scalar_type() == at::kLong || given->scalar_type() == at::kInt),
        "attention: parents must be int64 or int32 [", runs, "], one for each run, got ",
        given->scalar_type(), " ", given->sizes());
    const Tensor values = given->to(at::kCPU, at::kLong).contiguous();
    const int64_t* first = values.data_ptr<int64_t>();
    shape.parents.assign(first, first + runs);
  }
  shape.positions.assign(runs, 0);
  shape.subtree_end.resize(runs);
  std::vector<int64_t> open;  // from the root to the run before: what a run can go on from
  const auto close_until = [&](int64_t parent, int64_t run) {
    while (!open.empty() && open.back() != parent) {
      shape.subtree_end[open.back()] = run;
      open.pop_back();
    }
  };
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t parent = shape.parents[run];
    close_until(parent, run);
    TORCH_CHECK(
        parent == -1 || !open.empty(), "attention: run ", run, " goes on from run ", parent,
        "; expected -1, or the run before it or one that this goes on from");
    if (parent >= 0) shape.positions[run] = shape.end(parent);
    open.push_back(run);
  }
  close_until(-1, runs);
}

AttentionShape check(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window, const c10::optional<Tensor>& parents) {
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
  AttentionShape shape;
  shape.boundaries = boundaries_of(cumulative_lengths, query.size(0));
  shape.heads = query.size(1);
  shape.key_heads = key.size(1);
  shape.head_dim = query.size(2);
  shape.scale = scale;
  shape.window = 1;
  take_parents(shape, parents);
  for (int64_t run = 0; run < shape.runs(); ++run)
    shape.window = std::max(shape.window, shape.end(run));
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
      const Tensor& cumulative_lengths, double scale, int64_t window,
      const c10::optional<Tensor>& parents) {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor q = with_contiguous_heads(query), k = with_contiguous_heads(key);
    const Tensor v = with_contiguous_heads(value);
    const AttentionShape shape = check(q, k, v, cumulative_lengths, scale, window, parents);
    Tensor logsumexp;
    Tensor output = fused::forward(shape, q, k, v, &logsumexp);
    ctx->save_for_backward(
        {query, key, value, cumulative_lengths, output, logsumexp, parents.value_or(Tensor())});
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
        q, k, v, saved[3], ctx->saved_data["scale"].toDouble(), ctx->saved_data["window"].toInt(),
        saved[6]);
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
    return {dq, dk, dv, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

Tensor attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window, const c10::optional<Tensor>& parents) {
  const AttentionShape shape = check(query, key, value, cumulative_lengths, scale, window, parents);
  return forward(
      shape, with_contiguous_heads(query), with_contiguous_heads(key), with_contiguous_heads(value),
      nullptr);
}

Tensor attention_autograd(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window, const c10::optional<Tensor>& parents) {
  if (needs_graph(query, key, value)) {
    check(query, key, value, cumulative_lengths, scale, window, parents);
    return Attention::apply(query, key, value, cumulative_lengths, scale, window, parents);
  }
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return attention(query, key, value, cumulative_lengths, scale, window, parents);
}

}  // namespace

TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("attention", attention); }
TORCH_LIBRARY_IMPL(openmanus, AutogradCPU, library) {
  library.impl("attention", attention_autograd);
}

}  // namespace openmanus::fused
