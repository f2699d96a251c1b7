// Memory that the runtime takes beside the arena, counted: buffers for messages, copies in a library's own layout,
// intermediate results of kernels.
//
//   WorkspaceVector<float> copy(elements);
//   WorkspaceBytes().peak    // The most that was taken at once.
//
// Everything in the runtime that is as large as a tensor is allocated here; what is only as large as one row is not.
#ifndef CLEAVE_RUNTIME_DEVICE_WORKSPACE_H_
#define CLEAVE_RUNTIME_DEVICE_WORKSPACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::runtime {

struct WorkspaceUse {
  int64_t now = 0;
  int64_t peak = 0;
};
WorkspaceUse WorkspaceBytes();  // Of the calling thread, which is a rank.

// `bytes` bytes, aligned to 64 and counted; ends the program with exit code 6 where there are none.
void* TakeWorkspace(int64_t bytes);
void GiveWorkspace(void* memory, int64_t bytes);

// The same for what outlives the call: never memory that a call has given back and takes again in each step. On a GPU
// there would be none for it then, as nothing is allocated while a step is recorded.
void* TakeNewWorkspace(int64_t bytes);

template <typename T>
struct WorkspaceAllocator {
  using value_type = T;

  WorkspaceAllocator() = default;
  template <typename U>
  explicit WorkspaceAllocator(const WorkspaceAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(TakeWorkspace(static_cast<int64_t>(count * sizeof(T)))); }
  void deallocate(T* memory, size_t count) { GiveWorkspace(memory, static_cast<int64_t>(count * sizeof(T))); }

  template <typename U>
  bool operator==(const WorkspaceAllocator<U>&) const {
    return true;
  }
  template <typename U>
  bool operator!=(const WorkspaceAllocator<U>&) const {
    return false;
  }
};

template <typename T>
using WorkspaceVector = std::vector<T, WorkspaceAllocator<T>>;

// A workspace that only grows; what it held is lost when it does. What is in it at first is not determined.
class Scratch {
 public:
  Scratch() : Scratch(TakeWorkspace) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { Give(); }

  std::byte* AtLeast(int64_t bytes) {
    if (bytes > bytes_) {
      Give();  // First, so that never both are held.
      data_ = static_cast<std::byte*>(take_(bytes));
      bytes_ = bytes;
    }
    return data_;
  }

 protected:
  explicit Scratch(void* (*take)(int64_t)) : take_(take) {}

 private:
  void Give() {
    if (data_ != nullptr) GiveWorkspace(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
  }

  void* (*const take_)(int64_t);
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// One that outlives the call in which it grows.
class KeptScratch : public Scratch {
 public:
  KeptScratch() : Scratch(TakeNewWorkspace) {}
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_WORKSPACE_H_
