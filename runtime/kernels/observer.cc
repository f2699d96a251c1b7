#include "runtime/kernels/observer.h"

#include <utility>

namespace cleave::runtime {

void Observer::Show() {
  const std::vector<Seen> seen = std::exchange(seen_, {});
  for (const Seen& one : seen) one.look->Show();
}

}  // namespace cleave::runtime
