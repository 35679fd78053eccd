// What a rank calls, in a form that the coordinator compares before the operation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/rendezvous/protocol.h"
#include "distributed/transport/transport.h"

namespace openmanus {

enum class OperationKind : uint8_t {
  kAllReduce,
  kBroadcast,
  kAllGather,
  kAllGatherUneven,
  kReduceScatter,
  kBarrier,
  kBroadcastBytes,
  kAllGatherBytes,
  kSend,
};

const char* operationName(OperationKind kind);

struct Signature {
  static constexpr int kSizes = 8;

  int64_t sequence = 0;
  OperationKind kind = OperationKind::kBarrier;
  Reduction reduction = Reduction::kSum;
  int8_t dtype = -1;
  int8_t dimensions = 0;
  int32_t root = -1;
  int64_t sizes[kSizes] = {};  // the first ones; the product stands for the rest
  int64_t elements = 0;
  uint64_t parts = 0;  // reduceScatter: a hash of the sizes that it cuts into

  static Signature of(OperationKind kind);
  Signature& withTensor(const at::Tensor& tensor);
  // It travels as it lies in memory.
  std::string bytes() const;
  static Signature fromBytes(const std::string& bytes);
  // Whether ranks may rightly call with different sizes, so that all must know all.
  bool sizesDiffer() const;
  // `allReduce #17`.
  std::string name() const;
  // `allReduce(float32[2, 3], sum)`.
  std::string describe() const;
  bool matches(const Signature& other) const;
};

// The verdict when the ranks' signatures do not match; nothing when they do.
std::optional<Verdict> compareSignatures(const std::vector<Signature>& signatures);

}  // namespace openmanus
