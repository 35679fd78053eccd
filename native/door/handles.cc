#include "handles.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <unordered_set>

#include "dtypes.h"

namespace openmanus {

namespace {

// Sign and exponent bits: 0x7da is 2^987, about 1.3e297; 0x7db marks generators.
constexpr uint64_t kTensorTag = 0x7daULL << 52;
constexpr uint64_t kGeneratorTag = 0x7dbULL << 52;
constexpr uint64_t kTagMask = 0xfffULL << 52;
constexpr unsigned kIndexBits = 26;
constexpr uint64_t kIndexMask = (1ULL << kIndexBits) - 1;

uint64_t bitsOf(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

double numberOf(uint64_t bits) {
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

// Values of one kind in numbered slots; a slot's generation changes whenever it is freed.
template <class Value>
class SlotTable {
 public:
  explicit SlotTable(uint64_t tag) : tag_(tag) {}

  uint64_t add(Value value) {
    uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (slots_.size() > kIndexMask) throw ArgumentError("too many live tensors: 67 million");
      index = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    Slot& slot = slots_[index];
    slot.value = std::move(value);
    slot.live = true;
    slot.kept = false;
    ++live_;
    return tag_ | (static_cast<uint64_t>(slot.generation) << kIndexBits) | index;
  }

  Value* find(uint64_t bits) {
    Slot* slot = slotOf(bits);
    return slot ? &slot->value : nullptr;
  }

  bool release(uint64_t bits) {
    Slot* slot = slotOf(bits);
    if (!slot) return false;
    // Moved out first: freeing a graph may take long and must not see a half-freed slot.
    Value dying = std::move(slot->value);
    slot->value = Value();
    slot->live = false;
    slot->generation = (slot->generation + 1) & kIndexMask;
    free_.push_back(static_cast<uint32_t>(bits & kIndexMask));
    --live_;
    return true;
  }

  bool keep(uint64_t bits) {
    Slot* slot = slotOf(bits);
    if (slot) slot->kept = true;
    return slot != nullptr;
  }

  bool isKept(uint64_t bits) {
    Slot* slot = slotOf(bits);
    return slot && slot->kept;
  }

  size_t live() const { return live_; }

  template <class Visitor>
  void forEach(Visitor visit) const {
    for (const Slot& slot : slots_)
      if (slot.live) visit(slot.value);
  }

 private:
  struct Slot {
    Value value;
    uint32_t generation = 0;
    bool live = false;
    bool kept = false;
  };

  Slot* slotOf(uint64_t bits) {
    if ((bits & kTagMask) != tag_) return nullptr;
    const uint64_t index = bits & kIndexMask;
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    const bool current = slot.live && slot.generation == ((bits >> kIndexBits) & kIndexMask);
    return current ? &slot : nullptr;
  }

  uint64_t tag_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  size_t live_ = 0;
};

struct Tables {
  SlotTable<at::Tensor> tensors{kTensorTag};
  SlotTable<at::Generator> generators{kGeneratorTag};
  std::vector<uint64_t> scopeLog;   // handles in order of creation
  std::vector<size_t> scopeStarts;  // where in the log each open scope begins
};

// One set per JavaScript thread. Never destroyed at process exit: libtorch's own statics may be gone
// by then.
Tables& tables() {
  thread_local Tables* instance = new Tables();
  return *instance;
}

// A worker thread that ends frees its tensors; the main thread's go with the process.
void freeTablesWithThread(napi_env env) {
  if (syscall(SYS_gettid) == getpid()) return;
  check(
      env, napi_add_env_cleanup_hook(
               env, [](void* all) { *static_cast<Tables*>(all) = Tables(); }, &tables()));
}

double readNumber(napi_env env, napi_value value) {
  double number;
  return napi_get_value_double(env, value, &number) == napi_ok ? number : 0.0;
}

napi_value release(const Call& call) {
  const uint64_t bits = bitsOf(readNumber(call.env, call[0]));
  Tables& all = tables();
  return boolValue(call.env, all.tensors.release(bits) || all.generators.release(bits));
}

napi_value keep(const Call& call) {
  return boolValue(call.env, tables().tensors.keep(bitsOf(readNumber(call.env, call[0]))));
}

napi_value isLive(const Call& call) {
  const uint64_t bits = bitsOf(readNumber(call.env, call[0]));
  return boolValue(
      call.env, tables().tensors.find(bits) != nullptr || tables().generators.find(bits));
}

// duplicate(tensor): a second handle to the very tensor, not a view of it.
napi_value duplicate(const Call& call) {
  return handleValue(call.env, tensorOf(call.env, call[0], "duplicate"));
}

// How many owners the tensor has: handles, and the graphs that record or saved it.
napi_value useCount(const Call& call) {
  return numberValue(
      call.env, static_cast<double>(tensorOf(call.env, call[0], "useCount").use_count()));
}

napi_value beginScope(const Call& call) {
  Tables& all = tables();
  all.scopeStarts.push_back(all.scopeLog.size());
  return undefinedValue(call.env);
}

// Frees what the innermost scope created, except the handles given, which pass to the scope around
// it. Those must not be kept by `keep`: that is the caller's business.
napi_value endScope(const Call& call) {
  Tables& all = tables();
  if (all.scopeStarts.empty()) throw ArgumentError("endScope without beginScope");
  std::unordered_set<uint64_t> survivors;
  if (!isNullish(call.env, call[0])) {
    const size_t length = arrayLength(call.env, call[0]);
    for (size_t i = 0; i < length; ++i)
      survivors.insert(bitsOf(readNumber(call.env, elementAt(call.env, call[0], i))));
  }
  const size_t start = all.scopeStarts.back();
  all.scopeStarts.pop_back();
  size_t end = start;
  for (size_t i = start; i < all.scopeLog.size(); ++i) {
    const uint64_t bits = all.scopeLog[i];
    if (!survivors.empty() && survivors.count(bits)) {
      if (!all.scopeStarts.empty()) all.scopeLog[end++] = bits;
    } else if (!all.tensors.isKept(bits)) {
      all.tensors.release(bits);
    }
  }
  all.scopeLog.resize(end);
  return undefinedValue(call.env);
}

napi_value liveTensors(const Call& call) {
  return numberValue(call.env, static_cast<double>(tables().tensors.live()));
}

// Bytes of all storages that live tensors refer to, each counted once.
napi_value liveBytes(const Call& call) {
  std::unordered_set<const void*> seen;
  double bytes = 0;
  tables().tensors.forEach([&](const at::Tensor& tensor) {
    if (!tensor.has_storage()) return;
    const auto& storage = tensor.storage();
    if (seen.insert(storage.unsafeGetStorageImpl()).second)
      bytes += static_cast<double>(storage.nbytes());
  });
  return numberValue(call.env, bytes);
}

// Tells V8 about memory that only its garbage collector can free, so that it collects in time.
napi_value adjustExternalMemory(const Call& call) {
  int64_t total;
  check(
      call.env,
      napi_adjust_external_memory(call.env, toInteger(call.env, call[0], "bytes"), &total));
  return numberValue(call.env, static_cast<double>(total));
}

}  // namespace

bool isHandle(double number) {
  const uint64_t tag = bitsOf(number) & kTagMask;
  return tag == kTensorTag || tag == kGeneratorTag;
}

std::string describeTensor(const at::Tensor& tensor) {
  std::string text = dtypeName(tensor.scalar_type()) + "[";
  for (int64_t i = 0; i < tensor.dim(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.size(i));
  text += "]";
  if (!tensor.device().is_cpu()) text += " on " + tensor.device().str();
  return text;
}

std::string describeHandle(double handle) {
  const uint64_t bits = bitsOf(handle);
  if ((bits & kTagMask) == kGeneratorTag)
    return tables().generators.find(bits) ? "Generator" : "a disposed Generator";
  const at::Tensor* tensor = tables().tensors.find(bits);
  return tensor ? "Tensor " + describeTensor(*tensor) : "a disposed Tensor";
}

napi_value handleValue(napi_env env, at::Tensor tensor) {
  if (!tensor.defined()) return nullValue(env);
  Tables& all = tables();
  const uint64_t bits = all.tensors.add(std::move(tensor));
  if (!all.scopeStarts.empty()) all.scopeLog.push_back(bits);
  return numberValue(env, numberOf(bits));
}

const at::Tensor* findTensor(double handle) { return tables().tensors.find(bitsOf(handle)); }

const at::Tensor& tensorOf(napi_env env, napi_value value, const char* what) {
  double number;
  if (napi_get_value_double(env, value, &number) == napi_ok)
    if (const at::Tensor* tensor = findTensor(number)) return *tensor;
  throw ArgumentError(std::string(what) + ": expected a Tensor, got " + describe(env, value));
}

std::vector<at::Tensor> tensorsOf(napi_env env, napi_value array, const char* what) {
  if (!isArray(env, array))
    throw ArgumentError(
        std::string(what) + ": expected an array of Tensors, got " + describe(env, array));
  std::vector<at::Tensor> result;
  const size_t length = arrayLength(env, array);
  result.reserve(length);
  for (size_t i = 0; i < length; ++i)
    result.push_back(tensorOf(env, elementAt(env, array, i), what));
  return result;
}

napi_value generatorValue(napi_env env, at::Generator generator) {
  return numberValue(env, numberOf(tables().generators.add(std::move(generator))));
}

const at::Generator& generatorOf(napi_env env, napi_value value, const char* what) {
  const at::Generator* found = tables().generators.find(bitsOf(readNumber(env, value)));
  if (!found)
    throw ArgumentError(std::string(what) + ": expected a Generator, got " + describe(env, value));
  return *found;
}

void registerHandles(napi_env env, napi_value exports) {
  freeTablesWithThread(env);
  OPENMANUS_EXPORT(release);
  OPENMANUS_EXPORT(keep);
  OPENMANUS_EXPORT(isLive);
  OPENMANUS_EXPORT(duplicate);
  OPENMANUS_EXPORT(useCount);
  OPENMANUS_EXPORT(beginScope);
  OPENMANUS_EXPORT(endScope);
  OPENMANUS_EXPORT(liveTensors);
  OPENMANUS_EXPORT(liveBytes);
  OPENMANUS_EXPORT(adjustExternalMemory);
}

}  // namespace openmanus
