// The Node-API side of the addon: calling convention, errors, and JavaScript values in and out.
//
// Every exported function has the type `Function` and is exported through `guarded<f>`, which turns
// C++ exceptions into JavaScript errors, so that nothing below has to think about napi_status codes
// or unwinding through C frames.
#pragma once

#include <c10/util/Exception.h>
#include <node_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace openmanus {

// What a caller did wrong: becomes a JavaScript Error with code ERR_TORCH_ARGUMENT.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A JavaScript exception is already pending (a Node-API call failed): just return to JavaScript.
struct PendingException {};

struct Call {
  napi_env env;
  size_t count;
  napi_value* arguments;

  // The i-th argument, or JavaScript's undefined when the caller gave fewer.
  napi_value operator[](size_t i) const;
};

using Function = napi_value (*)(const Call&);

constexpr size_t kMaxArguments = 40;  // the longest ATen schema has 32

// Runs the body and reports its exceptions to JavaScript.
napi_value runGuarded(napi_env env, napi_callback_info info, Function body);

template <Function body>
napi_value guarded(napi_env env, napi_callback_info info) {
  return runGuarded(env, info, body);
}

void exportFunction(napi_env env, napi_value exports, const char* name, napi_callback callback);

#define OPENMANUS_EXPORT(name) exportFunction(env, exports, #name, guarded<name>)

// libtorch's message without the C++ stack it appends.
std::string messageWithoutBacktrace(const c10::Error& error);

// Node-API calls that must not fail for a correct addon; a failure becomes PendingException.
void check(napi_env env, napi_status status);

napi_value undefinedValue(napi_env env);
napi_value nullValue(napi_env env);
napi_value boolValue(napi_env env, bool value);
napi_value numberValue(napi_env env, double value);
// A number when exactly representable, else a BigInt.
napi_value integerValue(napi_env env, int64_t value);
napi_value stringValue(napi_env env, const std::string& value);
napi_value newArray(napi_env env, size_t length);
void setElement(napi_env env, napi_value array, size_t index, napi_value value);
void setProperty(napi_env env, napi_value object, const char* name, napi_value value);

napi_valuetype typeOf(napi_env env, napi_value value);
bool isNullish(napi_env env, napi_value value);
bool isArray(napi_env env, napi_value value);
size_t arrayLength(napi_env env, napi_value value);
napi_value elementAt(napi_env env, napi_value array, size_t index);

// Conversions with a description of the argument for the error message.
bool toBool(napi_env env, napi_value value, const char* what);
double toNumber(napi_env env, napi_value value, const char* what);
int64_t toInteger(napi_env env, napi_value value, const char* what);
std::string toString(napi_env env, napi_value value, const char* what);
std::vector<int64_t> toIntegers(napi_env env, napi_value value, const char* what);

// A short description of any JavaScript value, for error messages: `number 3`, `string "x"`,
// `Tensor float32[2, 3]`, `array of 4 [number 1, …]`.
std::string describe(napi_env env, napi_value value);

}  // namespace openmanus
