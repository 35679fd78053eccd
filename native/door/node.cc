#include "node.h"

#include <cmath>

#include "handles.h"

namespace openmanus {

namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;

void throwError(napi_env env, const char* code, const std::string& message) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw_error(env, code, message.c_str());
}

}  // namespace

std::string messageWithoutBacktrace(const c10::Error& error) {
  std::string message = error.what_without_backtrace();
  // Some builds put the throwing source line first ("Exception raised from …"): of no use to a user.
  message = message.substr(0, message.find("\nException raised from"));
  // "Could not run … on this backend" goes on with a table of where every kernel was registered.
  const size_t registered = message.find(" registered at ");
  if (registered == std::string::npos) return message;
  return message.substr(0, message.rfind("\n\n", registered));
}

napi_value Call::operator[](size_t i) const {
  return i < count ? arguments[i] : undefinedValue(env);
}

napi_value runGuarded(napi_env env, napi_callback_info info, Function body) {
  napi_value arguments[kMaxArguments];
  size_t count = kMaxArguments;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) != napi_ok) return nullptr;
  try {
    if (count > kMaxArguments) throw ArgumentError("too many arguments: " + std::to_string(count));
    return body(Call{env, count, arguments});
  } catch (const PendingException&) {
    throwError(env, "ERR_TORCH", "a Node-API call failed");
  } catch (const ArgumentError& error) {
    throwError(env, "ERR_TORCH_ARGUMENT", error.what());
  } catch (const c10::Error& error) {
    throwError(env, "ERR_TORCH", messageWithoutBacktrace(error));
  } catch (const std::bad_alloc&) {
    throwError(env, "ERR_TORCH_MEMORY", "out of memory");
  } catch (const std::exception& error) {
    throwError(env, "ERR_TORCH", error.what());
  } catch (...) {
    throwError(env, "ERR_TORCH", "unknown C++ exception");
  }
  return nullptr;
}

void exportFunction(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function));
  setProperty(env, exports, name, function);
}

void check(napi_env, napi_status status) {
  if (status != napi_ok) throw PendingException{};
}

napi_value undefinedValue(napi_env env) {
  napi_value result;
  check(env, napi_get_undefined(env, &result));
  return result;
}

napi_value nullValue(napi_env env) {
  napi_value result;
  check(env, napi_get_null(env, &result));
  return result;
}

napi_value boolValue(napi_env env, bool value) {
  napi_value result;
  check(env, napi_get_boolean(env, value, &result));
  return result;
}

napi_value numberValue(napi_env env, double value) {
  napi_value result;
  check(env, napi_create_double(env, value, &result));
  return result;
}

napi_value integerValue(napi_env env, int64_t value) {
  napi_value result;
  if (std::abs(static_cast<double>(value)) <= kMaxSafeInteger)
    check(env, napi_create_int64(env, value, &result));
  else
    check(env, napi_create_bigint_int64(env, value, &result));
  return result;
}

napi_value stringValue(napi_env env, const std::string& value) {
  napi_value result;
  check(env, napi_create_string_utf8(env, value.data(), value.size(), &result));
  return result;
}

napi_value newArray(napi_env env, size_t length) {
  napi_value result;
  check(env, napi_create_array_with_length(env, length, &result));
  return result;
}

void setElement(napi_env env, napi_value array, size_t index, napi_value value) {
  check(env, napi_set_element(env, array, static_cast<uint32_t>(index), value));
}

void setProperty(napi_env env, napi_value object, const char* name, napi_value value) {
  check(env, napi_set_named_property(env, object, name, value));
}

napi_valuetype typeOf(napi_env env, napi_value value) {
  napi_valuetype type;
  check(env, napi_typeof(env, value, &type));
  return type;
}

bool isNullish(napi_env env, napi_value value) {
  const napi_valuetype type = typeOf(env, value);
  return type == napi_undefined || type == napi_null;
}

bool isArray(napi_env env, napi_value value) {
  bool result = false;
  check(env, napi_is_array(env, value, &result));
  return result;
}

size_t arrayLength(napi_env env, napi_value value) {
  uint32_t length = 0;
  check(env, napi_get_array_length(env, value, &length));
  return length;
}

napi_value elementAt(napi_env env, napi_value array, size_t index) {
  napi_value result;
  check(env, napi_get_element(env, array, static_cast<uint32_t>(index), &result));
  return result;
}

static ArgumentError wrongType(
    napi_env env, napi_value value, const char* what, const char* expected) {
  return ArgumentError(
      std::string(what) + ": expected " + expected + ", got " + describe(env, value));
}

bool toBool(napi_env env, napi_value value, const char* what) {
  bool result;
  if (napi_get_value_bool(env, value, &result) != napi_ok)
    throw wrongType(env, value, what, "a boolean");
  return result;
}

double toNumber(napi_env env, napi_value value, const char* what) {
  double result;
  if (napi_get_value_double(env, value, &result) != napi_ok || isHandle(result))
    throw wrongType(env, value, what, "a number");
  return result;
}

int64_t toInteger(napi_env env, napi_value value, const char* what) {
  double number;
  if (napi_get_value_double(env, value, &number) == napi_ok) {
    if (std::trunc(number) != number || std::abs(number) > kMaxSafeInteger)
      throw wrongType(env, value, what, "an integer");
    return static_cast<int64_t>(number);
  }
  int64_t result;
  bool lossless = false;
  if (napi_get_value_bigint_int64(env, value, &result, &lossless) != napi_ok)
    throw wrongType(env, value, what, "an integer");
  if (!lossless) throw wrongType(env, value, what, "an integer of 64 bits");
  return result;
}

std::string toString(napi_env env, napi_value value, const char* what) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok)
    throw wrongType(env, value, what, "a string");
  std::string result(length, '\0');
  check(env, napi_get_value_string_utf8(env, value, result.data(), length + 1, &length));
  return result;
}

std::vector<int64_t> toIntegers(napi_env env, napi_value value, const char* what) {
  if (!isArray(env, value)) throw wrongType(env, value, what, "an array of integers");
  const size_t length = arrayLength(env, value);
  std::vector<int64_t> result;
  result.reserve(length);
  for (size_t i = 0; i < length; ++i)
    result.push_back(toInteger(env, elementAt(env, value, i), what));
  return result;
}

std::string describe(napi_env env, napi_value value) {
  switch (typeOf(env, value)) {
    case napi_undefined:
      return "undefined";
    case napi_null:
      return "null";
    case napi_boolean:
      return toBool(env, value, "") ? "boolean true" : "boolean false";
    case napi_number: {
      double number;
      check(env, napi_get_value_double(env, value, &number));
      if (isHandle(number)) return describeHandle(number);
      char text[40];
      snprintf(text, sizeof text, "number %.12g", number);
      return text;
    }
    case napi_string: {
      std::string text = toString(env, value, "");
      if (text.size() > 60) text = text.substr(0, 60) + "…";
      return "string \"" + text + "\"";
    }
    case napi_bigint:
      return "a bigint";
    case napi_function:
      return "a function";
    case napi_symbol:
      return "a symbol";
    default:
      break;
  }
  if (!isArray(env, value)) return "an object";
  const size_t length = arrayLength(env, value);
  std::string text = "array of " + std::to_string(length);
  if (length > 0) {
    text += " [";
    for (size_t i = 0; i < length && i < 3; ++i)
      text += (i ? ", " : "") + describe(env, elementAt(env, value, i));
    text += length > 3 ? ", …]" : "]";
  }
  return text;
}

}  // namespace openmanus
