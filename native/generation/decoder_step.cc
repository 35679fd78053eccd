/// @file openmanus::decoder_step: one pass of a whole decoder over the new tokens of many sequences,
/// their keys and values into the cache, the logits of those that draw.
#include <torch/library.h>

#include "decoder.h"

namespace openmanus::generation {
namespace {

using at::Tensor;

constexpr const char* name = "decoder_step";

/// float32 of a shape, contiguous, on the CPU.
const float* numbers(const Tensor& tensor, at::IntArrayRef shape, const char* what) {
  TORCH_CHECK(
      tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() && tensor.is_contiguous() &&
          tensor.sizes() == shape,
      "decoder_step: ", what, " must be contiguous float32 ", shape, " on the CPU, got ",
      tensor.scalar_type(), " ", tensor.sizes(), " on ", tensor.device());
  return tensor.data_ptr<float>();
}

/// Takes the weights one after the other.
class WeightReader {
 public:
  explicit WeightReader(const c10::List<c10::optional<Tensor>>& weights) : weights_(weights) {}

  c10::optional<Tensor> next() {
    TORCH_CHECK(at_ < weights_.size(), "decoder_step: weights end after ", at_, " tensors");
    return weights_.get(at_++);
  }
  Tensor tensor(const char* what) {
    const c10::optional<Tensor> tensor = next();
    TORCH_CHECK(tensor.has_value() && tensor->defined(), "decoder_step: ", what, " is missing");
    return *tensor;
  }
  const float* vector(const char* what, int64_t size) {
    return numbers(tensor(what), {size}, what);
  }
  const float* optional_vector(const char* what, int64_t size) {
    const c10::optional<Tensor> tensor = next();
    return tensor.has_value() && tensor->defined() ? numbers(*tensor, {size}, what) : nullptr;
  }
  Weight matrix(const char* what, int64_t rows, int64_t columns) {
    return {numbers(tensor(what), {rows, columns}, what), rows, columns, nullptr};
  }
  Weight biased_matrix(const char* what, int64_t rows, int64_t columns) {
    Weight weight = matrix(what, rows, columns);
    weight.bias = optional_vector(what, rows);
    return weight;
  }
  /// The rows of the matrix that comes next, where no configuration says them.
  int64_t rows_ahead(size_t ahead) const {
    const size_t at = at_ + ahead;
    TORCH_CHECK(at < weights_.size(), "decoder_step: weights end after ", weights_.size());
    const c10::optional<Tensor> tensor = weights_.get(at);
    TORCH_CHECK(
        tensor.has_value() && tensor->dim() == 2, "decoder_step: weight ", at, " must be a matrix");
    return tensor->size(0);
  }
  bool finished() const { return at_ == weights_.size(); }

 private:
  const c10::List<c10::optional<Tensor>>& weights_;
  size_t at_ = 0;
};

}  // namespace

Decoder decoder_of(const DecoderTensors& given) {
  const size_t layers = given.key_caches.size();
  TORCH_CHECK(
      layers >= 1 && given.value_caches.size() == layers && given.windows.size() == layers,
      "decoder_step: expected as many value caches and windows as key caches (", layers,
      ", at least 1), got ", given.value_caches.size(), " and ", given.windows.size());
  TORCH_CHECK(
      given.key_caches[0].dim() == 4 && given.value_caches[0].dim() == 4 && given.cos.dim() == 2,
      "decoder_step: caches must have four dimensions, cos and sin two");
  WeightReader weights(given.weights);
  Decoder decoder;
  decoder.heads = given.heads;
  decoder.kv_heads = given.key_caches[0].size(1);
  decoder.head_dim = given.key_caches[0].size(2);
  decoder.page_size = given.key_caches[0].size(3);
  decoder.value_width = given.value_caches[0].size(3);
  decoder.eps = given.eps;
  TORCH_CHECK(
      decoder.kv_heads >= 1 && decoder.heads >= 1 && decoder.heads % decoder.kv_heads == 0 &&
          decoder.head_dim % 2 == 0,
      "decoder_step: ", decoder.kv_heads, " key heads must divide ", decoder.heads,
      " heads, and head_dim ", decoder.head_dim, " must be even");
  decoder.positions = given.cos.size(0);
  decoder.cos = numbers(given.cos, {decoder.positions, decoder.head_dim / 2}, "cos");
  decoder.sin = numbers(given.sin, {decoder.positions, decoder.head_dim / 2}, "sin");

  const Tensor embedding = weights.tensor("the embedding");
  TORCH_CHECK(embedding.dim() == 2, "decoder_step: the embedding must be a matrix");
  const int64_t vocabulary = embedding.size(0), hidden = decoder.hidden = embedding.size(1);
  decoder.embedding = {
      numbers(embedding, embedding.sizes(), "the embedding"), vocabulary, hidden, nullptr};
  decoder.norm = weights.vector("the last norm", hidden);
  decoder.output = weights.matrix("the output matrix", vocabulary, hidden);
  // Of a layer's ten weights the ninth is gate_up, whose rows are twice the intermediate size.
  decoder.intermediate = weights.rows_ahead(8) / 2;
  const int64_t queries = decoder.query_features(), keys = decoder.key_features();
  for (size_t i = 0; i < layers; ++i) {
    DecoderLayer layer;
    layer.input_norm = weights.vector("input_layernorm", hidden);
    layer.qkv = weights.biased_matrix("qkv_proj", queries + 2 * keys, hidden);
    layer.q_norm = weights.optional_vector("q_norm", decoder.head_dim);
    layer.k_norm = weights.optional_vector("k_norm", decoder.head_dim);
    layer.o = weights.biased_matrix("o_proj", hidden, queries);
    layer.post_norm = weights.vector("post_attention_layernorm", hidden);
    layer.gate_up = weights.matrix("gate_up_proj", 2 * decoder.intermediate, hidden);
    layer.down = weights.matrix("down_proj", hidden, decoder.intermediate);
    check_cache(
        name, given.key_caches[i], given.value_caches[i], decoder.kv_heads, decoder.head_dim);
    TORCH_CHECK(
        given.key_caches[i].sizes() == given.key_caches[0].sizes() &&
            given.value_caches[i].sizes() == given.value_caches[0].sizes(),
        "decoder_step: the caches of layer ", i, " are not as large as those of layer 0");
    TORCH_CHECK(
        given.windows[i] == -1 || given.windows[i] >= 1,
        "decoder_step: a window must be at least 1, or -1 for none, got ", given.windows[i]);
    layer.cache = {
        given.key_caches[i].data_ptr<float>(), given.value_caches[i].data_ptr<float>(),
        1 / std::sqrt(double(decoder.head_dim)), given.windows[i]};
    decoder.layers.push_back(layer);
  }
  TORCH_CHECK(weights.finished(), "decoder_step: there are more weights than layers have");
  return decoder;
}

namespace {

Tensor decoder_step(
    const c10::List<c10::optional<Tensor>>& weights, at::TensorList key_caches,
    at::TensorList value_caches, const Tensor& cos, const Tensor& sin, const Tensor& ids,
    const Tensor& query_offsets, const Tensor& lengths, const Tensor& page_offsets,
    const Tensor& pages, const Tensor& wanted, int64_t heads, at::IntArrayRef windows, double eps) {
  const Decoder decoder =
      decoder_of({weights, key_caches, value_caches, cos, sin, heads, windows, eps});
  const int64_t sequences = lengths.numel(), tokens = ids.numel();
  const int64_t vocabulary = decoder.output.rows;
  const StepTokens step{
      integers(name, "ids", ids, -1),
      tokens,
      {decoder.heads, decoder.kv_heads, decoder.head_dim, decoder.value_width, decoder.page_size,
       sequences, integers(name, "query_offsets", query_offsets, sequences + 1),
       integers(name, "lengths", lengths, sequences),
       integers(name, "page_offsets", page_offsets, sequences + 1),
       integers(name, "pages", pages, -1)},
      integers(name, "wanted", wanted, -1),
      wanted.numel()};
  check_pages(name, step.batch, tokens, page_offsets, pages, key_caches[0].size(0));
  for (int64_t i = 0; i < tokens; ++i)
    TORCH_CHECK(
        step.ids[i] >= 0 && step.ids[i] < vocabulary, "decoder_step: id ", step.ids[i],
        " is not in the vocabulary of ", vocabulary);
  TORCH_CHECK(
      step.batch.longest() <= decoder.positions, "decoder_step: a sequence of ",
      step.batch.longest(), " tokens, but cos and sin are of ", decoder.positions, " positions");
  for (int64_t i = 0; i < step.wanted_count; ++i)
    TORCH_CHECK(
        step.wanted[i] >= 0 && step.wanted[i] < sequences &&
            step.batch.new_tokens(step.wanted[i]) > 0,
        "decoder_step: wanted ", step.wanted[i], " is not a sequence with new tokens");
  Tensor logits = at::empty({step.wanted_count, vocabulary}, at::kFloat);
  run_decoder(decoder, step, logits.data_ptr<float>());
  return logits;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "decoder_step(Tensor?[] weights, Tensor(a!)[] key_caches, Tensor(b!)[] value_caches, "
      "Tensor cos, Tensor sin, Tensor ids, Tensor query_offsets, Tensor lengths, "
      "Tensor page_offsets, Tensor pages, Tensor wanted, int heads, int[] windows, float eps) "
      "-> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("decoder_step", decoder_step); }

}  // namespace openmanus::generation
