// Functions of libraries that may or may not be there, by name.
#pragma once

#include <dlfcn.h>

namespace openmanus {

// Null if no loaded library has it.
template <class Signature>
Signature* symbol(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace openmanus
