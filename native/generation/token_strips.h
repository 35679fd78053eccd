/// @file Activations with the tokens in the vector lanes, and the operations of a decoder on them.
///
/// The tokens of a pass are cut into strips of one, two or three vectors; a strip is
/// [features, width]. A matrix of weights [out, in] is then the left factor of a product as it lies in
/// memory, whoever else uses it, and everything else (norms, rotation, gates) goes lane by lane.
/// A token's numbers do not depend on its neighbours in the strip, nor on the strip's width.
#pragma once

#include <ATen/ATen.h>

#include "fused/exponential.h"
#include "fused/tile_product.h"

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

/// [rows, columns], contiguous, with an optional bias [rows].
struct Weight {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;
};

/// Weights that will probably be multiplied next. They are too many for a cache that the keys and values
/// go through too, and a processor that only waits for them loses a third of its speed: so they are
/// asked for while others are multiplied with, a few lines at a time, as many as can be under way.
class Ahead {
 public:
  Ahead(const float* from, int64_t count) : at_(from), end_(from + count) {}

  /// Asks for them in so many steps...
  void share_out(int64_t steps) { step_ = (end_ - at_ + steps * line - 1) / (steps * line) * line; }
  /// ... of which this is one.
  void fetch() {
    const float* stop = at_ + std::min<int64_t>(step_, end_ - at_);
    for (; at_ < stop; at_ += line) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t line = 64 / sizeof(float);
  const float *at_, *end_;
  int64_t step_ = 0;
};

/// How far along the inner dimension a product goes at once: the strip's part stays in the first cache.
constexpr int64_t inner_block = 256;

/// out[i] (+)= weight[row + i] · in, i < rows, for the strips [begin, end). `out` is the place of the
/// first result in the first of them; in the next it is `out_stride` further.
template <int vectors>
void multiply(
    const Weight& weight, int64_t row, int64_t rows, const TokenStrips& in, int64_t begin,
    int64_t end, float* out, int64_t out_stride, bool add, Ahead ahead) {
  constexpr int64_t width = vectors * lanes<float>, most = rows_of_block<vectors>;
  const int64_t passes = (weight.columns + inner_block - 1) / inner_block;
  ahead.share_out(passes * (end - begin) * ((rows + most - 1) / most));
  for (int64_t at = 0; at < weight.columns; at += inner_block) {
    const float* left = weight.data + row * weight.columns + at;
    const int64_t depth = std::min(inner_block, weight.columns - at);
    for (int64_t strip = begin; strip < end; ++strip)
      for (int64_t i = 0, taken; i < rows; i += taken) {
        taken = rows_of_next_block<vectors>(rows - i);
        ahead.fetch();
        strip_product<vectors, float>(
            taken, {left + i * weight.columns, weight.columns, 1}, in.row(strip, at), width,
            out + (strip - begin) * out_stride + i * width, width, depth, add || at > 0);
      }
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

/// gate = silu(gate) · up over `count` features.
template <int vectors>
void gate_by(float* gate, const float* up, int64_t count) {
  for (int64_t at = 0; at < count * vectors * lanes<float>; at += lanes<float>) {
    const Vector<float> g = load(gate + at);
    store(gate + at, g / (1.0f + fused::exp(-g)) * load(up + at));
  }
}

} // namespace openmanus::generation
