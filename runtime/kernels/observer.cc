#include "runtime/kernels/observer.h"

#include <utility>

namespace cleave::runtime {

void Observer::Show() {
  if (join_ != nullptr) join_(*this);
  const std::vector<Seen> seen = std::exchange(seen_, {});
  for (const Seen& one : seen) one.look->Show();
}

}  // namespace cleave::runtime
