#include "arguments.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <cmath>

#include "dtypes.h"
#include "handles.h"

namespace openmanus {

namespace {

using c10::TypeKind;

ArgumentKind listKind(const c10::TypePtr& element) {
  switch (element->kind()) {
    case TypeKind::TensorType:
      return ArgumentKind::kTensorList;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return ArgumentKind::kIntList;
    case TypeKind::FloatType:
      return ArgumentKind::kFloatList;
    case TypeKind::BoolType:
      return ArgumentKind::kBoolList;
    case TypeKind::NumberType:
      return ArgumentKind::kScalarList;
    case TypeKind::StringType:
      return ArgumentKind::kStringList;
    case TypeKind::OptionalType: {
      const auto inner = element->castRaw<c10::OptionalType>()->getElementType();
      return inner->kind() == TypeKind::TensorType ? ArgumentKind::kOptionalTensorList
                                                   : ArgumentKind::kUnsupported;
    }
    default:
      return ArgumentKind::kUnsupported;
  }
}

ArgumentKind kindOf(const c10::TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::TensorType:
      return ArgumentKind::kTensor;
    case TypeKind::NumberType:
      return ArgumentKind::kScalar;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return ArgumentKind::kInt;
    case TypeKind::FloatType:
      return ArgumentKind::kFloat;
    case TypeKind::BoolType:
      return ArgumentKind::kBool;
    case TypeKind::StringType:
      return ArgumentKind::kString;
    case TypeKind::ScalarTypeType:
      return ArgumentKind::kDtype;
    case TypeKind::LayoutType:
      return ArgumentKind::kLayout;
    case TypeKind::MemoryFormatType:
      return ArgumentKind::kMemoryFormat;
    case TypeKind::DeviceObjType:
      return ArgumentKind::kDevice;
    case TypeKind::GeneratorType:
      return ArgumentKind::kGenerator;
    case TypeKind::ListType:
      return listKind(type->castRaw<c10::ListType>()->getElementType());
    default:
      return ArgumentKind::kUnsupported;
  }
}

[[noreturn]] void mismatch(napi_env env, napi_value value, const Argument& argument) {
  throw ArgumentError("expected " + argument.type + ", got " + describe(env, value));
}

// JavaScript has one number type: integral numbers become integer scalars, as literals do in Python.
at::Scalar scalarOf(napi_env env, napi_value value, const Argument& argument) {
  switch (typeOf(env, value)) {
    case napi_number: {
      double number;
      check(env, napi_get_value_double(env, value, &number));
      if (isHandle(number)) mismatch(env, value, argument);
      const int64_t integer = static_cast<int64_t>(std::abs(number) < 9e15 ? number : 0);
      // -0 must stay a float, or its sign is lost.
      const bool integral =
          static_cast<double>(integer) == number && !(number == 0 && std::signbit(number));
      return integral ? at::Scalar(integer) : at::Scalar(number);
    }
    case napi_boolean:
      return at::Scalar(toBool(env, value, "value"));
    case napi_bigint:
      return at::Scalar(toInteger(env, value, "value"));
    default:
      mismatch(env, value, argument);
  }
}

template <class Element, class Read>
c10::IValue listOf(napi_env env, napi_value value, const Argument& argument, Read read) {
  c10::List<Element> list;
  if (!isArray(env, value)) {
    if (argument.listSize <= 0) mismatch(env, value, argument);
    const Element single = read(value);
    for (int64_t i = 0; i < argument.listSize; ++i) list.push_back(single);
    return list;
  }
  const size_t length = arrayLength(env, value);
  list.reserve(length);
  for (size_t i = 0; i < length; ++i) list.push_back(read(elementAt(env, value, i)));
  return list;
}

bool readBool(napi_env env, napi_value value, const Argument& argument) {
  if (typeOf(env, value) != napi_boolean) mismatch(env, value, argument);
  return toBool(env, value, "value");
}

double readFloat(napi_env env, napi_value value, const Argument& argument) {
  double number;
  if (napi_get_value_double(env, value, &number) != napi_ok || isHandle(number))
    mismatch(env, value, argument);
  return number;
}

int64_t readInt(napi_env env, napi_value value, const Argument& argument) {
  const napi_valuetype type = typeOf(env, value);
  if (type != napi_number && type != napi_bigint) mismatch(env, value, argument);
  return toInteger(env, value, argument.type.c_str());
}

std::string readString(napi_env env, napi_value value, const Argument& argument) {
  if (typeOf(env, value) != napi_string) mismatch(env, value, argument);
  return toString(env, value, "value");
}

const at::Tensor& readTensor(napi_env env, napi_value value, const Argument& argument) {
  double number;
  if (napi_get_value_double(env, value, &number) == napi_ok)
    if (const at::Tensor* tensor = findTensor(number)) return *tensor;
  mismatch(env, value, argument);
}

c10::IValue tensorList(napi_env env, napi_value value, const Argument& argument) {
  if (!isArray(env, value)) mismatch(env, value, argument);
  c10::List<at::Tensor> list;
  const size_t length = arrayLength(env, value);
  list.reserve(length);
  for (size_t i = 0; i < length; ++i)
    list.push_back(readTensor(env, elementAt(env, value, i), argument));
  return list;
}

c10::IValue optionalTensorList(napi_env env, napi_value value, const Argument& argument) {
  if (!isArray(env, value)) mismatch(env, value, argument);
  c10::List<c10::optional<at::Tensor>> list;
  const size_t length = arrayLength(env, value);
  for (size_t i = 0; i < length; ++i) {
    const napi_value element = elementAt(env, value, i);
    if (isNullish(env, element))
      list.push_back(c10::optional<at::Tensor>());
    else
      list.push_back(c10::optional<at::Tensor>(readTensor(env, element, argument)));
  }
  return list;
}

template <class List>
napi_value arrayOf(napi_env env, const List& list) {
  const napi_value array = newArray(env, list.size());
  for (size_t i = 0; i < list.size(); ++i)
    setElement(env, array, i, resultValue(env, c10::IValue(list[i])));
  return array;
}

}  // namespace

Argument argumentOf(const c10::Argument& schema) {
  Argument argument;
  argument.name = schema.name();
  argument.keywordOnly = schema.kwarg_only();
  argument.hasDefault = schema.default_value().has_value();
  if (argument.hasDefault) argument.defaultValue = *schema.default_value();
  argument.listSize = schema.N().value_or(0);
  // The real type says ScalarType where the plain one says int.
  c10::TypePtr type = schema.real_type();
  argument.type = type->str();
  // A SymInt is an int to anyone who does not trace shapes.
  for (size_t at; (at = argument.type.find("SymInt")) != std::string::npos;)
    argument.type.replace(at, 6, "int");
  argument.optional = type->kind() == TypeKind::OptionalType;
  if (argument.optional) type = type->castRaw<c10::OptionalType>()->getElementType();
  argument.kind = kindOf(type);
  return argument;
}

c10::IValue convert(napi_env env, napi_value value, const Argument& argument) {
  switch (argument.kind) {
    case ArgumentKind::kTensor:
      return readTensor(env, value, argument);
    case ArgumentKind::kTensorList:
      return tensorList(env, value, argument);
    case ArgumentKind::kOptionalTensorList:
      return optionalTensorList(env, value, argument);
    case ArgumentKind::kScalar:
      return scalarOf(env, value, argument);
    case ArgumentKind::kInt:
      return readInt(env, value, argument);
    case ArgumentKind::kFloat:
      return readFloat(env, value, argument);
    case ArgumentKind::kBool:
      return readBool(env, value, argument);
    case ArgumentKind::kString:
      return readString(env, value, argument);
    case ArgumentKind::kIntList:
      return listOf<int64_t>(
          env, value, argument, [&](napi_value v) { return readInt(env, v, argument); });
    case ArgumentKind::kFloatList:
      return listOf<double>(
          env, value, argument, [&](napi_value v) { return readFloat(env, v, argument); });
    case ArgumentKind::kBoolList:
      return listOf<bool>(
          env, value, argument, [&](napi_value v) { return readBool(env, v, argument); });
    case ArgumentKind::kScalarList:
      return listOf<at::Scalar>(
          env, value, argument, [&](napi_value v) { return scalarOf(env, v, argument); });
    case ArgumentKind::kStringList:
      return listOf<std::string>(
          env, value, argument, [&](napi_value v) { return readString(env, v, argument); });
    case ArgumentKind::kDtype:
      return static_cast<int64_t>(dtypeNamed(readString(env, value, argument)));
    case ArgumentKind::kLayout:
      return static_cast<int64_t>(layoutNamed(readString(env, value, argument)));
    case ArgumentKind::kMemoryFormat:
      return static_cast<int64_t>(memoryFormatNamed(readString(env, value, argument)));
    case ArgumentKind::kDevice:
      return c10::Device(readString(env, value, argument));
    case ArgumentKind::kGenerator:
      return generatorOf(env, value, "value");
    case ArgumentKind::kUnsupported:
      break;
  }
  throw ArgumentError("a value of type " + argument.type + " cannot be passed from JavaScript");
}

napi_value resultValue(napi_env env, const c10::IValue& value) {
  if (value.isTensor()) return handleValue(env, value.toTensor());
  if (value.isNone()) return nullValue(env);
  if (value.isBool()) return boolValue(env, value.toBool());
  if (value.isInt()) return integerValue(env, value.toInt());
  if (value.isDouble()) return numberValue(env, value.toDouble());
  if (value.isScalar()) {
    const at::Scalar scalar = value.toScalar();
    if (scalar.isBoolean()) return boolValue(env, scalar.toBool());
    if (scalar.isIntegral(false)) return integerValue(env, scalar.toLong());
    return numberValue(env, scalar.toDouble());
  }
  if (value.isString()) return stringValue(env, value.toStringRef());
  if (value.isDevice()) return stringValue(env, value.toDevice().str());
  if (value.isTensorList()) return arrayOf(env, value.toTensorVector());
  if (value.isList()) return arrayOf(env, value.toListRef());
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    const napi_value array = newArray(env, elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      setElement(env, array, i, resultValue(env, elements[i]));
    return array;
  }
  throw ArgumentError(
      "the operator returned a " + value.tagKind() + ", which cannot be passed to JavaScript");
}

}  // namespace openmanus
