/// @file openmanus::decoder_step: one pass of a whole decoder over the new tokens of many sequences,
/// their keys and values into the cache, the logits of those that are wanted.
#include <torch/library.h>

#include "decoder.h"

namespace openmanus::generation {
namespace {

using at::Tensor;

constexpr const char* name = "decoder_step";

/// Throws unless it has this shape, is contiguous, on the CPU, and of float32 or (`shorter`) bfloat16.
void check_numbers(
    const Tensor& tensor, at::IntArrayRef shape, const char* what, bool shorter = false) {
  const bool has_dtype =
      tensor.scalar_type() == at::kFloat || (shorter && tensor.scalar_type() == at::kBFloat16);
  TORCH_CHECK(
      has_dtype && tensor.device().is_cpu() && tensor.is_contiguous() && tensor.sizes() == shape,
      "decoder_step: ", what, " must be contiguous float32 ", shorter ? "or bfloat16 " : "", shape,
      " on the CPU, got ", tensor.scalar_type(), " ", tensor.sizes(), " on ", tensor.device());
}

const Short* shorts_of(const Tensor& tensor) {
  return reinterpret_cast<const Short*>(tensor.data_ptr<at::BFloat16>());
}

/// float32 of a shape, contiguous, on the CPU.
const float* numbers(const Tensor& tensor, at::IntArrayRef shape, const char* what) {
  check_numbers(tensor, shape, what);
  return tensor.data_ptr<float>();
}

/// Of float32, bfloat16, or int8 as quantize_rows makes it.
Weight weight_of(const Tensor& tensor, at::IntArrayRef shape, const char* what) {
  Weight weight;
  weight.rows = shape[0];
  weight.columns = shape[1];
  if (tensor.scalar_type() == at::kChar) {
    TORCH_CHECK(
        tensor.device().is_cpu() && tensor.is_contiguous() && tensor.dim() == 2 &&
            tensor.size(0) == weight.rows && tensor.size(1) == bytes_of_row(weight.columns),
        "decoder_step: ", what, " in int8 must be what quantize_rows makes of ", shape, ", got ",
        tensor.sizes());
    weight.bytes = tensor.data_ptr<int8_t>();
    return weight;
  }
  check_numbers(tensor, shape, what, true);
  if (tensor.scalar_type() == at::kFloat)
    weight.data = tensor.data_ptr<float>();
  else
    weight.shorts = shorts_of(tensor);
  return weight;
}

/// Takes the weights one after the other.
class WeightReader {
 public:
  /// Vectors that are not there as they are needed (in bfloat16, norms without their one) go to `made`.
  WeightReader(
      const c10::List<c10::optional<Tensor>>& weights, bool norms_add_one,
      std::vector<std::vector<float>>& made)
      : weights_(weights), norms_add_one_(norms_add_one), made_(made) {}

  c10::optional<Tensor> next() {
    TORCH_CHECK(at_ < weights_.size(), "decoder_step: weights end after ", at_, " tensors");
    return weights_.get(at_++);
  }
  Tensor tensor(const char* what) {
    const c10::optional<Tensor> tensor = next();
    TORCH_CHECK(tensor.has_value() && tensor->defined(), "decoder_step: ", what, " is missing");
    return *tensor;
  }
  const float* optional_vector(const char* what, int64_t size) {
    const c10::optional<Tensor> tensor = next();
    return tensor.has_value() && tensor->defined() ? vector_of(*tensor, what, size) : nullptr;
  }
  const float* norm(const char* what, int64_t size) { return norm_of(tensor(what), what, size); }
  const float* norm_of(const Tensor& tensor, const char* what, int64_t size) {
    return shifted(vector_of(tensor, what, size), size);
  }
  const float* optional_norm(const char* what, int64_t size) {
    return shifted(optional_vector(what, size), size);
  }
  Weight matrix(const char* what, int64_t rows, int64_t columns) {
    return weight_of(tensor(what), {rows, columns}, what);
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
  const float* vector_of(const Tensor& tensor, const char* what, int64_t size) {
    check_numbers(tensor, {size}, what, true);
    if (tensor.scalar_type() == at::kFloat) return tensor.data_ptr<float>();
    std::vector<float>& wide = made_.emplace_back(size);
    widen(shorts_of(tensor), size, wide.data());
    return wide.data();
  }

  const float* shifted(const float* weight, int64_t size) {
    if (!norms_add_one_ || !weight) return weight;
    std::vector<float>& sums = made_.emplace_back(weight, weight + size);
    for (float& value : sums) value += 1.0f;
    return sums.data();
  }

  const c10::List<c10::optional<Tensor>>& weights_;
  bool norms_add_one_;
  std::vector<std::vector<float>>& made_;
  size_t at_ = 0;
};

}  // namespace

Decoder decoder_of(const DecoderTensors& given) {
  const size_t layers = given.key_caches.size();
  TORCH_CHECK(
      layers >= 1 && given.value_caches.size() == layers && given.windows.size() == layers &&
          given.ropes.size() == layers,
      "decoder_step: expected as many value caches, windows and ropes as key caches (", layers,
      ", at least 1), got ", given.value_caches.size(), ", ", given.windows.size(), " and ",
      given.ropes.size());
  TORCH_CHECK(
      given.key_caches[0].dim() == 4 && given.value_caches[0].dim() == 4 && given.cos.dim() == 3,
      "decoder_step: caches must have four dimensions, cos and sin three");
  TORCH_CHECK(
      std::isfinite(given.scale) && std::isfinite(given.embedding_scale),
      "decoder_step: scales must be finite, got ", given.scale, " and ", given.embedding_scale);
  Decoder decoder;
  WeightReader weights(given.weights, given.norms_add_one, decoder.made_vectors);
  decoder.heads = given.heads;
  decoder.kv_heads = given.key_caches[0].size(1);
  decoder.head_dim = given.key_caches[0].size(2);
  decoder.page_size = given.key_caches[0].size(3);
  decoder.value_width = given.value_caches[0].size(3);
  decoder.eps = given.eps;
  decoder.gelu = given.gelu;
  decoder.embedding_scale = float(given.embedding_scale);
  TORCH_CHECK(
      decoder.kv_heads >= 1 && decoder.heads >= 1 && decoder.heads % decoder.kv_heads == 0 &&
          decoder.head_dim % 2 == 0,
      "decoder_step: ", decoder.kv_heads, " key heads must divide ", decoder.heads,
      " heads, and head_dim ", decoder.head_dim, " must be even");
  decoder.ropes = given.cos.size(0);
  decoder.positions = given.cos.size(1);
  const int64_t angles[] = {decoder.ropes, decoder.positions, decoder.head_dim / 2};
  decoder.cos = numbers(given.cos, angles, "cos");
  decoder.sin = numbers(given.sin, angles, "sin");

  const Tensor embedding = weights.tensor("the embedding");
  TORCH_CHECK(embedding.dim() == 2, "decoder_step: the embedding must be a matrix");
  // The norm says how many columns it has, in int8, too.
  const Tensor norm = weights.tensor("the last norm");
  const int64_t vocabulary = embedding.size(0), hidden = decoder.hidden = norm.numel();
  decoder.embedding = weight_of(embedding, {vocabulary, hidden}, "the embedding");
  decoder.norm = weights.norm_of(norm, "the last norm", hidden);
  decoder.output = weights.matrix("the output matrix", vocabulary, hidden);
  // Of a layer's twelve weights the tenth is gate_up, whose rows are twice the intermediate size.
  decoder.intermediate = weights.rows_ahead(9) / 2;
  const int64_t queries = decoder.query_features(), keys = decoder.key_features();
  for (size_t i = 0; i < layers; ++i) {
    DecoderLayer layer;
    layer.input_norm = weights.norm("input_layernorm", hidden);
    layer.qkv = weights.biased_matrix("qkv_proj", queries + 2 * keys, hidden);
    layer.q_norm = weights.optional_norm("q_norm", decoder.head_dim);
    layer.k_norm = weights.optional_norm("k_norm", decoder.head_dim);
    layer.o = weights.biased_matrix("o_proj", hidden, queries);
    layer.after_attention = weights.optional_norm("the norm after attention", hidden);
    layer.before_feed_forward = weights.norm("the norm before the feed-forward part", hidden);
    layer.gate_up = weights.matrix("gate_up_proj", 2 * decoder.intermediate, hidden);
    layer.down = weights.matrix("down_proj", hidden, decoder.intermediate);
    layer.after_feed_forward =
        weights.optional_norm("the norm after the feed-forward part", hidden);
    layer.rope = given.ropes[i];
    check_cache(
        name, given.key_caches[i], given.value_caches[i], decoder.kv_heads, decoder.head_dim);
    TORCH_CHECK(
        given.key_caches[i].sizes() == given.key_caches[0].sizes() &&
            given.value_caches[i].sizes() == given.value_caches[0].sizes(),
        "decoder_step: the caches of layer ", i, " are not as large as those of layer 0");
    TORCH_CHECK(
        given.windows[i] == -1 || given.windows[i] >= 1,
        "decoder_step: a window must be at least 1, or -1 for none, got ", given.windows[i]);
    TORCH_CHECK(
        layer.rope >= -1 && layer.rope < decoder.ropes,
        "decoder_step: a layer's rope must be one of ", decoder.ropes, ", or -1 for none, got ",
        layer.rope);
    layer.cache = {
        given.key_caches[i].data_ptr<float>(), given.value_caches[i].data_ptr<float>(), given.scale,
        given.windows[i]};
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
    const Tensor& pages, const Tensor& wanted, int64_t heads, at::IntArrayRef windows,
    at::IntArrayRef ropes, double eps, double scale, double embedding_scale, bool norms_add_one,
    bool gelu) {
  const Decoder decoder = decoder_of(
      {weights, key_caches, value_caches, cos, sin, heads, windows, ropes, eps, scale,
       embedding_scale, norms_add_one, gelu});
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
        step.wanted[i] >= 0 && step.wanted[i] < tokens, "decoder_step: wanted ", step.wanted[i],
        " is not one of the ", tokens, " new tokens");
  Tensor logits = at::empty({step.wanted_count, vocabulary}, at::kFloat);
  run_decoder(decoder, step, logits.data_ptr<float>());
  return logits;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "decoder_step(Tensor?[] weights, Tensor(a!)[] key_caches, Tensor(b!)[] value_caches, "
      "Tensor cos, Tensor sin, Tensor ids, Tensor query_offsets, Tensor lengths, "
      "Tensor page_offsets, Tensor pages, Tensor wanted, int heads, int[] windows, int[] ropes, "
      "float eps, float scale, float embedding_scale, bool norms_add_one, bool gelu) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("decoder_step", decoder_step); }

}  // namespace openmanus::generation
