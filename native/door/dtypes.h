// The names of element types, devices' spelling of layouts and memory formats, in both directions.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace openmanus {

std::string dtypeName(c10::ScalarType dtype);
// Throws ArgumentError with the known names.
c10::ScalarType dtypeNamed(const std::string& name);
c10::Layout layoutNamed(const std::string& name);
c10::MemoryFormat memoryFormatNamed(const std::string& name);

}  // namespace openmanus
