/// @file Activations with the tokens in the vector lanes, and the operations of a decoder on them.
///
/// The tokens of a pass are cut into strips of one, two or three vectors; a strip is
/// [features, width]. A matrix of weights [out, in] is then the left factor of a product as it lies in
/// memory, whoever else uses it, and everything else (norms, rotation, gates) goes lane by lane.
/// A token's numbers do not depend on its neighbours in the strip, nor on the strip's width.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "fused/blocks/ahead.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/scratch.h"
#include "fused/blocks/tile_product.h"
#include "short_weights.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// One kind of activation (queries, hidden states) of all tokens of a pass.
struct TokenStrips {
  at::Tensor memory;
  float* data = nullptr;
  int64_t features = 0, width = 0, strips = 0;

  TokenStrips() = default;
  TokenStrips(int64_t tokens, int64_t features, int64_t width)
      : features(features), width(width), strips((tokens + width - 1) / width) {
    // Lanes beyond the last token are computed with, though never read: they must be numbers.
    const int64_t count = strips * features * width;
    memory = tokens % width == 0 ? at::empty({count}, at::kFloat) : at::zeros({count}, at::kFloat);
    data = memory.data_ptr<float>();
  }

  float* row(int64_t strip, int64_t feature) const {
    return data + (strip * features + feature) * width;
  }
  /// The place of a token's feature; the next feature is `width` further.
  float* at(int64_t token, int64_t feature) const {
    return row(token / width, feature) + token % width;
  }
};

/// How far along the inner dimension a product goes at once: the strip's part stays in the first cache. A
/// multiple of scale_columns.
constexpr int64_t inner_block = 256;

/// Some columns of some rows of a weight, in float32, in memory of this thread's that is in the second cache when
/// the products come. It is there until the next one is asked for.
inline auto part_of(
    const Weight& weight, int64_t row, int64_t rows, int64_t column, int64_t depth) {
  constexpr int64_t stride = padded_row<float>(inner_block);
  thread_local std::vector<float> part;
  if (int64_t(part.size()) < rows * stride) part.resize(size_t(rows * stride));
  for (int64_t i = 0; i < rows; ++i)
    copy_weights(weight, row + i, column, depth, part.data() + i * stride);
  return FixedLeft<float, stride>{part.data()};
}

/// out[i] (+)= weight[row + i] · in, i < rows, for the strips [begin, end). `out` is the place of the
/// first result in the first of them; in the next it is `out_stride` further. `ahead` are weights that will
/// probably be multiplied with next.
template <int vectors>
void multiply(
    const Weight& weight, int64_t row, int64_t rows, const TokenStrips& in, int64_t begin,
    int64_t end, float* out, int64_t out_stride, bool add, Ahead ahead) {
  constexpr int64_t width = vectors * lanes<float>, most = rows_of_block<vectors>;
  const int64_t blocks = (rows + most - 1) / most;
  ahead.share_out(weight.columns * (end - begin) * blocks);
  for (int64_t at = 0; at < weight.columns; at += inner_block) {
    const int64_t depth = std::min(inner_block, weight.columns - at);
    const auto left = part_of(weight, row, rows, at, depth);
    for (int64_t strip = begin; strip < end; ++strip, ahead.skip(blocks * depth))
      strip_product<vectors, float>(
          rows, left, in.row(strip, at), width, out + (strip - begin) * out_stride, width, depth,
          add || at > 0, ahead);
  }
  if (!weight.bias) return;
  for (int64_t strip = begin; strip < end; ++strip, out += out_stride)
    for (int64_t i = 0; i < rows * vectors; ++i) {
      float* place = out + i * lanes<float>;
      store(place, load(place) + weight.bias[row + i / vectors]);
    }
}

/// The same into `out_row` and the rows after it.
template <int vectors>
void multiply(
    const Weight& weight, int64_t row, int64_t rows, const TokenStrips& in, int64_t begin,
    int64_t end, const TokenStrips& out, int64_t out_row, bool add, Ahead ahead) {
  multiply<vectors>(
      weight, row, rows, in, begin, end, out.row(begin, out_row), out.features * out.width, add,
      ahead);
}

/// to = from / √(mean(from²) + eps) · weight over `count` features; `to` may be `from`.
template <int vectors>
void normalize(const float* from, const float* weight, int64_t count, double eps, float* to) {
  constexpr int64_t width = vectors * lanes<float>;
  for (int v = 0; v < vectors; ++v, from += lanes<float>, to += lanes<float>) {
    // Four sums, as each addition waits for the one before.
    Vector<float> squares[4] = {};
    for (int64_t i = 0; i < count; ++i) {
      const Vector<float> value = load(from + i * width);
      squares[i % 4] += value * value;
    }
    const Vector<float> sum = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    const Vector<float> scale = 1.0f / square_root<float>(sum / float(count) + float(eps));
    for (int64_t i = 0; i < count; ++i)
      store(to + i * width, load(from + i * width) * scale * weight[i]);
  }
}

/// Turns one head [2 * half, width] in place by the angles [half, width] of each token.
template <int vectors>
void rotate(float* head, const float* cos, const float* sin, int64_t half) {
  constexpr int64_t width = vectors * lanes<float>;
  for (int64_t at = 0; at < half * width; at += lanes<float>) {
    const Vector<float> a = load(head + at), b = load(head + half * width + at);
    const Vector<float> c = load(cos + at), s = load(sin + at);
    store(head + at, a * c - b * s);
    store(head + half * width + at, b * c + a * s);
  }
}

/// to = to + from over `count` features.
template <int vectors>
void add_to(float* to, const float* from, int64_t count) {
  for (int64_t at = 0; at < count * vectors * lanes<float>; at += lanes<float>)
    store(to + at, load(to + at) + load(from + at));
}

/// gate = silu(gate) · up over `count` features; or gelu(gate) · up, which by its tanh approximation is
/// silu with another slope: ½ (1 + tanh u) = 1 / (1 + e^-2u), u = √(2/π) (g + 0.044715 g³).
template <int vectors>
void gate_by(float* gate, const float* up, int64_t count, bool gelu) {
  constexpr float slope = 1.5957691216057308f, curve = 0.044715f;
  if (gelu) {
    for (int64_t at = 0; at < count * vectors * lanes<float>; at += lanes<float>) {
      const Vector<float> g = load(gate + at);
      const Vector<float> twice = slope * (g + curve * g * g * g);
      store(gate + at, g / (1.0f + fused::exp(-twice)) * load(up + at));
    }
    return;
  }
  for (int64_t at = 0; at < count * vectors * lanes<float>; at += lanes<float>) {
    const Vector<float> g = load(gate + at);
    store(gate + at, g / (1.0f + fused::exp(-g)) * load(up + at));
  }
}

}  // namespace openmanus::generation
