/// @file Aligned working memory of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace openmanus::fused {

constexpr int64_t cache_line = 64;

/// Elements per row such that rows are whole cache lines, an odd number of them: a column of
/// vectors then spreads over all the sets of the cache instead of evicting itself.
template <typename T>
constexpr int64_t padded_row(int64_t elements) {
  const int64_t per_line = cache_line / int64_t(sizeof(T));
  const int64_t lines = (elements + per_line - 1) / per_line;
  return (lines | 1) * per_line;
}

template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : memory_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(cache_line)))) {}
  T* get() const { return memory_.get(); }
  operator T*() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, std::align_val_t(cache_line)); }
  };
  std::unique_ptr<T, Free> memory_;
};

}  // namespace openmanus::fused
