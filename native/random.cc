#include "random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "handles.h"

namespace openmanus {

namespace {

uint64_t seedOf(napi_env env, napi_value value) {
  uint64_t seed;
  bool lossless;
  if (typeOf(env, value) == napi_bigint) {
    check(env, napi_get_value_bigint_uint64(env, value, &seed, &lossless));
    if (!lossless) throw ArgumentError("seed: expected an integer from 0 to 2^64 - 1");
    return seed;
  }
  const int64_t number = toInteger(env, value, "seed");
  if (number < 0) throw ArgumentError("seed: expected an integer from 0 to 2^64 - 1, got " +
                                      std::to_string(number));
  return static_cast<uint64_t>(number);
}

// newGenerator(device, seed)
napi_value newGenerator(const Call& call) {
  const c10::Device device(toString(call.env, call[0], "device"));
  const uint64_t seed = seedOf(call.env, call[1]);
  if (device.is_cpu())
    return generatorValue(call.env, at::detail::createCPUGenerator(seed));
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generatorValue(call.env, std::move(generator));
}

napi_value seedGenerator(const Call& call) {
  at::Generator generator = generatorOf(call.env, call[0], "generator");
  generator.set_current_seed(seedOf(call.env, call[1]));
  return undefinedValue(call.env);
}

napi_value seedDefaultGenerators(const Call& call) {
  at::manual_seed(seedOf(call.env, call[0]));
  return undefinedValue(call.env);
}

napi_value generatorState(const Call& call) {
  return handleValue(call.env, generatorOf(call.env, call[0], "generator").get_state());
}

napi_value setGeneratorState(const Call& call) {
  at::Generator generator = generatorOf(call.env, call[0], "generator");
  generator.set_state(tensorOf(call.env, call[1], "generator state"));
  return undefinedValue(call.env);
}

}  // namespace

void registerRandom(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(newGenerator);
  OPENMANUS_EXPORT(seedGenerator);
  OPENMANUS_EXPORT(seedDefaultGenerators);
  OPENMANUS_EXPORT(generatorState);
  OPENMANUS_EXPORT(setGeneratorState);
}

}  // namespace openmanus
