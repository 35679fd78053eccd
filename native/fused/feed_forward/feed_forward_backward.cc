/// @file feed_forward, backward.
///
/// With s = sigmoid(gate):
///   dh = dy · down,   dgate = dh · up · s · (1 + gate · (1 - s)),   dup = dh · gate · s
///   dn = dgate · gate's weights + dup · up's
///   the weights' gradients: nᵀ dgate, nᵀ dup, dyᵀ h
/// so that features are in the lanes of everything that a block of them makes, and n and dy are on the
/// left.
#include "feed_forward.h"
#include "fused/blocks/exponential.h"
#include "fused/blocks/norm_row.h"

namespace openmanus::fused {
namespace {

template <typename T>
class Backward {
 public:
  Backward(
      const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights,
      const T* kept, const Matrix& dy, const FeedForwardGradients<T>& gradients)
      : blocks_(blocks),
        x_(x),
        weights_(weights),
        kept_(kept),
        dy_(dy),
        gradients_(gradients),
        gate_(blocks.features, blocks.hidden),
        up_(blocks.features, blocks.hidden),
        down_(blocks.hidden, blocks.features),
        dgate_(blocks.rows.parts, gradients.gate_up ? blocks.hidden : 0, blocks.features),
        dup_(blocks.rows.parts, gradients.gate_up ? blocks.hidden : 0, blocks.features),
        ddown_(blocks.rows.parts, gradients.down ? blocks.hidden : 0, blocks.features),
        dnorm_(blocks.rows.parts * blocks.hidden) {}

  void run() {
    pack_columns(weights_.down, down_);
    if (needs_dnormed()) {
      pack_columns(weights_.gate, gate_);
      pack_columns(weights_.up, up_);
    }
    const RowBlocks& rows = blocks_.rows;
    share_items(rows.parts, [&](auto next) {
      const Working working(blocks_);
      for (int64_t part; (part = next()) >= 0;)
        for (int64_t i = 0; i < rows.part_blocks; ++i)
          go_back(part, part * rows.part_blocks + i, i > 0, working);
    });
    add_parts();
  }

 private:
  /// One thread's memory.
  struct Working {
    Scratch<T> normed, scales, dnormed, dnorm, dgate, dup, activated;
    Panels<T> left_normed, left_dy;

    explicit Working(const FeedForwardBlocks<T>& blocks)
        : normed(blocks.rows.block * blocks.hidden_row),
          scales(blocks.rows.block),
          dnormed(blocks.rows.block * blocks.hidden_row),
          dnorm(blocks.hidden),
          dgate(blocks.tile()),
          dup(blocks.tile()),
          activated(blocks.tile()),
          left_normed(blocks.rows.block, blocks.hidden),
          left_dy(blocks.rows.block, blocks.hidden) {}
  };

  bool needs_dnormed() const { return gradients_.x || gradients_.norm; }

  void go_back(int64_t part, int64_t block, bool add, const Working& working) {
    const int64_t begin = blocks_.rows.begin_of(block), rows = blocks_.rows.rows_of(block);
    const int64_t hidden = blocks_.hidden, hidden_row = blocks_.hidden_row;
    const T* x = static_cast<const T*>(x_.data) + begin * x_.stride;
    const T* dy = static_cast<const T*>(dy_.data) + begin * dy_.stride;
    for (int64_t i = 0; i < rows; ++i)
      working.scales[i] = normalize_row<T>(
          x + i * x_.stride, weights_.norm, hidden, weights_.eps, working.normed + i * hidden_row);
    if (gradients_.gate_up) working.left_normed.read_from(working.normed, hidden_row, rows);
    if (gradients_.down) working.left_dy.read_from(dy, dy_.stride, rows);
    for (int64_t features = 0; features < blocks_.feature_blocks; ++features) {
      activate(rows, dy, kept_ + blocks_.kept_at(block, features), features, working);
      sum_weights(part, rows, features, add, working);
      if (!needs_dnormed()) continue;
      const int64_t first = features * blocks_.feature_block;
      const auto through = [&](const T* gradient, const Strips<T>& weight, bool adds) {
        multiply_strips<T>(
            rows, {gradient, blocks_.feature_row, 1}, weight, 0, blocks_.hidden_strips, first,
            blocks_.features_of(features), working.dnormed, hidden_row, adds);
      };
      through(working.dgate, gate_, features > 0);
      through(working.dup, up_, true);
    }
    if (needs_dnormed()) normalize_back(part, begin, rows, add, working);
  }

  /// dgate, dup and h of a block of features.
  void activate(
      int64_t rows, const T* dy, const T* kept, int64_t features, const Working& working) {
    const int64_t strips = blocks_.strips_of(features), row = blocks_.feature_row;
    multiply_strips<T>(
        rows, {dy, dy_.stride, 1}, down_, blocks_.first_strip(features), strips, 0, blocks_.hidden,
        working.dgate, row, false);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t at = i * row; at < i * row + strips * block_lanes<T>; at += lanes<T>) {
        const Vector<T> g = load(kept + at), u = load(kept + blocks_.tile() + at);
        const Vector<T> dh = load(working.dgate + at), s = sigmoid<T>(g), silu = g * s;
        store(working.activated + at, silu * u);
        store(working.dup + at, dh * silu);
        store(working.dgate + at, dh * u * s * (T(1) + g * (T(1) - s)));
      }
  }

  void sum_weights(int64_t part, int64_t rows, int64_t features, bool add, const Working& working) {
    for (int64_t i = 0; i < blocks_.strips_of(features); ++i) {
      const int64_t strip = blocks_.first_strip(features) + i, lane = i * block_lanes<T>;
      const auto sum = [&](const Panels<T>& left, const T* right, const PartSums<T>& to) {
        left.multiply(rows, right + lane, blocks_.feature_row, to.at(part, strip), add);
      };
      if (gradients_.gate_up) {
        sum(working.left_normed, working.dgate, dgate_);
        sum(working.left_normed, working.dup, dup_);
      }
      if (gradients_.down) sum(working.left_dy, working.activated, ddown_);
    }
  }

  /// With g = dn · weight and m = x · scale:  dx = dy + scale · (g - m · mean(g · m)),  dweight = Σ dn · m.
  void normalize_back(int64_t part, int64_t begin, int64_t rows, bool add, const Working& working) {
    const int64_t hidden = blocks_.hidden;
    T* dnorm = working.dnorm;
    std::fill_n(dnorm, hidden, T(0));
    for (int64_t i = 0; i < rows; ++i) {
      const T* x = static_cast<const T*>(x_.data) + (begin + i) * x_.stride;
      const T* dy = static_cast<const T*>(dy_.data) + (begin + i) * dy_.stride;
      const T* dn = working.dnormed + i * blocks_.hidden_row;
      const T scale = working.scales[i];
      Vector<T> products = {};
      for_each_vector<T>(hidden, [&](int64_t, auto read, auto write) {
        const Vector<T> d = read(dn), m = read(x) * scale;
        products += d * read(weights_.norm) * m;
        write(dnorm, read(dnorm) + d * m);
      });
      if (!gradients_.x) continue;
      const T mean = horizontal_sum<T>(products) / T(hidden);
      for_each_vector<T>(hidden, [&](int64_t, auto read, auto write) {
        const Vector<T> m = read(x) * scale;
        write(
            gradients_.x + (begin + i) * hidden,
            read(dy) + scale * (read(dn) * read(weights_.norm) - m * mean));
      });
    }
    T* sum = dnorm_ + part * hidden;
    for (int64_t i = 0; i < hidden; ++i) sum[i] = add ? sum[i] + dnorm[i] : dnorm[i];
  }

  /// The parts' sums, in order, to where each weight has its features.
  void add_parts() {
    const int64_t hidden = blocks_.hidden, features = blocks_.features;
    share_items(ddown_.strips, [&](auto next) {
      for (int64_t strip; (strip = next()) >= 0;) {
        const int64_t first = strip * block_lanes<T>;
        const int64_t count = std::min<int64_t>(block_lanes<T>, features - first);
        const auto turn = [&](const T* sum, T* to) {
          for (int64_t i = 0; i < hidden; ++i)
            for (int64_t lane = 0; lane < count; ++lane)
              to[lane * hidden + i] = sum[i * block_lanes<T> + lane];
        };
        if (gradients_.gate_up) {
          turn(dgate_.total(strip), gradients_.gate_up + first * hidden);
          turn(dup_.total(strip), gradients_.gate_up + (features + first) * hidden);
        }
        if (gradients_.down) {
          const T* sum = ddown_.total(strip);
          for (int64_t i = 0; i < hidden; ++i)
            std::copy_n(sum + i * block_lanes<T>, count, gradients_.down + i * features + first);
        }
      }
    });
    if (!gradients_.norm) return;
    std::copy_n(dnorm_.get(), hidden, gradients_.norm);
    for (int64_t part = 1; part < blocks_.rows.parts; ++part)
      for (int64_t i = 0; i < hidden; ++i) gradients_.norm[i] += dnorm_[part * hidden + i];
  }

  const FeedForwardBlocks<T>& blocks_;
  const Matrix& x_;
  const FeedForwardWeights<T>& weights_;
  const T* kept_;
  const Matrix& dy_;
  const FeedForwardGradients<T>& gradients_;
  /// As they lie, with the hidden ones of gate and up, the features of down in the lanes.
  Strips<T> gate_, up_, down_;
  PartSums<T> dgate_, dup_, ddown_;
  Scratch<T> dnorm_;  // [parts, hidden]
};

}  // namespace

template <typename T>
void feed_forward_backward(
    const FeedForwardBlocks<T>& blocks, const Matrix& x, const FeedForwardWeights<T>& weights,
    const T* kept, const Matrix& dy, const FeedForwardGradients<T>& gradients) {
  Backward<T>(blocks, x, weights, kept, dy, gradients).run();
}

template void feed_forward_backward<float>(
    const FeedForwardBlocks<float>&, const Matrix&, const FeedForwardWeights<float>&, const float*,
    const Matrix&, const FeedForwardGradients<float>&);
template void feed_forward_backward<double>(
    const FeedForwardBlocks<double>&, const Matrix&, const FeedForwardWeights<double>&,
    const double*, const Matrix&, const FeedForwardGradients<double>&);

}  // namespace openmanus::fused
