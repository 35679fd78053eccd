#include "signature.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "door/dtypes.h"

namespace openmanus {

namespace {

const char* reductionName(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAverage:
      return "average";
    case Reduction::kProduct:
      return "product";
    case Reduction::kMinimum:
      return "minimum";
    case Reduction::kMaximum:
      return "maximum";
    default:
      return "sum";
  }
}

bool reduces(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kReduceScatter;
}

// Bytes have a length that only their sender knows.
bool comparesShape(OperationKind kind) {
  return kind != OperationKind::kBroadcastBytes && kind != OperationKind::kAllGatherBytes;
}

}  // namespace

const char* operationName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
      return "allReduce";
    case OperationKind::kBroadcast:
      return "broadcast";
    case OperationKind::kAllGather:
      return "allGather";
    case OperationKind::kAllGatherUneven:
      return "allGatherUneven";
    case OperationKind::kReduceScatter:
      return "reduceScatter";
    case OperationKind::kBarrier:
      return "barrier";
    case OperationKind::kBroadcastBytes:
      return "broadcastObject";
    case OperationKind::kAllGatherBytes:
      return "allGatherObject";
    case OperationKind::kSend:
      return "send";
  }
  return "?";
}

Signature Signature::of(OperationKind kind) {
  Signature signature;
  signature.kind = kind;
  return signature;
}

Signature& Signature::withTensor(const at::Tensor& tensor) {
  dtype = static_cast<int8_t>(tensor.scalar_type());
  dimensions = static_cast<int8_t>(std::min<int64_t>(tensor.dim(), 127));
  elements = tensor.numel();
  for (int i = 0; i < kSizes && i < tensor.dim(); ++i) sizes[i] = tensor.size(i);
  return *this;
}

std::string Signature::bytes() const {
  return std::string(reinterpret_cast<const char*>(this), sizeof *this);
}

Signature Signature::fromBytes(const std::string& bytes) {
  Signature signature;
  if (bytes.size() != sizeof signature) throw std::runtime_error("a signature has another size");
  memcpy(&signature, bytes.data(), sizeof signature);
  return signature;
}

bool Signature::sizesDiffer() const {
  return kind == OperationKind::kAllGatherUneven || !comparesShape(kind);
}

std::string Signature::name() const {
  return std::string(operationName(kind)) + " #" + std::to_string(sequence);
}

std::string Signature::describe() const {
  std::string text = std::string(operationName(kind)) + "(";
  if (comparesShape(kind) && kind != OperationKind::kBarrier) {
    text += dtypeName(static_cast<at::ScalarType>(dtype)) + "[";
    for (int i = 0; i < dimensions && i < kSizes; ++i)
      text += (i ? ", " : "") + std::to_string(sizes[i]);
    text += dimensions > kSizes ? ", …]" : "]";
  }
  if (reduces(kind)) text += std::string(", ") + reductionName(reduction);
  if (parts != 0) text += ", its own sizes";
  if (root >= 0) {
    if (comparesShape(kind)) text += ", ";
    text += "root " + std::to_string(root);
  }
  return text + ")";
}

bool Signature::matches(const Signature& other) const {
  if (sequence != other.sequence || kind != other.kind || root != other.root) return false;
  if (reduces(kind) && (reduction != other.reduction || parts != other.parts)) return false;
  if (!comparesShape(kind)) return true;
  if (dtype != other.dtype || dimensions != other.dimensions) return false;
  const bool uneven = kind == OperationKind::kAllGatherUneven;
  if (!uneven && elements != other.elements) return false;
  return std::equal(sizes + (uneven ? 1 : 0), sizes + kSizes, other.sizes + (uneven ? 1 : 0));
}

std::optional<Verdict> compareSignatures(const std::vector<Signature>& signatures) {
  const auto same = [&](const Signature& one) { return one.matches(signatures[0]); };
  if (std::all_of(signatures.begin(), signatures.end(), same)) return std::nullopt;

  // Ranks that agree with each other, the largest such group first: the others are the odd ones.
  std::vector<std::vector<int>> camps;
  for (size_t rank = 0; rank < signatures.size(); ++rank) {
    const auto camp = std::find_if(camps.begin(), camps.end(), [&](const std::vector<int>& one) {
      return signatures[static_cast<size_t>(one[0])].matches(signatures[rank]);
    });
    if (camp == camps.end())
      camps.push_back({static_cast<int>(rank)});
    else
      camp->push_back(static_cast<int>(rank));
  }
  std::stable_sort(
      camps.begin(), camps.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  const bool majority = camps[0].size() > camps[1].size();

  Verdict verdict;
  verdict.reason = Reason::kMismatch;
  for (size_t i = 0; i < camps.size(); ++i) {
    if (!(majority && i == 0))
      verdict.ranks.insert(verdict.ranks.end(), camps[i].begin(), camps[i].end());
    // The odd ones first, then what all others do.
    const size_t which = (i + 1) % camps.size();
    const Signature& signature = signatures[static_cast<size_t>(camps[which][0])];
    verdict.text += (i ? ", " : "") + rankList(camps[which]) +
                    (camps[which].size() == 1 ? " calls " : " call ") + signature.describe();
  }
  std::sort(verdict.ranks.begin(), verdict.ranks.end());
  verdict.text +=
      ". All ranks must call the same operations in the same order, with the same "
      "shapes and dtypes";
  return verdict;
}

}  // namespace openmanus
