#include "base/parallel/parallel.h"

namespace cleave {

std::future<void> RunBeside(std::function<void()> work) {
  return std::async(std::launch::async | std::launch::deferred, std::move(work));
}

}  // namespace cleave
