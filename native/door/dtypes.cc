#include "dtypes.h"

#include <utility>

#include "node.h"

namespace openmanus {

namespace {

const std::pair<const char*, c10::ScalarType> kDtypes[] = {
    {"float32", c10::ScalarType::Float},
    {"float64", c10::ScalarType::Double},
    {"bfloat16", c10::ScalarType::BFloat16},
    {"float16", c10::ScalarType::Half},
    {"int64", c10::ScalarType::Long},
    {"int32", c10::ScalarType::Int},
    {"int16", c10::ScalarType::Short},
    {"int8", c10::ScalarType::Char},
    {"uint8", c10::ScalarType::Byte},
    {"bool", c10::ScalarType::Bool},
    {"complex64", c10::ScalarType::ComplexFloat},
    {"complex128", c10::ScalarType::ComplexDouble},
};

const std::pair<const char*, c10::Layout> kLayouts[] = {
    {"strided", c10::kStrided}, {"sparse_coo", c10::kSparse}, {"sparse_csr", c10::kSparseCsr}};

const std::pair<const char*, c10::MemoryFormat> kMemoryFormats[] = {
    {"contiguous_format", c10::MemoryFormat::Contiguous},
    {"preserve_format", c10::MemoryFormat::Preserve},
    {"channels_last", c10::MemoryFormat::ChannelsLast},
    {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}};

template <class Table>
auto find(const Table& table, const std::string& name, const char* kind) {
  std::string known;
  for (const auto& entry : table) {
    if (name == entry.first) return entry.second;
    known += (known.empty() ? "" : ", ") + std::string(entry.first);
  }
  throw ArgumentError(std::string("unknown ") + kind + " \"" + name + "\"; known: " + known);
}

}  // namespace

std::string dtypeName(c10::ScalarType dtype) {
  for (const auto& entry : kDtypes)
    if (entry.second == dtype) return entry.first;
  return c10::toString(dtype);
}

c10::ScalarType dtypeNamed(const std::string& name) { return find(kDtypes, name, "dtype"); }
c10::Layout layoutNamed(const std::string& name) { return find(kLayouts, name, "layout"); }
c10::MemoryFormat memoryFormatNamed(const std::string& name) {
  return find(kMemoryFormats, name, "memory format");
}

}  // namespace openmanus
