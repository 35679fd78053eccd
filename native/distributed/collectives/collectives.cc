#include "collectives.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>

#include "door/dtypes.h"
#include "door/handles.h"
#include "door/node.h"

namespace openmanus {

namespace {

using Operation = Group::Operation;

void requireDense(const char* what, const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || tensor.is_quantized())
    throw ArgumentError(
        std::string(what) + ": expected a dense tensor, got " + describeTensor(tensor) +
        " with another layout; make it dense first");
}

void requireWritable(const char* what, const at::Tensor& tensor) {
  requireDense(what, tensor);
  if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes)
    throw ArgumentError(
        std::string(what) + ": several elements of " + describeTensor(tensor) +
        " share one place in memory (an expanded tensor), so it cannot be written "
        "to; pass a clone");
}

void requireRank(const Group& group, const char* what, int rank) {
  if (rank < 0 || rank >= group.world())
    throw ArgumentError(
        std::string(what) + ": there is no rank " + std::to_string(rank) + " in a world of " +
        std::to_string(group.world()));
}

// The dtype in which the transport reduces: sums of half-precision numbers would lose their last
// digits at every step, and Gloo's types are fewer than ours.
at::ScalarType reductionDtype(const char* what, const at::Tensor& tensor, Reduction reduction) {
  const at::ScalarType dtype = tensor.scalar_type();
  if (reduction == Reduction::kAverage && !at::isFloatingType(dtype))
    throw ArgumentError(
        std::string(what) + ": an average of " + dtypeName(dtype) +
        " values would have to be rounded; convert to float32 first, or reduce by "
        "\"sum\"");
  switch (dtype) {
    case at::kFloat:
    case at::kDouble:
    case at::kInt:
    case at::kLong:
    case at::kByte:
    case at::kChar:
      return dtype;
    case at::kHalf:
    case at::kBFloat16:
      return at::kFloat;
    case at::kShort:
      return at::kInt;
    case at::kBool:
      return at::kByte;
    default:
      throw ArgumentError(
          std::string(what) + ": values of dtype " + dtypeName(dtype) + " cannot be reduced");
  }
}

// Sums and products of booleans are "any" and "all".
Reduction transportReduction(at::ScalarType dtype, Reduction reduction) {
  if (dtype == at::kBool)
    return reduction == Reduction::kSum || reduction == Reduction::kMaximum ? Reduction::kMaximum
                                                                            : Reduction::kMinimum;
  return reduction == Reduction::kAverage ? Reduction::kSum : reduction;
}

bool onNccl(Group& group, const at::Tensor& tensor) { return tensor.is_cuda() && group.nccl(); }

Transport& transportOf(Group& group, const at::Tensor& tensor) {
  return onNccl(group, tensor) ? *group.nccl() : group.gloo();
}

// The elements as a vector where the transport can reach them: the tensor's own memory if possible.
at::Tensor flatten(Group& group, const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return (onNccl(group, tensor) ? plain : plain.to(at::kCPU)).contiguous().view({tensor.numel()});
}

at::Tensor asBytes(const at::Tensor& flat) { return flat.view(at::kByte); }

bool sameMemory(const at::Tensor& a, const at::Tensor& b) { return a.data_ptr() == b.data_ptr(); }

// Puts the transport's result where the caller wants it.
void writeBack(const at::Tensor& tensor, const at::Tensor& flat) {
  if (sameMemory(tensor, flat)) {
    // Written behind autograd's back: whoever saved the old values must notice.
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  } else {
    tensor.detach().copy_(flat.view(tensor.sizes()));
  }
}

// Reduces into a vector of the reduction's dtype, which may be the tensor's own memory.
at::Tensor reduceFlat(
    Group& group, Operation& operation, const at::Tensor& tensor, at::ScalarType dtype,
    Reduction reduction) {
  at::Tensor flat = flatten(group, tensor).to(dtype);
  const Reduction actual = transportReduction(tensor.scalar_type(), reduction);
  operation.await([&] { return transportOf(group, tensor).allReduce(flat, actual); });
  if (reduction == Reduction::kAverage) flat.div_(group.world());
  return flat;
}

void combine(at::Tensor& total, const at::Tensor& next, Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      total.mul_(next);
      return;
    case Reduction::kMinimum:
      at::minimum_out(total, total, next);
      return;
    case Reduction::kMaximum:
      at::maximum_out(total, total, next);
      return;
    default:
      total.add_(next);
  }
}

// This rank's part of the reduction, a vector of the reduction's dtype. Every rank sends each other
// rank that rank's part and adds up what comes, in the order of the ranks: on the wire that is half
// of an all-reduce. (Gloo has a scattering reduction only in newer versions, for equal parts.)
// `counts`: elements of the ranks' parts.
at::Tensor scatterReduced(
    Group& group, Operation& operation, const at::Tensor& tensor, at::ScalarType dtype,
    Reduction reduction, const std::vector<int64_t>& counts) {
  const at::Tensor flat = flatten(group, tensor).to(dtype);
  const int64_t own = counts[static_cast<size_t>(group.rank())];
  const at::Tensor parts = at::empty({group.world(), own}, flat.options());
  const bool even =
      std::all_of(counts.begin(), counts.end(), [&](int64_t count) { return count == counts[0]; });
  const std::vector<int64_t> incoming(static_cast<size_t>(even ? 0 : group.world()), own);
  operation.await([&] {
    return transportOf(group, tensor)
        .allToAll(parts.view({-1}), flat, incoming, even ? std::vector<int64_t>{} : counts);
  });
  const Reduction actual = transportReduction(tensor.scalar_type(), reduction);
  at::Tensor total = parts[0].clone();
  for (int i = 1; i < group.world(); ++i) combine(total, parts[i], actual);
  if (reduction == Reduction::kAverage) total.div_(group.world());
  return total;
}

// All ranks' vectors of equal length, one per row.
at::Tensor gatherRows(Group& group, Operation& operation, const at::Tensor& flat) {
  const int64_t world = group.world();
  const at::Tensor rows = at::empty({world, flat.numel()}, flat.options());
  if (flat.numel() == 0) return rows;
  std::vector<at::Tensor> outputs;
  for (int64_t i = 0; i < world; ++i) outputs.push_back(asBytes(rows[i]));
  operation.await([&] { return transportOf(group, flat).allGather(outputs, asBytes(flat)); });
  return rows;
}

std::vector<int64_t> withFirst(int64_t first, at::IntArrayRef rest) {
  std::vector<int64_t> sizes{first};
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return sizes;
}

// One tensor per rank whose first dimensions are `lengths`, by padding to the longest.
std::vector<at::Tensor> gatherLengths(
    Group& group, Operation& operation, const at::Tensor& tensor,
    const std::vector<int64_t>& lengths) {
  const at::IntArrayRef inner = tensor.sizes().slice(1);
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  at::Tensor padded = tensor.detach();
  if (padded.size(0) < longest) {
    padded = at::empty(withFirst(longest, inner), tensor.options());
    padded.narrow(0, 0, tensor.size(0)).copy_(tensor.detach());
    // What nobody reads still should not carry this process's old memory to others.
    padded.narrow(0, tensor.size(0), longest - tensor.size(0)).zero_();
  }
  const at::Tensor rows = gatherRows(group, operation, flatten(group, padded));
  const at::Tensor all = rows.to(tensor.device()).view(withFirst(group.world(), padded.sizes()));
  std::vector<at::Tensor> result;
  for (int64_t i = 0; i < group.world(); ++i)
    result.push_back(all[i].narrow(0, 0, lengths[static_cast<size_t>(i)]));
  return result;
}

std::vector<int64_t> firstSizes(const std::vector<Signature>& signatures) {
  std::vector<int64_t> result;
  for (const Signature& signature : signatures) result.push_back(signature.sizes[0]);
  return result;
}

void requireBytes(const char* what, const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kByte || tensor.dim() != 1)
    throw ArgumentError(
        std::string(what) + ": expected uint8[length], got " + describeTensor(tensor));
}

// The lengths of the parts that the ranks get, checked.
std::vector<int64_t> partsOf(
    const Group& group, const at::Tensor& tensor, const std::vector<int64_t>& sizes) {
  const int64_t world = group.world();
  const int64_t rows = tensor.size(0);
  if (sizes.empty()) {
    if (rows % world != 0)
      throw ArgumentError(
          "reduceScatter: the first dimension of " + describeTensor(tensor) +
          " cannot be cut into " + std::to_string(world) +
          " equal parts; give the size of each rank's part");
    return std::vector<int64_t>(static_cast<size_t>(world), rows / world);
  }
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0) throw ArgumentError("reduceScatter: a size is negative");
    sum += size;
  }
  if (static_cast<int64_t>(sizes.size()) != world || sum != rows)
    throw ArgumentError(
        "reduceScatter: expected " + std::to_string(world) + " sizes with the sum " +
        std::to_string(rows) + " (of " + describeTensor(tensor) + "), got " +
        std::to_string(sizes.size()) + " with the sum " + std::to_string(sum));
  return sizes;
}

uint64_t hashOf(const std::vector<int64_t>& values) {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const int64_t value : values)
    hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211ULL;
  return hash;
}

std::string pairName(const char* verb, int peer, int tag) {
  return std::string(verb) + " rank " + std::to_string(peer) +
         (tag == 0 ? "" : " (tag " + std::to_string(tag) + ")");
}

void requirePeer(const Group& group, const char* what, int peer, int tag) {
  requireRank(group, what, peer);
  if (peer == group.rank())
    throw ArgumentError(
        std::string(what) + ": rank " + std::to_string(peer) +
        " is this rank itself; the other side must be another rank");
  if (tag < 0) throw ArgumentError(std::string(what) + ": a tag is not negative");
}

// The header of a message says what follows, so that the receiver need not know it before.
Signature receiveHeader(Group& group, Operation& operation, int source, int tag) {
  Signature header;
  const at::Tensor bytes = at::empty({static_cast<int64_t>(sizeof header)}, at::kByte);
  operation.await([&] { return group.gloo().receive(bytes, source, tag); });
  memcpy(&header, bytes.data_ptr(), sizeof header);
  return header;
}

void receivePayload(
    Group& group, Operation& operation, const at::Tensor& flat, int source, int tag) {
  if (flat.numel() > 0)
    operation.await([&] { return group.gloo().receive(asBytes(flat), source, tag); });
}

}  // namespace

void allReduce(Group& group, const at::Tensor& tensor, Reduction reduction) {
  group.requireUsable();
  requireWritable("allReduce", tensor);
  const at::ScalarType dtype = reductionDtype("allReduce", tensor, reduction);
  const c10::NoGradGuard noGrad;
  Signature signature = Signature::of(OperationKind::kAllReduce).withTensor(tensor);
  signature.reduction = reduction;
  Operation operation(group, signature);
  operation.meet();
  if (group.world() == 1 || tensor.numel() == 0) return;
  writeBack(tensor, reduceFlat(group, operation, tensor, dtype, reduction));
}

void broadcast(Group& group, const at::Tensor& tensor, int root) {
  group.requireUsable();
  requireWritable("broadcast", tensor);
  requireRank(group, "broadcast", root);
  const c10::NoGradGuard noGrad;
  Signature signature = Signature::of(OperationKind::kBroadcast).withTensor(tensor);
  signature.root = root;
  Operation operation(group, signature);
  operation.meet();
  if (group.world() == 1 || tensor.numel() == 0) return;
  const at::Tensor flat = flatten(group, tensor);
  operation.await([&] { return transportOf(group, tensor).broadcast(asBytes(flat), root); });
  if (group.rank() != root) writeBack(tensor, flat);
}

at::Tensor allGather(Group& group, const at::Tensor& tensor) {
  group.requireUsable();
  requireDense("allGather", tensor);
  const c10::NoGradGuard noGrad;
  Operation operation(group, Signature::of(OperationKind::kAllGather).withTensor(tensor));
  operation.meet();
  if (group.world() == 1) return tensor.detach().clone().unsqueeze(0);
  const at::Tensor rows = gatherRows(group, operation, flatten(group, tensor));
  return rows.to(tensor.device()).view(withFirst(group.world(), tensor.sizes()));
}

std::vector<at::Tensor> allGatherUneven(Group& group, const at::Tensor& tensor) {
  group.requireUsable();
  requireDense("allGatherUneven", tensor);
  if (tensor.dim() == 0)
    throw ArgumentError("allGatherUneven: expected a tensor with at least one dimension");
  const c10::NoGradGuard noGrad;
  Operation operation(group, Signature::of(OperationKind::kAllGatherUneven).withTensor(tensor));
  const std::vector<Signature> signatures = operation.meet(true);
  if (group.world() == 1) return {tensor.detach().clone()};
  return gatherLengths(group, operation, tensor, firstSizes(signatures));
}

at::Tensor reduceScatter(
    Group& group, const at::Tensor& tensor, Reduction reduction,
    const std::vector<int64_t>& sizes) {
  group.requireUsable();
  requireDense("reduceScatter", tensor);
  if (tensor.dim() == 0)
    throw ArgumentError("reduceScatter: expected a tensor with at least one dimension");
  const at::ScalarType dtype = reductionDtype("reduceScatter", tensor, reduction);
  const std::vector<int64_t> parts = partsOf(group, tensor, sizes);
  const c10::NoGradGuard noGrad;
  Signature signature = Signature::of(OperationKind::kReduceScatter).withTensor(tensor);
  signature.reduction = reduction;
  if (!sizes.empty()) signature.parts = hashOf(sizes);
  Operation operation(group, signature);
  operation.meet();
  if (group.world() == 1) return tensor.detach().clone();
  if (tensor.numel() == 0) {
    const int64_t mine = parts[static_cast<size_t>(group.rank())];
    return at::empty(withFirst(mine, tensor.sizes().slice(1)), tensor.options());
  }
  const int64_t inner = tensor.numel() / tensor.size(0);
  std::vector<int64_t> counts;
  for (const int64_t part : parts) counts.push_back(part * inner);
  const int64_t own = parts[static_cast<size_t>(group.rank())];
  return scatterReduced(group, operation, tensor, dtype, reduction, counts)
      .view(withFirst(own, tensor.sizes().slice(1)))
      .to(tensor.options());
}

void barrier(Group& group) {
  group.requireUsable();
  Operation operation(group, Signature::of(OperationKind::kBarrier));
  operation.meet(true);  // nobody is told to proceed before everybody has come
}

void send(Group& group, const at::Tensor& tensor, int destination, int tag) {
  group.requireUsable();
  requireDense("send", tensor);
  requirePeer(group, "send", destination, tag);
  if (tensor.dim() > Signature::kSizes)
    throw ArgumentError(
        "send: a tensor has at most " + std::to_string(Signature::kSizes) + " dimensions, got " +
        describeTensor(tensor));
  const c10::NoGradGuard noGrad;
  Operation operation(group, pairName("send to", destination, tag), destination);
  const Signature header = Signature::of(OperationKind::kSend).withTensor(tensor);
  const at::Tensor bytes = at::empty({static_cast<int64_t>(sizeof header)}, at::kByte);
  memcpy(bytes.data_ptr(), &header, sizeof header);
  operation.await([&] { return group.gloo().send(bytes, destination, tag); });
  if (tensor.numel() == 0) return;
  const at::Tensor flat = asBytes(tensor.detach().to(at::kCPU).contiguous().view({-1}));
  operation.await([&] { return group.gloo().send(flat, destination, tag); });
}

at::Tensor receive(Group& group, int source, int tag) {
  group.requireUsable();
  requirePeer(group, "receive", source, tag);
  Operation operation(group, pairName("receive from", source, tag), source);
  const Signature header = receiveHeader(group, operation, source, tag);
  const std::vector<int64_t> sizes(header.sizes, header.sizes + header.dimensions);
  const at::Tensor result =
      at::empty(sizes, at::TensorOptions().dtype(static_cast<at::ScalarType>(header.dtype)));
  receivePayload(group, operation, result.view({result.numel()}), source, tag);
  return result;
}

void receiveInto(Group& group, const at::Tensor& tensor, int source, int tag) {
  group.requireUsable();
  requireWritable("receive", tensor);
  requirePeer(group, "receive", source, tag);
  const c10::NoGradGuard noGrad;
  Operation operation(group, pairName("receive from", source, tag), source);
  const Signature header = receiveHeader(group, operation, source, tag);
  const Signature expected = Signature::of(OperationKind::kSend).withTensor(tensor);
  if (!header.matches(expected))
    operation.fail(
        "rank " + std::to_string(source) + " calls " + header.describe() + ", rank " +
            std::to_string(group.rank()) + " receives into " + describeTensor(tensor) +
            ". Shape and dtype must be the same",
        {source, group.rank()});
  if (tensor.numel() == 0) return;
  const at::Tensor flat = tensor.detach().to(at::kCPU).contiguous().view({-1});
  receivePayload(group, operation, flat, source, tag);
  writeBack(tensor, flat);
}

at::Tensor broadcastBytes(Group& group, const at::Tensor& bytes, int root) {
  group.requireUsable();
  requireRank(group, "broadcastObject", root);
  Signature signature = Signature::of(OperationKind::kBroadcastBytes);
  signature.root = root;
  if (group.rank() == root) {
    requireBytes("broadcastObject", bytes);
    signature.withTensor(bytes);
  }
  Operation operation(group, signature);
  const std::vector<Signature> signatures = operation.meet(true);
  if (group.world() == 1) return bytes.clone();
  const int64_t length = signatures[static_cast<size_t>(root)].sizes[0];
  const at::Tensor result =
      group.rank() == root ? bytes.clone() : at::empty({length}, at::TensorOptions(at::kByte));
  if (length > 0) operation.await([&] { return group.gloo().broadcast(result, root); });
  return result;
}

std::vector<at::Tensor> allGatherBytes(Group& group, const at::Tensor& bytes) {
  group.requireUsable();
  requireBytes("allGatherObject", bytes);
  Operation operation(group, Signature::of(OperationKind::kAllGatherBytes).withTensor(bytes));
  const std::vector<Signature> signatures = operation.meet(true);
  if (group.world() == 1) return {bytes.clone()};
  return gatherLengths(group, operation, bytes, firstSizes(signatures));
}

}  // namespace openmanus
