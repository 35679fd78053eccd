// The process groups by the numbers that JavaScript knows them by.
#pragma once

#include <exception>
#include <memory>

#include "door/node.h"
#include "group.h"

namespace openmanus {

int64_t addGroup(std::shared_ptr<Group> group);
// The group that the first argument of a call names.
std::shared_ptr<Group> groupOf(const Call& call);
// A failure of a group as a JavaScript Error with the facts as properties.
[[noreturn]] void throwFailure(napi_env env, const GroupFailure& failure);

int toInt(napi_env env, napi_value value, const char* what);
Reduction reductionNamed(const std::string& name);

// Runs an operation of the group that the first argument names, behind those of its background.
template <class Body>
auto withGroup(const Call& call, Body body) {
  const std::shared_ptr<Group> group = groupOf(call);
  group->background().drain();
  try {
    return body(*group);
  } catch (const GroupFailure& failure) {
    throwFailure(call.env, failure);
  }
}

}  // namespace openmanus
