#include "runtime/error/warning.h"

#include <cstdio>

namespace cleave::runtime {
namespace {

thread_local bool prints_warnings = true;

}  // namespace

void SetPrintsWarnings(bool prints) { prints_warnings = prints; }

void Warn(const std::string& message) {
  if (prints_warnings) std::fprintf(stderr, "warning: %s\n", message.c_str());
}

}  // namespace cleave::runtime
