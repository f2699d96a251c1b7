// Private to runtime/data: reading whole files.
#ifndef CLEAVE_RUNTIME_DATA_FILE_H_
#define CLEAVE_RUNTIME_DATA_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// All bytes of a file. An Error when it is missing, unreadable, or not a regular file.
Result<std::vector<uint8_t>> ReadFile(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_FILE_H_
