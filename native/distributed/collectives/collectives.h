// The operations of a process group on tensors of any dtype, layout in memory and device.
//
// All block until this rank's part is done. Whatever the transport cannot do by itself is done around
// it here: reductions of half-precision tensors run in float32, booleans as bytes, strided tensors
// and tensors on other devices through a copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "distributed/group.h"

namespace openmanus {

// In place, on all ranks.
void allReduce(Group& group, const at::Tensor& tensor, Reduction reduction);
// In place, from the root to the others.
void broadcast(Group& group, const at::Tensor& tensor, int root);
// [world, ...]: the tensors of all ranks, which have equal shapes.
at::Tensor allGather(Group& group, const at::Tensor& tensor);
// One tensor per rank; their first dimensions may differ.
std::vector<at::Tensor> allGatherUneven(Group& group, const at::Tensor& tensor);
// The reduction's part of this rank along the first dimension. `sizes` has one length per rank, or
// is empty for equal ones.
at::Tensor reduceScatter(
    Group& group, const at::Tensor& tensor, Reduction reduction, const std::vector<int64_t>& sizes);
void barrier(Group& group);

void send(Group& group, const at::Tensor& tensor, int destination, int tag);
at::Tensor receive(Group& group, int source, int tag);
// The same into a tensor, whose shape and dtype must be those of the tensor sent.
void receiveInto(Group& group, const at::Tensor& tensor, int source, int tag);

// A uint8 vector whose length only the root knows; undefined elsewhere.
at::Tensor broadcastBytes(Group& group, const at::Tensor& bytes, int root);
std::vector<at::Tensor> allGatherBytes(Group& group, const at::Tensor& bytes);

}  // namespace openmanus
