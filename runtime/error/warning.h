// What a rank says of a job that goes on.
#ifndef CLEAVE_RUNTIME_ERROR_WARNING_H_
#define CLEAVE_RUNTIME_ERROR_WARNING_H_

#include <string>

namespace cleave::runtime {

// Whether the calling thread, which is a rank, prints warnings: true unless this says otherwise. Of a job only the
// first rank does.
void SetPrintsWarnings(bool prints);

// Prints "warning: <message>" to standard error.
void Warn(const std::string& message);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_ERROR_WARNING_H_
