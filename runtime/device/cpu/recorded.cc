#include "runtime/device/recorded.h"

namespace cleave::runtime {

struct Recorded::Recording {};

Recorded::Recorded() = default;
Recorded::~Recorded() = default;

Ran Recorded::Run(const std::function<void()>& work) {
  work();
  return Ran::kCalled;
}

}  // namespace cleave::runtime
