// What the users of oneDNN's C interface share (its C++ headers take seconds to compile).
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_

#include <dnnl.h>

#include <memory>
#include <utility>
#include <vector>

namespace cleave::runtime {

// Ends the program when oneDNN refuses; `what`: what it was asked for.
void Check(dnnl_status_t status, const char* what);

struct Engine {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
};

// Started at the first use and never destroyed: oneDNN's own globals may be gone before ours.
const Engine& TheEngine();

// A memory object without memory.
dnnl_memory_t MakeMemory(const dnnl_memory_desc_t& description);
void SetPointer(dnnl_memory_t memory, const void* values);

// Runs it to its end.
void Execute(dnnl_primitive_t primitive, const std::vector<dnnl_exec_arg_t>& arguments, const char* what);

// What has been prepared so far, one for each shape.
template <typename Prepared>
class PreparedList {
 public:
  // The one that `fits`, else what `prepare` makes. A step repeats the same calls in the same order, so the next one is
  // usually the one after the last.
  template <typename Fits, typename Prepare>
  const Prepared& Get(Fits fits, Prepare prepare) {
    for (size_t i = 0; i < all_.size(); ++i) {
      last_ = last_ + 1 < all_.size() ? last_ + 1 : 0;
      if (fits(*all_[last_])) return *all_[last_];
    }
    all_.push_back(std::make_unique<Prepared>(prepare()));
    last_ = all_.size() - 1;
    return *all_.back();
  }

 private:
  std::vector<std::unique_ptr<Prepared>> all_;
  size_t last_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
