// A file with the first values of a parameter.
#ifndef CLEAVE_RUNTIME_NPY_PARAMETER_FILE_H_
#define CLEAVE_RUNTIME_NPY_PARAMETER_FILE_H_

#include <optional>
#include <string>

#include "runtime/device/reals.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// A parameter whose first values stand in a file. It carries the function that reads them, so that a program has only
// the readers that it names.
struct ParameterFile {
  std::string parameter;
  std::string path;
  // REQUIRES: `values` are f32 or i32 of the host.
  std::optional<Error> (*read)(const ParameterFile& file, const Region& piece, const Reals& values) = nullptr;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_NPY_PARAMETER_FILE_H_
