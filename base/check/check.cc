#include "base/check/check.h"

#include <cstdio>
#include <cstdlib>

namespace cleave {

CheckFailure::CheckFailure(const char* file, int line, const char* condition)
    : file_(file), line_(line), condition_(condition) {}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "internal error: %s at %s:%d: %s\n", condition_, file_, line_, message_.str().c_str());
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace cleave
