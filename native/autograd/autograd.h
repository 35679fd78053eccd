// Gradients: backward, gradients of outputs with respect to inputs, and the modes that govern what
// is recorded (grad mode, autocast, anomaly detection).
#pragma once

#include "door/node.h"

namespace openmanus {

void registerAutograd(napi_env env, napi_value exports);

}  // namespace openmanus
