// Writes an array row by row into a .npy file (format 1.0), whose number of rows need not be known before.
#ifndef CLEAVE_RUNTIME_NPY_NPY_WRITER_H_
#define CLEAVE_RUNTIME_NPY_NPY_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

class NpyWriter {
 public:
  // Of float, or else of int32_t. `row`: the shape of a row. The file has its name when Finish has returned; an Error
  // has exit code 5.
  static Result<NpyWriter> Create(const std::string& path, bool is_float, std::vector<int64_t> row);
  NpyWriter(NpyWriter&& other) noexcept
      : path_(std::move(other.path_)),
        is_float_(other.is_float_),
        row_(std::move(other.row_)),
        file_(std::exchange(other.file_, nullptr)),
        rows_(other.rows_) {}
  NpyWriter& operator=(NpyWriter&&) = delete;
  ~NpyWriter();  // Removes what is not finished.

  const std::string& path() const { return path_; }
  std::vector<int64_t> shape() const;  // Of what was appended.

  // Values of the type.
  std::optional<Error> Append(const void* values, int64_t rows);
  std::optional<Error> Finish();

 private:
  NpyWriter(std::string path, bool is_float, std::vector<int64_t> row)
      : path_(std::move(path)), is_float_(is_float), row_(std::move(row)) {}
  std::string Unfinished() const { return path_ + ".unfinished"; }
  std::optional<Error> WriteHeader();
  Error CannotWrite() const;

  std::string path_;
  bool is_float_;
  std::vector<int64_t> row_;
  std::FILE* file_ = nullptr;
  int64_t rows_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_NPY_NPY_WRITER_H_
