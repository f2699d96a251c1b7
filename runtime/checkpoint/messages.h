// Private to runtime/checkpoint: how messages show many tensors.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_MESSAGES_H_
#define CLEAVE_RUNTIME_CHECKPOINT_MESSAGES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// At most a few of a list, with the number of the others.
inline std::string Listed(const std::vector<std::string>& all) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) text += (i > 0 ? ", " : "") + all[i];
  return all.size() > kShown ? text + Format(" and %zu more", all.size() - kShown) : text;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_MESSAGES_H_
