#include "runtime/npy/npy_writer.h"

#include <errno.h>

#include <cinttypes>
#include <cstring>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

Error NpyWriter::CannotWrite() const {
  return {ExitCode::kEnvironment, Format("cannot write `%s`: %s", path_.c_str(), std::strerror(errno))};
}

Result<NpyWriter> NpyWriter::Create(const std::string& path, bool is_float, std::vector<int64_t> row) {
  NpyWriter writer(path, is_float, std::move(row));
  writer.file_ = std::fopen(writer.Unfinished().c_str(), "wb");
  if (writer.file_ == nullptr) return writer.CannotWrite();
  if (auto error = writer.WriteHeader()) return *error;
  return writer;
}

NpyWriter::~NpyWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(Unfinished().c_str());
}

std::vector<int64_t> NpyWriter::shape() const {
  std::vector<int64_t> shape = {rows_};
  shape.insert(shape.end(), row_.begin(), row_.end());
  return shape;
}

// Of a length that does not depend on the number of rows.
std::optional<Error> NpyWriter::WriteHeader() {
  std::string sizes = Format("%" PRId64 ",", rows_);
  for (const int64_t size : row_) sizes += Format(" %" PRId64 ",", size);
  std::string text =
      Format("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", is_float_ ? "<f4" : "<i4", sizes.c_str());
  constexpr size_t kDigits = 20;
  const size_t preamble = 10;
  const size_t longest = preamble + text.size() - std::to_string(rows_).size() + kDigits + 1;
  const size_t bytes = (longest + 63) / 64 * 64 - preamble;
  text.resize(bytes - 1, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += {'\1', '\0', static_cast<char>(bytes & 255), static_cast<char>(bytes >> 8)};
  header += text;
  const bool is_written = std::fwrite(header.data(), 1, header.size(), file_) == header.size();
  return is_written ? std::nullopt : std::optional<Error>(CannotWrite());
}

std::optional<Error> NpyWriter::Append(const void* values, int64_t rows) {
  const auto count = static_cast<size_t>(rows * ElementCount(row_));
  rows_ += rows;
  return std::fwrite(values, 4, count, file_) == count ? std::nullopt : std::optional<Error>(CannotWrite());
}

std::optional<Error> NpyWriter::Finish() {
  std::rewind(file_);
  if (auto error = WriteHeader()) return error;
  if (std::fclose(std::exchange(file_, nullptr)) != 0 || std::rename(Unfinished().c_str(), path_.c_str()) != 0) {
    const Error error = CannotWrite();
    std::remove(Unfinished().c_str());
    return error;
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
