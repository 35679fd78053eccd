/// @file Token log-probability forward: softmax statistics gathered over tiles of logits.
///
/// Per token, with z the logits and m their maximum so far:  sum = sum of 2^(z - m)  and
/// weighted = sum of 2^(z - m) (z - m). Then logsumexp = m + log2(sum), and the entropy is
/// log2(sum) - weighted / sum, all in units of log 2.
#include "fused/blocks/exponential.h"
#include "fused/blocks/parallel.h"
#include "token_logprob.h"

namespace openmanus::fused {
namespace {

/// Statistics of some words for a number of tokens, one array each.
template <typename T>
struct Statistics {
  T* maximum;
  T* sum;
  T* weighted;  // null if nobody asked for the entropy

  void clear(int64_t tokens) const {
    // Finite, so that nothing subtracts infinities before the first tile.
    std::fill_n(maximum, tokens, T(-1e30));
    std::fill_n(sum, tokens, T(0));
    if (weighted) std::fill_n(weighted, tokens, T(0));
  }
};

/// Adds one vector of tokens' logits, `words` rows, to their statistics.
template <bool with_entropy, typename T>
void gather_vector(const T* logits, int64_t words, T* maximum_, T* sum_, T* weighted_) {
  const Vector<T> old = load(maximum_);
  Vector<T> top = old;
  for (int64_t word = 0; word < words; ++word)
    top = maximum<T>(top, load(logits + word * tile_row<T>));
  Vector<T> sum = {}, weighted = {};
  for (int64_t word = 0; word < words; ++word) {
    const Vector<T> z = load(logits + word * tile_row<T>) - top;
    const Vector<T> power = fused::exp2(z);
    sum += power;
    if (with_entropy) weighted += power * z;
  }
  const Vector<T> shift = old - top, rescale = fused::exp2(shift), old_sum = load(sum_);
  if (with_entropy) store(weighted_, rescale * (load(weighted_) + shift * old_sum) + weighted);
  store(sum_, rescale * old_sum + sum);
  store(maximum_, top);
}

/// Joins the statistics of all slices of the vocabulary for one token, in order.
template <typename T>
void join_slices(
    const Statistics<T>& slices, int64_t count, int64_t stride, int64_t token, T target, T* logprob,
    T* entropy, T* logsumexp) {
  T top = slices.maximum[token], sum = 0, weighted = 0;
  for (int64_t slice = 1; slice < count; ++slice)
    top = std::max(top, slices.maximum[slice * stride + token]);
  for (int64_t slice = 0; slice < count; ++slice) {
    const int64_t at = slice * stride + token;
    const T shift = slices.maximum[at] - top, rescale = std::exp2(shift);
    sum += rescale * slices.sum[at];
    if (slices.weighted) weighted += rescale * (slices.weighted[at] + shift * slices.sum[at]);
  }
  const T log_sum = std::log2(sum);
  // The maximum is taken off first: the difference is nearly exact, the logsumexp is rounded.
  *logprob = T(log_of_2) * ((target - top) - log_sum);
  if (entropy) *entropy = T(log_of_2) * (log_sum - weighted / sum);
  if (logsumexp) *logsumexp = top + log_sum;
}

}  // namespace

template <typename T>
void token_logprob_forward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    T* logprob, T* entropy, T* logsumexp, const KeptTiles<T>& kept) {
  const int64_t tokens = hidden.rows, vocab = weight.rows, depth = hidden.columns;
  const int64_t chunk_size = token_chunk_size(depth);
  // The vocabulary is shared out too, for when there are few tokens. The number of slices depends
  // on the shape alone, so that results do not depend on the number of threads.
  const int64_t slices = std::clamp<int64_t>(vocab / (4 * vocab_block), 1, 32);
  const int64_t slice_size =
      ((vocab + slices - 1) / slices + vocab_block - 1) / vocab_block * vocab_block;
  Scratch<T> packed(chunk_size * depth), target_logits(chunk_size);
  Scratch<T> maximum(slices * chunk_size), sum(slices * chunk_size);
  Scratch<T> weighted(entropy ? slices * chunk_size : 0);
  const Statistics<T> statistics{maximum, sum, entropy ? weighted.get() : nullptr};

  for (int64_t start = 0; start < tokens; start += chunk_size) {
    const int64_t count = std::min(chunk_size, tokens - start);
    const int64_t strips = (count + block_lanes<T> - 1) / block_lanes<T>;
    const int64_t blocks = (count + token_block - 1) / token_block;
    share_items(strips, [&](auto next) {
      for (int64_t strip; (strip = next()) >= 0;) {
        const int64_t token = strip * block_lanes<T>;
        pack_strip<T>(
            hidden, start + token, std::min<int64_t>(block_lanes<T>, count - token),
            inverse_temperature * T(log2_of_e), packed + token * depth);
      }
    });
    statistics.clear(slices * chunk_size);
    share_items(slices * blocks, [&](auto next) {
      Scratch<T> own(vocab_block * tile_row<T>), piece(vocab_block * depth_block<T>);
      for (int64_t item; (item = next()) >= 0;) {
        const int64_t slice = item / blocks, first_token = item % blocks * token_block;
        const int64_t block_tokens = std::min(token_block, count - first_token);
        const int64_t block_strips = (block_tokens + block_lanes<T> - 1) / block_lanes<T>;
        const int64_t last = std::min(vocab, (slice + 1) * slice_size);
        for (int64_t word = slice * slice_size; word < last; word += vocab_block) {
          const int64_t words = std::min(vocab_block, last - word);
          T* tile = kept ? kept.at(word, start + first_token) : own.get();
          logits_tile<T>(
              weight, word, words, packed + first_token * depth, block_strips, piece, tile);
          for (int64_t lane = 0; lane < block_strips * block_lanes<T>; lane += lanes<T>) {
            const int64_t at = slice * chunk_size + first_token + lane;
            if (entropy)
              gather_vector<true, T>(tile + lane, words, maximum + at, sum + at, weighted + at);
            else
              gather_vector<false, T>(tile + lane, words, maximum + at, sum + at, nullptr);
          }
          for (int64_t i = 0; i < block_tokens; ++i) {
            const int64_t target = targets[start + first_token + i] - word;
            if (target >= 0 && target < words)
              target_logits[first_token + i] = tile[target * tile_row<T> + i];
          }
        }
      }
    });
    for (int64_t i = 0; i < count; ++i)
      join_slices<T>(
          statistics, slices, chunk_size, i, target_logits[i], logprob + start + i,
          entropy ? entropy + start + i : nullptr, logsumexp ? logsumexp + start + i : nullptr);
  }
}

template void token_logprob_forward<float>(
    const Matrix&, const Matrix&, const int64_t*, float, float*, float*, float*,
    const KeptTiles<float>&);
template void token_logprob_forward<double>(
    const Matrix&, const Matrix&, const int64_t*, double, double*, double*, double*,
    const KeptTiles<double>&);

}  // namespace openmanus::fused
