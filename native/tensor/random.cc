#include "random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "door/handles.h"

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
  if (number < 0)
    throw ArgumentError(
        "seed: expected an integer from 0 to 2^64 - 1, got " + std::to_string(number));
  return static_cast<uint64_t>(number);
}

// The Mersenne twister's initialisation by an array of keys (Matsumoto and Nishimura, 2002).
at::mt19937 engineWithKeys(uint64_t seed) {
  const uint32_t keys[] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  at::mt19937 engine(19650218);
  at::mt19937_data_pod data = engine.data();
  auto& state = data.state_;
  constexpr uint32_t kSize = at::MERSENNE_STATE_N;
  uint32_t i = 1;
  const auto mixed = [&] { return state[i - 1] ^ (state[i - 1] >> 30); };
  const auto advance = [&] {
    if (++i < kSize) return;
    state[0] = state[kSize - 1];
    i = 1;
  };
  for (uint32_t round = 0; round < kSize; ++round, advance())
    state[i] = (state[i] ^ (mixed() * 1664525u)) + keys[round % 2] + round % 2;
  for (uint32_t round = 1; round < kSize; ++round, advance())
    state[i] = (state[i] ^ (mixed() * 1566083941u)) - i;
  state[0] = 0x80000000u;
  data.seed_ = seed;
  engine.set_data(data);
  return engine;
}

// libtorch's CPU generator looks at the low 32 bits of a seed only, so that every 65,000 streams or so
// two would be the same. A seed that fits into them gives PyTorch's own stream; a larger one counts
// whole.
void seedWhole(at::Generator& generator, uint64_t seed) {
  generator.set_current_seed(seed);
  if (generator.device().is_cpu() && seed >> 32 != 0)
    at::check_generator<at::CPUGeneratorImpl>(generator)->set_engine(engineWithKeys(seed));
}

// newGenerator(device, seed)
napi_value newGenerator(const Call& call) {
  const c10::Device device(toString(call.env, call[0], "device"));
  const uint64_t seed = seedOf(call.env, call[1]);
  at::Generator generator = device.is_cpu() ? at::detail::createCPUGenerator()
                                            : at::globalContext().defaultGenerator(device).clone();
  seedWhole(generator, seed);
  return generatorValue(call.env, std::move(generator));
}

napi_value seedGenerator(const Call& call) {
  at::Generator generator = generatorOf(call.env, call[0], "generator");
  seedWhole(generator, seedOf(call.env, call[1]));
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
