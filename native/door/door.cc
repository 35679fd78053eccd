#include "door.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <deque>

#include "arguments.h"
#include "autograd/anomaly.h"
#include "devices/copies.h"
#include "dtypes.h"
#include "handles.h"

namespace openmanus {

namespace {

struct Operator {
  std::string name;  // aten::add.Tensor
  c10::OperatorHandle handle;
  std::vector<Argument> arguments;
  std::vector<size_t> written;  // arguments that the operator writes to and returns
  bool returnsDtype;            // as its only result: aten::result_type and its kin
  bool uninitialised;           // aten::empty and its kin: a NaN in the result means nothing
  CopyKind copies;              // between host and devices
};

// Operators that were looked up, by the index that JavaScript holds. They are never removed nor moved.
std::deque<Operator>& operators() {
  thread_local auto* instance = new std::deque<Operator>();
  return *instance;
}

std::string ordinal(size_t i) {
  static const char* const kNames[] = {"1st", "2nd", "3rd"};
  return i < 3 ? kNames[i] : std::to_string(i + 1) + "th";
}

// Looks an operator up once: its index, or -1 if the dispatcher does not know it.
napi_value findOperator(const Call& call) {
  const std::string name = toString(call.env, call[0], "operator name");
  const std::string overload = toString(call.env, call[1], "overload name");
  const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found) return numberValue(call.env, -1);
  Operator entry{overload.empty() ? name : name + "." + overload,
                 *found,
                 {},
                 {},
                 false,
                 false,
                 copyKindOf(name)};
  entry.uninitialised =
      name.find("empty") != std::string::npos || name.find("resize") != std::string::npos;
  const auto& schema = found->schema();
  entry.returnsDtype = schema.returns().size() == 1 &&
                       schema.returns()[0].real_type()->kind() == c10::TypeKind::ScalarTypeType;
  if (schema.arguments().size() + 1 > kMaxArguments)
    throw ArgumentError(entry.name + " takes more arguments than the door passes");
  for (const auto& argument : schema.arguments()) {
    if (argument.alias_info() && argument.alias_info()->isWrite())
      entry.written.push_back(entry.arguments.size());
    entry.arguments.push_back(argumentOf(argument));
  }
  operators().push_back(std::move(entry));
  return numberValue(call.env, static_cast<double>(operators().size() - 1));
}

const Operator& operatorAt(const Call& call) {
  const int64_t index = toInteger(call.env, call[0], "operator");
  auto& all = operators();
  if (index < 0 || index >= static_cast<int64_t>(all.size()))
    throw ArgumentError("no operator has the index " + std::to_string(index));
  return all[static_cast<size_t>(index)];
}

// { name, schema, arguments: [{ name, type, hasDefault, keywordOnly }], returns: number }
napi_value describeOperator(const Call& call) {
  const Operator& op = operatorAt(call);
  const napi_env env = call.env;
  napi_value result;
  check(env, napi_create_object(env, &result));
  const napi_value arguments = newArray(env, op.arguments.size());
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    const Argument& argument = op.arguments[i];
    napi_value entry;
    check(env, napi_create_object(env, &entry));
    setProperty(env, entry, "name", stringValue(env, argument.name));
    setProperty(env, entry, "type", stringValue(env, argument.type));
    setProperty(env, entry, "hasDefault", boolValue(env, argument.hasDefault));
    setProperty(env, entry, "keywordOnly", boolValue(env, argument.keywordOnly));
    setElement(env, arguments, i, entry);
  }
  setProperty(env, result, "name", stringValue(env, op.name));
  setProperty(env, result, "schema", stringValue(env, c10::toString(op.handle.schema())));
  setProperty(env, result, "arguments", arguments);
  const auto& returns = op.handle.schema().returns();
  const napi_value types = newArray(env, returns.size());
  for (size_t i = 0; i < returns.size(); ++i)
    setElement(env, types, i, stringValue(env, returns[i].real_type()->str()));
  setProperty(env, result, "returns", types);
  return result;
}

// Every operator the dispatcher has a schema for, as "name.overload".
napi_value operatorNames(const Call& call) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<std::string> names;
  for (const auto& name : dispatcher.getAllOpNames())
    if (dispatcher.findSchema(name))
      names.push_back(
          name.overload_name.empty() ? name.name : name.name + "." + name.overload_name);
  std::sort(names.begin(), names.end());
  const napi_value result = newArray(call.env, names.size());
  for (size_t i = 0; i < names.size(); ++i)
    setElement(call.env, result, i, stringValue(call.env, names[i]));
  return result;
}

// The stack of boxed arguments is reused between calls (no allocation on the way), and must not hold
// tensors alive when a call is over, however it ended. Reading an argument can run JavaScript (a
// getter in an array) that calls an operator itself: each call takes the stack away for its time.
thread_local torch::jit::Stack spareStack;

struct StackScope {
  torch::jit::Stack stack = std::move(spareStack);
  ~StackScope() {
    stack.clear();
    spareStack = std::move(stack);
  }
};

void pushArguments(const Call& call, const Operator& op, torch::jit::Stack& stack) {
  const napi_env env = call.env;
  size_t given = call.count - 1;
  while (given > op.arguments.size() && typeOf(env, call[given]) == napi_undefined) --given;
  if (given > op.arguments.size())
    throw ArgumentError(
        op.name + ": takes " + std::to_string(op.arguments.size()) + " arguments, got " +
        std::to_string(given));
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    const Argument& argument = op.arguments[i];
    const napi_value value = call[i + 1];
    const napi_valuetype type = typeOf(env, value);
    if (type == napi_undefined && argument.hasDefault) {
      stack.push_back(argument.defaultValue);
    } else if ((type == napi_undefined || type == napi_null) && argument.optional) {
      stack.emplace_back();
    } else {
      try {
        if (type == napi_undefined) throw ArgumentError("missing, expected " + argument.type);
        stack.push_back(convert(env, value, argument));
      } catch (const ArgumentError& error) {
        throw ArgumentError(
            op.name + ": argument '" + argument.name + "' (" + ordinal(i) + "): " + error.what());
      } catch (const c10::Error& error) {
        throw ArgumentError(
            op.name + ": argument '" + argument.name + "' (" + ordinal(i) +
            "): " + messageWithoutBacktrace(error));
      }
    }
  }
}

// The operator with what it was given, for errors of libtorch: `aten::mm(float32[2, 3], float32[2])`.
std::string signature(const Call& call, const Operator& op) {
  std::string text = op.name + "(";
  for (size_t i = 1; i < call.count; ++i) {
    std::string part = describe(call.env, call[i]);
    if (part.rfind("Tensor ", 0) == 0 || part.rfind("number ", 0) == 0) part = part.substr(7);
    text += (i > 1 ? ", " : "") + part;
  }
  return text + ")";
}

// A result that is one of the written arguments keeps that argument's handle.
napi_value resultOrArgument(const Call& call, const Operator& op, const c10::IValue& value) {
  if (!op.written.empty() && value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    for (const size_t i : op.written) {
      double handle;
      if (napi_get_value_double(call.env, call[i + 1], &handle) != napi_ok) continue;
      const at::Tensor* argument = findTensor(handle);
      if (argument && argument->is_same(tensor)) return call[i + 1];
    }
  }
  // On the stack a dtype is an int like any other.
  if (op.returnsDtype && value.isInt())
    return stringValue(call.env, dtypeName(static_cast<c10::ScalarType>(value.toInt())));
  return resultValue(call.env, value);
}

// Of an operator that may copy between host and devices. Arguments are looked at by their handles: the
// stack has the results by now.
void noteCopy(const Call& call, const Operator& op, const torch::jit::Stack& stack) {
  const auto given = [&](size_t i) -> const at::Tensor* {
    double handle;
    if (napi_get_value_double(call.env, call[i + 1], &handle) != napi_ok) return nullptr;
    return findTensor(handle);
  };
  const at::Tensor* first = given(0);
  if (first == nullptr) return;
  if (op.copies == CopyKind::kInto) {
    if (const at::Tensor* from = given(1)) countCopy(*from, *first);
  } else if (op.copies == CopyKind::kResult) {
    if (stack.size() == 1 && stack[0].isTensor()) countCopy(*first, stack[0].toTensor());
  } else if (!first->device().is_cpu()) {
    countToHost(8);
  }
}

// call(operator, ...arguments): one result, or an array of several.
napi_value call(const Call& call) {
  const Operator& op = operatorAt(call);
  StackScope scope;
  torch::jit::Stack& stack = scope.stack;
  pushArguments(call, op, stack);
  try {
    op.handle.callBoxed(&stack);
  } catch (const c10::Error& error) {
    throw std::runtime_error(signature(call, op) + ": " + messageWithoutBacktrace(error));
  } catch (const std::exception& error) {
    throw std::runtime_error(signature(call, op) + ": " + error.what());
  }
  if (op.copies != CopyKind::kNone) noteCopy(call, op, stack);
  if (anomalyDetection() && !op.uninitialised) {
    const std::string problem = findNan(stack);
    if (!problem.empty()) throw std::runtime_error(signature(call, op) + ": " + problem);
  }
  if (stack.size() == 1) return resultOrArgument(call, op, stack[0]);
  if (stack.empty()) return undefinedValue(call.env);
  const napi_value results = newArray(call.env, stack.size());
  for (size_t i = 0; i < stack.size(); ++i)
    setElement(call.env, results, i, resultOrArgument(call, op, stack[i]));
  return results;
}

}  // namespace

void registerDoor(napi_env env, napi_value exports) {
  OPENMANUS_EXPORT(findOperator);
  OPENMANUS_EXPORT(describeOperator);
  OPENMANUS_EXPORT(operatorNames);
  OPENMANUS_EXPORT(call);
}

}  // namespace openmanus
