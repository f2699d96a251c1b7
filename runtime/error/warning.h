// What a rank says of a job that goes on.
#ifndef CLEAVE_RUNTIME_ERROR_WARNING_H_
#define CLEAVE_RUNTIME_ERROR_WARNING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace cleave::runtime {

// Whether the calling thread, which is a rank, prints warnings: true unless this says otherwise. Of a job only the
// first rank does.
void SetPrintsWarnings(bool prints);

// Prints "warning: <message>" to standard error.
void Warn(const std::string& message);

// Counts a call of which a library does not do the work, so that something slower does. Of each `kind` ("products") the
// calling thread warns the first time. `refusal`: "cuDNN does not compute ..."; `instead`: what does it.
void FallBack(const std::string& kind, const std::function<std::string()>& refusal,
              const char* instead = "kernels of this program do, which take longer");

// The calls of the calling thread by kind. Those of a recorded step count once.
const std::map<std::string, int64_t>& Fallbacks();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_ERROR_WARNING_H_
