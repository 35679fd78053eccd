// Finding the operator that first produced a NaN, on request.
#pragma once

#include <ATen/core/stack.h>

#include <functional>
#include <string>

#include "door/node.h"

namespace openmanus {

bool anomalyDetection();
void setAnomalyDetection(bool enabled);

// What is wrong with the results on the stack, or an empty string.
std::string findNan(const torch::jit::Stack& results);

// Runs the backward engine without what libtorch prints when it finds a NaN there: the C++ stack of
// the forward call. Its exception names the function.
void withoutAnomalyTrace(const std::function<void()>& body);

}  // namespace openmanus
