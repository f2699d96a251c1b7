#include "runtime/error/warning.h"

#include <cstdio>

#include "runtime/error/progress_line.h"

namespace cleave::runtime {
namespace {

thread_local bool prints_warnings = true;

std::map<std::string, int64_t>& FallbacksOfThread() {
  thread_local auto& all = *new std::map<std::string, int64_t>;
  return all;
}

}  // namespace

void SetPrintsWarnings(bool prints) { prints_warnings = prints; }

void Warn(const std::string& message) {
  if (!prints_warnings) return;
  EndProgressLine();
  std::fprintf(stderr, "warning: %s\n", message.c_str());
}

void FallBack(const std::string& kind, const std::function<std::string()>& refusal, const char* instead) {
  if (++FallbacksOfThread()[kind] == 1) Warn(refusal() + "; " + instead);
}

const std::map<std::string, int64_t>& Fallbacks() { return FallbacksOfThread(); }

}  // namespace cleave::runtime
