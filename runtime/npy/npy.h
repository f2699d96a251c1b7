// Arrays in NumPy's .npy files: opened and checked by header and size, then read piece by piece.
//
//   Result<NpyFile> file = NpyFile::Open("w0.npy");
//   if (!file.ok()) return file.error();
//   if (auto error = file.value().CheckFits("parameter `w0`", true, {64, 32})) return *error;
//   if (auto error = file.value().Read({{64, 32}, {0, 16}, {64, 16}}, w0)) return *error;
//
// Formats 1.0 to 3.0 in C order, little endian. Floats are of 16, 32 or 64 bits, and are read as float; integers of 8,
// 16, 32 or 64 bits and bools, which are 0 and 1, are read as int32_t. float64 is rounded, and a value that does not
// fit is an Error. Only the bytes of the wanted piece are read. Every mistake is an Error with exit code 3. Reading is
// thread-safe.
//
// Format: numpy.lib.format, "The .npy format".
#ifndef CLEAVE_RUNTIME_NPY_NPY_H_
#define CLEAVE_RUNTIME_NPY_NPY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/mesh/mesh.h"
#include "runtime/npy/parameter_file.h"

namespace cleave::runtime {

enum class NpyType {
  kFloat16,
  kFloat32,
  kFloat64,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
};

// What stands before the values of a file.
struct NpyHeader {
  NpyType type = NpyType::kFloat32;
  std::vector<int64_t> shape;
  int64_t data_offset = 0;  // Bytes before the first value.
};

class NpyFile {
 public:
  // Opens a file whose header and size are as they must be.
  static Result<NpyFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const NpyHeader& header() const { return header_; }
  bool is_float() const { return header_.type <= NpyType::kFloat64; }

  // "float32[64, 32]"
  std::string TypeText() const;

  // An Error that names both when the file does not hold `what`, which has this element type and shape.
  std::optional<Error> CheckFits(const std::string& what, bool is_float, const std::vector<int64_t>& shape) const;

  // The same for samples: all dimensions but the first, which counts them, are those of the batches of `what`.
  std::optional<Error> CheckFitsBatches(const std::string& what, bool is_float,
                                        const std::vector<int64_t>& shape) const;

  // An Error for values that float or int32 cannot hold, or integers outside of [0, limit) other than `besides`; limit
  // 0: any integer. Reads the whole file where its type makes such values possible.
  std::optional<Error> CheckValues(int64_t limit, std::optional<int64_t> besides = std::nullopt) const;

  // A piece of the array. REQUIRES: is_float() for float, not for int32_t; piece.shape is the file's.
  std::optional<Error> Read(const Region& piece, float* values) const;
  std::optional<Error> Read(const Region& piece, int32_t* values) const;

  // `count` consecutive values from value `first` on. REQUIRES: they are in the file, and the type as above.
  std::optional<Error> ReadRun(int64_t first, int64_t count, float* values) const;
  std::optional<Error> ReadRun(int64_t first, int64_t count, int32_t* values) const;

 private:
  explicit NpyFile(File file) : file_(std::move(file)) {}

  File file_;
  NpyHeader header_;
};

// An Error when files that together are a data set differ in their number of samples. REQUIRES: each has a dimension.
std::optional<Error> CheckSampleCounts(const std::vector<NpyFile>& files);

// `path` is a .npy file of the parameter's shape.
ParameterFile FromNpy(std::string parameter, std::string path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_NPY_NPY_H_
