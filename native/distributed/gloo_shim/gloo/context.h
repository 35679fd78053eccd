// Stands in for Gloo's header where a libtorch ships Gloo inside its library but not its headers
// (PyPI's wheels). c10d's ProcessGroupGloo.hpp mentions Gloo's classes only as pointers and in inline
// functions that we do not call, so these names are enough to compile against it: nothing here is
// ever laid out in memory or called from our side.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
