/// @file feed_forward, forward.
#include "feed_forward.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/norm_row.h"

namespace openmanus::fused {

template <typename T>
void feed_forward_forward(
    const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights, T* y,
    T* kept) {
  const Strips<T> gate_strips(blocks.hidden, blocks.features);
  const Strips<T> up_strips(blocks.hidden, blocks.features);
  const Strips<T> down_strips(blocks.features, blocks.hidden);
  pack_rows(weights.gate, gate_strips);
  pack_rows(weights.up, up_strips);
  pack_rows(weights.down, down_strips);
  const int64_t hidden = blocks.hidden, hidden_row = blocks.hidden_row, row = blocks.feature_row;
  share_items(blocks.rows.count(), [&](auto next) {
    Scratch<T> normed(blocks.rows.block * hidden_row), sums(blocks.rows.block * hidden_row);
    Scratch<T> own(kept ? 0 : 2 * blocks.tile()), activated(blocks.tile());
    for (int64_t block; (block = next()) >= 0;) {
      const int64_t begin = blocks.rows.begin_of(block), rows = blocks.rows.rows_of(block);
      const T* in = static_cast<const T*>(x.data) + begin * x.stride;
      for (int64_t i = 0; i < rows; ++i)
        normalize_row<T>(
            in + i * x.stride, weights.norm, hidden, weights.eps, normed + i * hidden_row);
      for (int64_t part = 0; part < blocks.feature_blocks; ++part) {
        T* gate = kept ? kept + blocks.kept_at(block, part) : own.get();
        T* up = gate + blocks.tile();
        const int64_t strips = blocks.strips_of(part), first = blocks.first_strip(part);
        const Left<T> left{normed, hidden_row, 1};
        multiply_strips(rows, left, gate_strips, first, strips, 0, hidden, gate, row, false);
        multiply_strips(rows, left, up_strips, first, strips, 0, hidden, up, row, false);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t at = i * row; at < i * row + strips * block_lanes<T>; at += lanes<T>) {
            const Vector<T> g = load(gate + at);
            store(activated + at, g * sigmoid<T>(g) * load(up + at));
          }
        multiply_strips<T>(
            rows, {activated, row, 1}, down_strips, 0, blocks.hidden_strips,
            part * blocks.feature_block, blocks.features_of(part), sums, hidden_row, part > 0);
      }
      for (int64_t i = 0; i < rows; ++i)
        for_each_vector<T>(hidden, [&](int64_t at, auto read, auto write) {
          write(
              y + (begin + i) * hidden, read(in + i * x.stride) + load(sums + i * hidden_row + at));
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

}  // namespace openmanus::fused
