// What a library needs for a call, prepared at the first call of its kind and kept. Inside of runtime/math only.
#ifndef CLEAVE_RUNTIME_MATH_PREPARED_LIST_H_
#define CLEAVE_RUNTIME_MATH_PREPARED_LIST_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace cleave::runtime {

// One entry for each shape, used by one thread.
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

#endif  // CLEAVE_RUNTIME_MATH_PREPARED_LIST_H_
