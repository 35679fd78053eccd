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
  const float* after_attention;      // [hidden], of what o gives; or null
  const float* before_feed_forward;  // [hidden]
  Weight gate_up;                    // rows of gate, then up
  Weight down;
  const float* after_feed_forward;  // [hidden], of what down gives; or null
  int64_t rope;                     // which of the decoder's it turns by; -1: it does not turn
  Layer cache;
};

struct Decoder {
  int64_t hidden, heads, kv_heads, head_dim, intermediate, value_width, page_size;
  double eps;
  bool gelu;              // gates go through gelu's tanh approximation, not silu
  Weight embedding;       // [vocabulary, hidden]
  float embedding_scale;  // what embeddings are multiplied by
  const float* norm;      // [hidden]
  Weight output;          // [vocabulary, hidden]
  // [ropes, positions, head_dim / 2]
  const float* cos;
  const float* sin;
  int64_t ropes, positions;
  std::vector<DecoderLayer> layers;
  /// Vectors that are not weights as they lie in memory: norms that multiply by 1 + weight, with that sum;
  /// those of bfloat16, widened.
  std::vector<std::vector<float>> made_vectors;

  int64_t query_features() const { return heads * head_dim; }
  int64_t key_features() const { return kv_heads * head_dim; }
  int64_t qkv_features() const { return query_features() + 2 * key_features(); }
};

/// What decoder_step is given. Weights: embedding, norm and output, then twelve for each layer in the
/// order of DecoderLayer, each matrix that can have a bias (qkv, o) followed by it or nothing.
struct DecoderTensors {
  const c10::List<c10::optional<at::Tensor>>& weights;
  at::TensorList key_caches, value_caches;
  const at::Tensor &cos, &sin;
  int64_t heads;
  at::IntArrayRef windows;  // -1: none
  at::IntArrayRef ropes;    // -1: none
  double eps, scale, embedding_scale;
  bool norms_add_one, gelu;
};

/// Throws where shapes or dtypes do not fit together.
Decoder decoder_of(const DecoderTensors& tensors);

/// The new tokens of a pass, and those whose logits are wanted.
struct StepTokens {
  const int32_t* ids;  // [tokens]
  int64_t tokens;
  Batch batch;
  const int32_t* wanted;  // tokens whose logits are wanted, each once
  int64_t wanted_count;
};

/// Computes the pass; logits [wanted, vocabulary].
void run_decoder(const Decoder& decoder, const StepTokens& step, float* logits);

}  // namespace openmanus::generation
