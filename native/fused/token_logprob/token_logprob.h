/// @file The two kernels of openmanus::token_logprob; token_logprob.cc checks and joins them.
#pragma once

#include "logits_tile.h"

namespace openmanus::fused {

/// Tokens packed at once: at most 4 MB of float32, and a whole number of blocks.
inline int64_t token_chunk_size(int64_t hidden) {
  const int64_t tokens = (int64_t(1) << 20) / std::max<int64_t>(1, hidden);
  return std::clamp<int64_t>(tokens / token_block, 1, 8) * token_block;
}

/// All tiles of logits, for backward, or none: see KeptTiles::fit.
template <typename T>
struct KeptTiles {
  T* data = nullptr;
  int64_t token_blocks = 0;

  explicit operator bool() const { return data; }
  /// The tile of the words and tokens from these on, which begin a block.
  T* at(int64_t word, int64_t token) const {
    const int64_t block = word / vocab_block * token_blocks + token / token_block;
    return data + block * vocab_block * tile_row<T>;
  }
  static int64_t size(int64_t vocab, int64_t tokens) {
    return blocks_of(vocab, vocab_block) * blocks_of(tokens, token_block) * vocab_block *
           tile_row<T>;
  }
  /// Whether they take less than 192 MB. Then keeping them is better than the quarter of all products
  /// that it takes to make them again.
  static bool fit(int64_t vocab, int64_t tokens) {
    return size(vocab, tokens) * int64_t(sizeof(T)) < int64_t(192) << 20;
  }
};

/// Fills logprob [tokens] and, unless null, entropy [tokens], logsumexp [tokens] (in log 2) and the
/// tiles. inverse_temperature multiplies the logits.
template <typename T>
void token_logprob_forward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    T* logprob, T* entropy, T* logsumexp, const KeptTiles<T>& kept);

/// The gradients of sum(dlogprob * logprob) + sum(dentropy * entropy); dentropy may be null, and
/// then entropy too. Fills those of dhidden and dweight that are not null. Kept tiles stay as they are.
template <typename T>
void token_logprob_backward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    const T* logsumexp, const T* entropy, const T* dlogprob, const T* dentropy,
    const KeptTiles<T>& kept, const Matrix* dhidden, const Matrix* dweight);

}  // namespace openmanus::fused
