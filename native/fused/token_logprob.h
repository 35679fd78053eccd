/// @file The two kernels of openmanus::token_logprob; token_logprob.cc checks and joins them.
#pragma once

#include "logits_tile.h"

namespace openmanus::fused {

/// Tokens packed at once: at most 4 MB of float32, and a whole number of blocks.
inline int64_t token_chunk_size(int64_t hidden) {
  const int64_t tokens = (int64_t(1) << 20) / std::max<int64_t>(1, hidden);
  return std::clamp<int64_t>(tokens / token_block, 1, 8) * token_block;
}

/// Fills logprob [tokens] and, unless null, entropy [tokens] and logsumexp [tokens] (in log 2).
/// inverse_temperature multiplies the logits.
template <typename T>
void token_logprob_forward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    T* logprob, T* entropy, T* logsumexp);

/// The gradients of sum(dlogprob * logprob) + sum(dentropy * entropy); dentropy may be null, and
/// then entropy too. Fills those of dhidden and dweight that are not null.
template <typename T>
void token_logprob_backward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    const T* logsumexp, const T* entropy, const T* dlogprob, const T* dentropy,
    const Matrix* dhidden, const Matrix* dweight);

} // namespace openmanus::fused
