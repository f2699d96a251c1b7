// Private to runtime/npy: the header of a .npy file.
#ifndef CLEAVE_RUNTIME_NPY_HEADER_H_
#define CLEAVE_RUNTIME_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/npy/npy.h"

namespace cleave::runtime {

inline Error NpyError(std::string message) { return {ExitCode::kInput, std::move(message)}; }

// The most bytes that stand before the text of a header.
constexpr int64_t kNpyPreamble = 12;

// Where the text of a header stands.
struct NpyHeaderPlace {
  int64_t begin = 0;
  int64_t size = 0;
};

// `start`: the first kNpyPreamble bytes of the file, or all where it has fewer. `path` names the file in errors.
Result<NpyHeaderPlace> FindNpyHeader(const std::string& path, const std::string& start);

// The header from its text, such as "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 32), }"; data_offset is
// left to the caller.
Result<NpyHeader> ParseNpyHeader(const std::string& path, const std::string& text);

// Bytes of a value, and its name in NumPy: "float32".
int64_t NpyValueBytes(NpyType type);
const char* NpyTypeName(NpyType type);

// "64x32", "scalar"
std::string NpyShapeText(const std::vector<int64_t>& shape);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_NPY_HEADER_H_
