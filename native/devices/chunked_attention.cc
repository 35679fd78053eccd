/// @file openmanus::chunked_attention: attention over packed sequences on any device, some queries at a
/// time. Scores of all tokens with all tokens never exist, neither forward nor backward.
#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "chunked.h"
#include "fused/differentiable.h"

namespace openmanus::devices {
namespace {

using at::Tensor;
using fused::AutogradContext;
using fused::variable_list;

/// Which tokens a run of queries sees: the ranges of all that it goes on from, and its own, in order.
struct Run {
  int64_t begin;
  int64_t end;
  std::vector<std::pair<int64_t, int64_t>> before;  // begin and length
  int64_t prefix = 0;                               // tokens in `before`
};

std::vector<Run> runs_of(
    const Tensor& query, const Tensor& cumulative_lengths, const c10::optional<Tensor>& parents) {
  TORCH_CHECK(
      cumulative_lengths.device().is_cpu() && cumulative_lengths.dim() == 1 &&
          cumulative_lengths.numel() > 0 && (!parents || parents->device().is_cpu()),
      "chunked_attention: cumulative_lengths [runs + 1] and parents [runs] must be on the host");
  const Tensor lengths = cumulative_lengths.to(at::kLong).contiguous();
  const int64_t* at = lengths.data_ptr<int64_t>();
  const int64_t count = lengths.numel() - 1;
  TORCH_CHECK(
      at[0] == 0 && at[count] == query.size(0) && std::is_sorted(at, at + count + 1),
      "chunked_attention: cumulative_lengths must rise from 0 to the number of tokens");
  const Tensor from = parents ? parents->to(at::kLong).contiguous() : Tensor();
  TORCH_CHECK(!parents || from.numel() == count, "chunked_attention: one parent per run is needed");
  std::vector<Run> runs(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Run& run = runs[size_t(i)];
    run.begin = at[i];
    run.end = at[i + 1];
    const int64_t parent = parents ? from.data_ptr<int64_t>()[i] : -1;
    TORCH_CHECK(parent >= -1 && parent < i, "chunked_attention: a parent comes before its run");
    if (parent < 0) continue;
    const Run& first = runs[size_t(parent)];
    run.before = first.before;
    if (first.end > first.begin) run.before.push_back({first.begin, first.end - first.begin});
    run.prefix = first.prefix + first.end - first.begin;
  }
  return runs;
}

/// [tokens, kv_heads, head_dim] of everything that a run sees.
Tensor seen_by(const Run& run, const Tensor& tensor) {
  const Tensor own = tensor.narrow(0, run.begin, run.end - run.begin);
  if (run.before.empty()) return own;
  std::vector<Tensor> parts;
  for (const auto& [begin, length] : run.before) parts.push_back(tensor.narrow(0, begin, length));
  parts.push_back(own);
  return at::cat(parts);
}

/// Some queries of a run with the keys that any of them sees.
struct Part {
  int64_t queries;  // the first, among the run's own
  int64_t query_count;
  int64_t keys;  // the first, among all that the run sees
  int64_t key_count;
};

std::vector<Part> parts_of(const Run& run, int64_t heads, int64_t window) {
  const int64_t length = run.end - run.begin;
  const int64_t seen = window < 0 ? run.prefix + length : std::min(run.prefix + length, window);
  const int64_t most = std::max<int64_t>(1, part_size / std::max<int64_t>(1, heads * 2 * seen));
  std::vector<Part> parts;
  for (int64_t at = 0; at < length; at += most) {
    const int64_t count = std::min(most, length - at);
    const int64_t first = window < 0 ? 0 : std::max<int64_t>(0, run.prefix + at - window + 1);
    parts.push_back({at, count, first, run.prefix + at + count - first});
  }
  return parts;
}

/// [tokens, heads, head_dim] to [kv_heads, heads of each · tokens, head_dim]
Tensor by_group(const Tensor& tensor, int64_t kv_heads) {
  const int64_t tokens = tensor.size(0), heads = tensor.size(1);
  return tensor.view({tokens, kv_heads, heads / kv_heads, tensor.size(2)})
      .permute({1, 2, 0, 3})
      .reshape({kv_heads, heads / kv_heads * tokens, tensor.size(2)});
}

Tensor from_group(const Tensor& tensor, int64_t tokens, int64_t heads) {
  const int64_t kv_heads = tensor.size(0);
  return tensor.view({kv_heads, heads / kv_heads, tokens, tensor.size(2)})
      .permute({2, 0, 1, 3})
      .reshape({tokens, heads, tensor.size(2)});
}

/// softmax(q kᵀ scale) of a part, [kv_heads, heads of each · queries, keys].
Tensor probabilities(
    const Run& run, const Part& part, const Tensor& q, const Tensor& k, double scale,
    int64_t window) {
  const Tensor scores = at::bmm(q, k.transpose(1, 2)).mul_(scale);
  const auto integers = at::TensorOptions().dtype(at::kLong).device(q.device());
  const int64_t first = run.prefix + part.queries;
  const Tensor query = at::arange(first, first + part.query_count, integers).unsqueeze(1);
  const Tensor key = at::arange(part.keys, part.keys + part.key_count, integers).unsqueeze(0);
  Tensor hidden = key.gt(query);
  if (window >= 0) hidden = hidden.logical_or(key.le(query - window));
  scores.view({q.size(0), -1, part.query_count, part.key_count})
      .masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  return scores.softmax(-1);
}

struct Settings {
  double scale;
  int64_t window;
};

using Body = std::function<void(const Run&, const Part&, Tensor q, Tensor k, Tensor v)>;

/// Calls body for every part, with queries, keys and values by groups of heads and in wide floats.
void for_parts(
    const std::vector<Run>& runs, const Tensor& query, const Tensor& key, const Tensor& value,
    int64_t window, const Body& body) {
  const int64_t kv_heads = key.size(1);
  for (const Run& run : runs) {
    if (run.end == run.begin) continue;
    const Tensor keys = seen_by(run, key), values = seen_by(run, value);
    for (const Part& part : parts_of(run, query.size(1), window)) {
      const Tensor q = query.narrow(0, run.begin + part.queries, part.query_count);
      const auto group = [&](const Tensor& tensor) {
        return widened(tensor.narrow(0, part.keys, part.key_count)).transpose(0, 1);
      };
      body(run, part, by_group(widened(q).contiguous(), kv_heads), group(keys), group(values));
    }
  }
}

Tensor forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const std::vector<Run>& runs,
    const Settings& with) {
  Tensor output = at::empty(query.sizes(), query.options());
  for_parts(
      runs, query, key, value, with.window,
      [&](const Run& run, const Part& part, const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor mixed = at::bmm(probabilities(run, part, q, k, with.scale, with.window), v);
        output.narrow(0, run.begin + part.queries, part.query_count)
            .copy_(from_group(mixed, part.query_count, query.size(1)));
      });
  return output;
}

/// Adds gradients of what a run sees to where it lies.
void add_seen(const Tensor& total, const Run& run, const Part& part, const Tensor& gradient) {
  const Tensor rows = gradient.transpose(0, 1);  // [keys, kv_heads, head_dim]
  int64_t at = 0;                                // the place of a range among all that the run sees
  const auto add = [&](int64_t begin, int64_t length) {
    const int64_t from = std::max(at, part.keys);
    const int64_t to = std::min(at + length, part.keys + part.key_count);
    if (to > from)
      total.narrow(0, begin + from - at, to - from)
          .add_(rows.narrow(0, from - part.keys, to - from));
    at += length;
  };
  for (const auto& [begin, length] : run.before) add(begin, length);
  add(run.begin, run.end - run.begin);
}

struct ChunkedAttention : torch::autograd::Function<ChunkedAttention> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
      const Tensor& cumulative_lengths, double scale, int64_t window,
      const c10::optional<Tensor>& parents) {
    const WithoutAutocast precise;
    const Tensor output = devices::forward(
        query, key, value, runs_of(query, cumulative_lengths, parents), {scale, window});
    ctx->save_for_backward(
        {query, key, value, output, cumulative_lengths, parents.value_or(Tensor())});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["window"] = window;
    return output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    fused::check_first_order("chunked_attention");
    const WithoutAutocast precise;
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &query = saved[0], &key = saved[1], &value = saved[2], &output = saved[3];
    const Settings with{ctx->saved_data["scale"].toDouble(), ctx->saved_data["window"].toInt()};
    c10::optional<Tensor> parents;
    if (saved[5].defined()) parents = saved[5];
    const auto sums = [](const Tensor& like) {
      return at::zeros(like.sizes(), like.options().dtype(wide_type(like.scalar_type())));
    };
    const Tensor dquery = sums(query), dkey = sums(key), dvalue = sums(value);
    const int64_t kv_heads = key.size(1);
    for_parts(
        runs_of(query, saved[4], parents), query, key, value, with.window,
        [&](const Run& run, const Part& part, const Tensor& q, const Tensor& k, const Tensor& v) {
          const auto own = [&](const Tensor& tensor) {
            const Tensor rows = tensor.narrow(0, run.begin + part.queries, part.query_count);
            return by_group(widened(rows).contiguous(), kv_heads);
          };
          const Tensor p = probabilities(run, part, q, k, with.scale, with.window);
          const Tensor given = own(gradients[0]);
          add_seen(dvalue, run, part, at::bmm(p.transpose(1, 2), given));
          const Tensor shares = (given * own(output)).sum(-1, true);
          const Tensor dscores =
              at::bmm(given, v.transpose(1, 2)).sub_(shares).mul_(p).mul_(with.scale);
          dquery.narrow(0, run.begin + part.queries, part.query_count)
              .copy_(from_group(at::bmm(dscores, k), part.query_count, query.size(1)));
          add_seen(dkey, run, part, at::bmm(dscores.transpose(1, 2), q));
        });
    return {
        dquery.to(query.scalar_type()),
        dkey.to(key.scalar_type()),
        dvalue.to(value.scalar_type()),
        Tensor(),
        Tensor(),
        Tensor(),
        Tensor()};
  }
};

Tensor chunked_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cumulative_lengths,
    double scale, int64_t window, const c10::optional<Tensor>& parents) {
  TORCH_CHECK(
      query.dim() == 3 && key.dim() == 3 && value.sizes() == key.sizes() &&
          key.size(0) == query.size(0) && key.size(2) == query.size(2) && key.size(1) > 0 &&
          query.size(1) % key.size(1) == 0,
      "chunked_attention: expected query [tokens, heads, head_dim] and key, value [tokens, kv_heads, "
      "head_dim], got ",
      query.sizes(), ", ", key.sizes(), ", ", value.sizes());
  TORCH_CHECK(
      query.device() == key.device() && query.device() == value.device(),
      "chunked_attention: query, key and value must be on one device, got ", query.device(), ", ",
      key.device(), ", ", value.device());
  TORCH_CHECK(window == -1 || window >= 1, "chunked_attention: window must be at least 1, or -1");
  if (fused::needs_graph(query, key, value))
    return ChunkedAttention::apply(query, key, value, cumulative_lengths, scale, window, parents);
  at::NoGradGuard no_grad;
  const WithoutAutocast precise;
  return forward(query, key, value, runs_of(query, cumulative_lengths, parents), {scale, window});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "chunked_attention(Tensor query, Tensor key, Tensor value, Tensor cumulative_lengths, "
      "float scale, int window=-1, Tensor? parents=None) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CompositeImplicitAutograd, library) {
  library.impl("chunked_attention", chunked_attention);
}

}  // namespace openmanus::devices
