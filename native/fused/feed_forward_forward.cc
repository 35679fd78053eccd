/// @file feed_forward, forward.
#include "exponential.h"
#include "feed_forward.h"
#include "parallel.h"

namespace openmanus::fused {
namespace {

/// Both matrices with their rows in the lanes: features of gate and of up, hidden ones of down.
template <typename T>
struct Packed {
  Strips<T> gate, up, down;

  Packed(const FeedForwardBlocks<T>& blocks, const FeedForwardWeights<T>& weights)
      : gate(blocks.hidden, blocks.features),
        up(blocks.hidden, blocks.features),
        down(blocks.features, blocks.hidden) {
    const int64_t wide = blocks.feature_strips;
    share_items(2 * wide + blocks.hidden_strips, [&](auto next) {
      const auto pack = [](const Matrix& matrix, int64_t begin, int64_t end, int64_t strip,
                           const Strips<T>& to) {
        const int64_t first = begin + strip * block_lanes<T>;
        pack_strip<T>(
            matrix, first, std::min<int64_t>(block_lanes<T>, end - first), T(1), to.at(strip, 0));
      };
      for (int64_t item; (item = next()) >= 0;)
        if (item < wide)
          pack(weights.gate_up, 0, blocks.features, item, gate);
        else if (item < 2 * wide)
          pack(weights.gate_up, blocks.features, 2 * blocks.features, item - wide, up);
        else
          pack(weights.down, 0, blocks.hidden, item - 2 * wide, down);
    });
  }
};

} // namespace

template <typename T>
void feed_forward_forward(
    const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights, T* y,
    T* kept) {
  const Packed<T> packed(blocks, weights);
  const int64_t hidden = blocks.hidden, hidden_row = blocks.hidden_row, row = blocks.feature_row;
  share_items(blocks.row_blocks(), [&](auto next) {
    Scratch<T> normed(blocks.row_block * hidden_row), sums(blocks.row_block * hidden_row);
    Scratch<T> own(kept ? 0 : 2 * blocks.tile()), activated(blocks.tile());
    for (int64_t block; (block = next()) >= 0;) {
      const int64_t begin = blocks.begin_of(block), rows = blocks.end_of(block) - begin;
      if (rows <= 0) continue;
      const T* in = static_cast<const T*>(x.data) + begin * x.stride;
      for (int64_t i = 0; i < rows; ++i) {
        const T* from = in + i * x.stride;
        const T scale = norm_scale<T>(from, hidden, weights.eps);
        for_each_vector<T>(hidden, [&](int64_t at, auto read, auto) {
          store(normed + i * hidden_row + at, read(from) * scale * read(weights.norm));
        });
      }
      for (int64_t part = 0; part < blocks.feature_blocks; ++part) {
        T* gate = kept ? kept + blocks.kept_at(block, part) : own.get();
        T* up = gate + blocks.tile();
        const int64_t strips = blocks.strips_of(part), first = blocks.first_strip(part);
        const Left<T> left{normed, hidden_row, 1};
        multiply_strips(rows, left, packed.gate, first, strips, 0, hidden, gate, row, false);
        multiply_strips(rows, left, packed.up, first, strips, 0, hidden, up, row, false);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t at = i * row; at < i * row + strips * block_lanes<T>; at += lanes<T>) {
            const Vector<T> g = load(gate + at);
            store(activated + at, g * sigmoid<T>(g) * load(up + at));
          }
        multiply_strips<T>(
            rows, {activated, row, 1}, packed.down, 0, blocks.hidden_strips,
            part * blocks.feature_block, blocks.features_of(part), sums, hidden_row, part > 0);
      }
      for (int64_t i = 0; i < rows; ++i)
        for_each_vector<T>(hidden, [&](int64_t at, auto read, auto write) {
          write(y + (begin + i) * hidden, read(in + i * x.stride) + load(sums + i * hidden_row + at));
        });
    }
  });
}

template void feed_forward_forward<float>(
    const FeedForwardBlocks<float>&, const Matrix&, const FeedForwardWeights<float>&, float*,
    float*);
template void feed_forward_forward<double>(
    const FeedForwardBlocks<double>&, const Matrix&, const FeedForwardWeights<double>&, double*,
    double*);

} // namespace openmanus::fused
