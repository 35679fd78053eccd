#include "block_cache.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <sys/mman.h>
#include <torch/version.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

namespace openmanus {

namespace {

// The system clears every page that it gives. Activations and gradients come and go at every step, so
// malloc, which gives large blocks back at once, made clearing pages a sixth of a training step of a
// 0.5B model. Malloc can be told to keep everything, but then blocks of all sizes cut its heap into
// pieces: the peak of a step of 4,096 tokens was 0.4 GB higher. Here a block is whole or gone, and the
// sum of used and kept blocks goes only a little beyond what was in use at once. Not at all would be too
// strict: near the peak of every step, blocks of one size would go to make room for those of another.
class BlockCache {
 public:
  static constexpr size_t kSmallest = size_t(1) << 20;
  // Kept beyond the most that was in use, at most.
  static constexpr size_t kMostSpare = size_t(256) << 20;

  void* take(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t wanted = rounded(bytes);
    const auto fitting = bySize_.lower_bound(wanted);
    if (fitting != bySize_.end() && fitting->first <= wanted + wanted / 8) {
      const Block block = *fitting->second;
      forget(fitting);
      return use(block);
    }
    const size_t highest = std::max(peak_, used_ + wanted);
    const size_t allowed = highest + std::min(highest / 4, kMostSpare);
    while (!kept_.empty() && used_ + keptBytes_ + wanted > allowed) releaseOldest();
    void* data = map(wanted);
    while (data == nullptr && !kept_.empty()) {
      releaseOldest();
      data = map(wanted);
    }
    if (data == nullptr) throw std::bad_alloc();
    return use({data, wanted});
  }

  // Whether the memory was a block.
  bool giveBack(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = inUse_.find(data);
    if (found == inUse_.end()) return false;
    const size_t bytes = found->second;
    inUse_.erase(found);
    used_ -= bytes;
    kept_.push_back({data, bytes});
    bySize_.emplace(bytes, std::prev(kept_.end()));
    keptBytes_ += bytes;
    return true;
  }

  void releaseAll() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!kept_.empty()) releaseOldest();
    peak_ = used_;
  }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  using Kept = std::list<Block>;  // oldest first

  static constexpr size_t kHugePage = size_t(2) << 20;

  // Few different sizes, so that a block is often wanted again; large ones in whole huge pages.
  static size_t rounded(size_t bytes) {
    const size_t unit = bytes >= (size_t(32) << 20) ? kHugePage : size_t(64) << 10;
    return (bytes + unit - 1) / unit * unit;
  }

  static void* map(size_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
    if (bytes % kHugePage == 0)
      madvise(data, bytes, MADV_HUGEPAGE);  // fewer pages to clear and find
#endif
    return data;
  }

  void* use(const Block& block) {
    inUse_.emplace(block.data, block.bytes);
    used_ += block.bytes;
    peak_ = std::max(peak_, used_);
    return block.data;
  }

  void forget(std::multimap<size_t, Kept::iterator>::iterator entry) {
    keptBytes_ -= entry->first;
    kept_.erase(entry->second);
    bySize_.erase(entry);
  }

  void releaseOldest() {
    const Block oldest = kept_.front();
    auto entry = bySize_.lower_bound(oldest.bytes);
    while (entry->second != kept_.begin()) ++entry;
    forget(entry);
    munmap(oldest.data, oldest.bytes);
  }

  std::mutex mutex_;
  std::unordered_map<void*, size_t> inUse_;
  Kept kept_;
  std::multimap<size_t, Kept::iterator> bySize_;
  size_t used_ = 0, keptBytes_ = 0, peak_ = 0;
};

// Never destroyed: tensors of static variables are freed after everything else.
BlockCache& blocks() {
  static BlockCache* const cache = new BlockCache;
  return *cache;
}

void freeMemory(void* data) {
  // Blocks begin with a page; few others do.
  if (reinterpret_cast<uintptr_t>(data) % 4096 == 0 && blocks().giveBack(data)) return;
  c10::free_cpu(data);
}

class Allocator final : public at::Allocator {
 public:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  at::DataPtr allocate(size_t bytes) override { return make(bytes); }
#else
  at::DataPtr allocate(size_t bytes) const override { return make(bytes); }
#endif
  at::DeleterFnPtr raw_deleter() const override { return &freeMemory; }
  // Overrides a function that older libtorches do not have.
  void copy_data(void* to, const void* from, std::size_t count) const {
    std::memcpy(to, from, count);
  }

 private:
  static at::DataPtr make(size_t bytes) {
    void* data = bytes >= BlockCache::kSmallest ? blocks().take(bytes) : c10::alloc_cpu(bytes);
    return {data, data, &freeMemory, at::Device(at::DeviceType::CPU)};
  }
};

}  // namespace

void installBlockCache() {
  static Allocator allocator;
  c10::SetCPUAllocator(&allocator, 255);
#if defined(__GLIBC__)
  // For what operators allocate besides tensors. Who has set glibc's own variables knows better.
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"})
    if (std::getenv(name)) return;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

void releaseFreedMemory() {
  blocks().releaseAll();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace openmanus
