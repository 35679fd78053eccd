// One argument of an operator: its type in the schema, reduced to what the door needs to convert a
// JavaScript value into an IValue.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>

#include "node.h"

namespace openmanus {

enum class ArgumentKind {
  kTensor,
  kTensorList,
  kOptionalTensorList,  // Tensor?[]: null marks a dimension that is not indexed
  kScalar,
  kScalarList,
  kInt,
  kIntList,
  kFloat,
  kFloatList,
  kBool,
  kBoolList,
  kString,
  kStringList,
  kDtype,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kUnsupported,
};

struct Argument {
  std::string name;
  std::string type;  // as the schema writes it, for error messages
  ArgumentKind kind;
  bool optional;  // None is allowed
  bool hasDefault;
  bool keywordOnly;
  int64_t listSize;  // N of int[N], where a single number stands for all; else 0
  c10::IValue defaultValue;
};

Argument argumentOf(const c10::Argument& schema);

// The value for the operator's stack. Throws ArgumentError that says what was expected and got; the
// caller adds the operator's and the argument's name.
c10::IValue convert(napi_env env, napi_value value, const Argument& argument);

// A result as JavaScript sees it: tensors as handles, lists as arrays.
napi_value resultValue(napi_env env, const c10::IValue& value);

}  // namespace openmanus
