// What the environment says to the programs beside a generated one.
#ifndef CLEAVE_RUNTIME_STARTER_ENVIRONMENT_H_
#define CLEAVE_RUNTIME_STARTER_ENVIRONMENT_H_

#include <cstdlib>
#include <string>

#include "runtime/error/error.h"

namespace cleave::runtime {

// A variable of the environment; empty where it is not set.
inline std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// A number of ranks. Anything else ends the process.
inline int WorkersOrDie(const std::string& name, const std::string& text) {
  constexpr int kMostWorkers = 1 << 20;
  char* end = nullptr;
  const long ranks = std::strtol(text.c_str(), &end, 10);
  if (ranks < 1 || ranks > kMostWorkers || *end != '\0') {
    Die(ExitCode::kUsage,
        Format("%s is `%s`, and must be the number of ranks, from 1 to %d", name.c_str(), text.c_str(), kMostWorkers));
  }
  return static_cast<int>(ranks);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_STARTER_ENVIRONMENT_H_
