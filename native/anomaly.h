// Finding the operator that first produced a NaN, on request.
#pragma once

#include <ATen/core/stack.h>

#include <string>

#include "node.h"

namespace openmanus {

bool anomalyDetection();
void setAnomalyDetection(bool enabled);

// What is wrong with the results on the stack, or an empty string.
std::string findNan(const torch::jit::Stack& results);

}  // namespace openmanus
