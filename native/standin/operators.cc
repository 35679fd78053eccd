/// @file Every operator that kernels.cc does not have: the CPU's kernel over the device's bytes, with the
/// rules of a device. Tensors of the host, of another device, and operators that only a CPU has are
/// refused with CUDA's words. At request it also has FlashAttention's operator for sequences of different
/// lengths, as CUDA has it, written plainly.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/version.h>

#include <set>

#include "memory.h"

namespace openmanus::standin {

namespace {

using at::Tensor;
using c10::IValue;

/// CUDA waits for the device in these, to know how large the result is.
const std::set<std::string> kSynchronising = {
    "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
    "aten::repeat_interleave.Tensor"};

std::string& spoiledOperator() {
  static std::string name;
  return name;
}

/// A tensor that was given, and how the CPU's kernel sees it.
struct Seen {
  Tensor given;
  Tensor host;
  bool written;
};

class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack* stack) : op_(op), stack_(stack) {}

  void run() {
    const auto& schema = op_.schema();
    TORCH_CHECK_NOT_IMPLEMENTED(
        schema.name().rfind("openmanus::", 0) != 0, "Could not run '", schema.name(),
        "' with arguments from the 'PrivateUse1' backend: it has a kernel for the CPU only");
    const size_t count = schema.arguments().size();
    const size_t begin = stack_->size() - count;
    for (size_t i = 0; i < count; ++i) {
      const auto* alias = schema.arguments()[i].alias_info();
      IValue& value = (*stack_)[begin + i];
      value = toHost(value, alias != nullptr && alias->isWrite());
    }
    requireOneDevice();
    if (kSynchronising.count(c10::toString(schema.operator_name()))) countToHost(8);
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
    if (schema.name() == spoiledOperator() && stack_->back().isTensor())
      stack_->back().toTensor().mul_(1.01);
    for (const Seen& seen : seen_)
      if (seen.written && seen.host.sizes() != seen.given.sizes()) {
        resizeOnDevice(seen.given, seen.host.sizes());
        if (seen.host.numel() > 0) seenFromHost(seen.given).copy_(seen.host);
      }
    const size_t results = schema.returns().size();
    for (size_t i = 0; i < results; ++i) {
      IValue& value = (*stack_)[stack_->size() - results + i];
      value = toDevice(value);
    }
  }

 private:
  Tensor hostOf(const Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    if (!isOurs(tensor)) {
      if (tensor.dim() > 0) strangers_.push_back(tensor);
      return tensor;
    }
    device_ = device_ < 0 ? tensor.device().index() : device_;
    if (device_ != tensor.device().index()) strangers_.push_back(tensor);
    seen_.push_back({tensor, seenFromHost(tensor), written});
    return seen_.back().host;
  }

  IValue toHost(const IValue& value, bool written) {
    if (value.isTensor()) return hostOf(value.toTensor(), written);
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorVector()) list.push_back(hostOf(tensor, written));
      return list;
    }
    if (value.isList() && value.toList().elementType()->isSubtypeOf(
                              *c10::OptionalType::create(c10::TensorType::get()))) {
      c10::List<c10::optional<Tensor>> list;
      for (const IValue& element : value.toListRef())
        list.push_back(
            element.isNone() ? c10::optional<Tensor>()
                             : c10::optional<Tensor>(hostOf(element.toTensor(), written)));
      return list;
    }
    if (value.isDevice() && value.toDevice().type() == kDevice) {
      asked_ = value.toDevice().index();
      return c10::Device(c10::DeviceType::CPU);
    }
    return value;
  }

  void requireOneDevice() const {
    if (device_ < 0 || strangers_.empty()) return;
    TORCH_CHECK(
        false, "Expected all tensors to be on the same device, but found at least two devices, ",
        c10::Device(kDevice, device_), " and ", strangers_.front().device(), "!");
  }

  Tensor onDevice(const Tensor& result) {
    if (!result.defined()) return result;
    for (const Seen& seen : seen_) {
      if (result.is_same(seen.host)) return seen.given;
      if (seen.host.numel() > 0 && result.has_storage() && result.dtype() == seen.given.dtype() &&
          result.storage().data() == seen.host.storage().data())
        return at::as_strided(
            seen.given, result.sizes(), result.strides(),
            seen.given.storage_offset() + result.storage_offset());
    }
    if (device_ < 0 && asked_ < 0) asked_ = currentDevice();
    return movedToDevice(result, device_ < 0 ? asked_ : device_);
  }

  IValue toDevice(const IValue& value) {
    if (value.isTensor()) return onDevice(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector()) list.push_back(onDevice(tensor));
    return list;
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack* stack_;
  std::vector<Seen> seen_;
  std::vector<Tensor> strangers_;
  c10::DeviceIndex device_ = -1;
  c10::DeviceIndex asked_ = -1;
};

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { Call(op, stack).run(); }

}  // namespace

namespace {

/// Bottom-right causal attention of each sequence by itself. Queries, keys and values are
/// [tokens, heads, head_dim].
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> flashAttention(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const c10::optional<Tensor>& query_bounds, const c10::optional<Tensor>& key_bounds, int64_t,
    int64_t, double dropout, bool is_causal, bool, c10::optional<double> scale,
    c10::optional<int64_t> left, c10::optional<int64_t> right) {
  TORCH_CHECK(
      query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16,
      "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK(
      query_bounds->scalar_type() == at::kInt && key_bounds->scalar_type() == at::kInt &&
          isOurs(*query_bounds) && isOurs(*key_bounds) && is_causal && dropout == 0 &&
          query.is_contiguous() && key.is_contiguous() && value.is_contiguous() &&
          right.value_or(0) == 0,
      "unexpected arguments of FlashAttention");
  const Tensor queries = seenFromHost(*query_bounds), keys = seenFromHost(*key_bounds);
  const int64_t sharing = query.size(1) / key.size(1);
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i + 1 < queries.numel(); ++i) {
    const auto own = [&](const Tensor& tensor, const Tensor& bounds) {
      const int64_t begin = bounds[i].item<int>(), end = bounds[i + 1].item<int>();
      return tensor.narrow(0, begin, end - begin).to(at::kFloat).transpose(0, 1);
    };
    const Tensor q = own(query, queries);
    const Tensor k = own(key, keys).repeat_interleave(sharing, 0);
    const Tensor v = own(value, keys).repeat_interleave(sharing, 0);
    const auto options = at::TensorOptions().dtype(at::kLong).device(query.device());
    const Tensor ends = at::arange(q.size(1), options).unsqueeze(1) + (k.size(1) - q.size(1));
    const Tensor places = at::arange(k.size(1), options).unsqueeze(0);
    Tensor hidden = places > ends;
    if (left) hidden = hidden.logical_or(places < ends - *left);
    const Tensor scores = at::matmul(q, k.transpose(1, 2)) * scale.value();
    const Tensor p =
        scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(-1);
    outputs.push_back(at::matmul(p, v).transpose(0, 1));
  }
  const Tensor none = at::empty({0}, query.options());
  return {at::cat(outputs).to(query.scalar_type()), none, none, none, none};
}

}  // namespace

void spoil(const std::string& name) { spoiledOperator() = name; }

void offerFlashAttention() {
  static std::vector<torch::Library>* libraries = nullptr;
  if (libraries) return;
  libraries = new std::vector<torch::Library>();
  const auto add = [&](torch::Library::Kind kind, c10::optional<c10::DispatchKey> key) -> auto& {
    libraries->emplace_back(kind, "aten", key, __FILE__, __LINE__);
    return libraries->back();
  };
#if TORCH_VERSION_MAJOR < 2
  add(torch::Library::FRAGMENT, c10::nullopt)
      .def(
          "_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, "
          "Tensor? cum_seq_k, int max_q, int max_k, float dropout_p, bool is_causal, "
          "bool return_debug_mask, *, float? scale=None, int? window_size_left=None, "
          "int? window_size_right=None) -> (Tensor output, Tensor softmax_logsumexp, "
          "Tensor rng_state, Tensor unused, Tensor debug_attn_mask)");
  for (const c10::DispatchKey key : {kKey, c10::DispatchKey::AutogradPrivateUse1})
    add(torch::Library::IMPL, key).impl("_flash_attention_forward", TORCH_FN(flashAttention));
#endif
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace openmanus::standin
