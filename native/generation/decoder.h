/// @file A decoder's weights and cache, as decoder_step uses them.
#pragma once

#include <vector>

#include "paged_attention.h"
#include "token_strips.h"

namespace openmanus::generation {

struct DecoderLayer {
  const float* input_norm;  // [hidden]
  Weight qkv;               // rows of q, then k, then v
  const float* q_norm;      // [head_dim], or null
  const float* k_norm;
  Weight o;
  const float* post_norm;  // [hidden]
  Weight gate_up;          // rows of gate, then up
  Weight down;
  Layer cache;
};

struct Decoder {
  int64_t hidden, heads, kv_heads, head_dim, intermediate, value_width, page_size;
  double eps;
  Weight embedding;   // [vocabulary, hidden]
  const float* norm;  // [hidden]
  Weight output;      // [vocabulary, hidden]
  // [positions, head_dim / 2]
  const float* cos;
  const float* sin;
  int64_t positions;
  std::vector<DecoderLayer> layers;

  int64_t query_features() const { return heads * head_dim; }
  int64_t key_features() const { return kv_heads * head_dim; }
  int64_t qkv_features() const { return query_features() + 2 * key_features(); }
};

/// What decoder_step is given. Weights: embedding, norm and output, then ten for each layer in the
/// order of DecoderLayer, each matrix that can have a bias (qkv, o) followed by it or nothing.
struct DecoderTensors {
  const c10::List<c10::optional<at::Tensor>>& weights;
  at::TensorList key_caches, value_caches;
  const at::Tensor &cos, &sin;
  int64_t heads;
  at::IntArrayRef windows;  // -1: none
  double eps;
};

/// Throws where shapes or dtypes do not fit together.
Decoder decoder_of(const DecoderTensors& tensors);

/// The new tokens of a pass, and those whose logits are wanted.
struct StepTokens {
  const int32_t* ids;  // [tokens]
  int64_t tokens;
  Batch batch;
  const int32_t* wanted;  // sequences whose last token's logits are wanted, each once
  int64_t wanted_count;
};

/// Computes the pass; logits [wanted, vocabulary].
void run_decoder(const Decoder& decoder, const StepTokens& step, float* logits);

}  // namespace openmanus::generation
