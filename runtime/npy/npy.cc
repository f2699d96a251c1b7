// Reading guide: Open checks everything that the size and the header show; ReadRun is the only place that reads values.
#include "runtime/npy/npy.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/npy/header.h"

namespace cleave::runtime {
namespace {

// The number of values that are converted at a time.
constexpr int64_t kChunk = 8192;

// Whether `value` of a file can be held by To.
bool Fits(double value, float) { return !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max(); }
bool Fits(int64_t value, int32_t) { return value >= INT32_MIN && value <= INT32_MAX; }

std::string ValueText(double value) { return Format("%.17g", value); }
std::string ValueText(int64_t value) { return Format("%" PRId64, value); }

template <typename From, typename To>
std::optional<Error> Convert(const std::string& path, int64_t first, int64_t count, const From* from, To* to) {
  for (int64_t i = 0; i < count; ++i) {
    if (!Fits(from[i], To())) {
      return NpyError(Format("value %s at index %" PRId64 " of `%s` is out of range for %s", ValueText(from[i]).c_str(),
                             first + i, path.c_str(), std::is_same_v<To, float> ? "f32" : "i32"));
    }
    to[i] = static_cast<To>(from[i]);
  }
  return std::nullopt;
}

// Values of a file, which are To or the wider From. `offset`: of the file's first value.
template <typename From, typename To>
std::optional<Error> ReadValues(const File& file, int64_t offset, bool is_wide, int64_t first, int64_t count,
                                To* values) {
  static_assert(sizeof(From) == 8 && sizeof(To) == 4);
  if (!is_wide) return file.Read(offset + first * 4, count * 4, values);
  std::vector<From> wide(static_cast<size_t>(std::min(count, kChunk)));
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t now = std::min(kChunk, count - done);
    if (auto error = file.Read(offset + (first + done) * 8, now * 8, wide.data())) return error;
    if (auto error = Convert(file.path(), first + done, now, wide.data(), values + done)) return error;
  }
  return std::nullopt;
}

template <typename T>
std::optional<Error> ReadPiece(const NpyFile& file, const Region& piece, T* values) {
  std::optional<Error> error;
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    if (!error.has_value()) error = file.ReadRun(global, count, values + local);
  });
  return error;
}

// The message about a size that the header does not allow; nullopt where all is well.
std::optional<Error> CheckSize(const std::string& path, const NpyHeader& header, int64_t file_bytes) {
  int64_t values = 1, bytes = 0;
  bool overflow = false;
  for (const int64_t size : header.shape) overflow = __builtin_mul_overflow(values, size, &values) || overflow;
  overflow = __builtin_mul_overflow(values, NpyValueBytes(header.type), &bytes) || overflow;
  if (overflow) {
    return NpyError(
        Format("`%s` has an impossible shape in its header: %s", path.c_str(), NpyShapeText(header.shape).c_str()));
  }
  const int64_t actual = file_bytes - header.data_offset;
  if (actual == bytes) return std::nullopt;
  return NpyError(Format("`%s` is %s: its header says %s of %s, %" PRId64 " bytes, and %" PRId64 " follow it",
                         path.c_str(), actual < bytes ? "truncated" : "too long", NpyShapeText(header.shape).c_str(),
                         NpyTypeName(header.type), bytes, actual));
}

std::optional<Error> ReadParameter(const ParameterFile& wanted, const Region& piece, float* values) {
  Result<NpyFile> file = NpyFile::Open(wanted.path);
  if (!file.ok()) return file.error();
  const std::string what = "parameter `" + wanted.parameter + "`";
  if (auto error = file.value().CheckFits(what, /*is_float=*/true, piece.shape)) return error;
  return file.value().Read(piece, values);
}

}  // namespace

Result<NpyFile> NpyFile::Open(const std::string& path) {
  Result<File> opened = File::Open(path);
  if (!opened.ok()) return opened.error();
  NpyFile file(std::move(opened.value()));
  const int64_t bytes = file.file_.bytes();

  std::string start(static_cast<size_t>(std::min(bytes, kNpyPreamble)), '\0');
  if (auto error = file.file_.Read(0, static_cast<int64_t>(start.size()), start.data())) return *error;
  const Result<NpyHeaderPlace> place = FindNpyHeader(path, start);
  if (!place.ok()) return place.error();
  const auto [begin, size] = place.value();
  if (bytes < begin + size) {
    return NpyError(Format("`%s` is truncated: its header ends at byte %" PRId64 ", the file at %" PRId64, path.c_str(),
                           begin + size, bytes));
  }
  std::string text(static_cast<size_t>(size), '\0');
  if (auto error = file.file_.Read(begin, size, text.data())) return *error;
  Result<NpyHeader> header = ParseNpyHeader(path, text);
  if (!header.ok()) return header.error();
  file.header_ = std::move(header.value());
  file.header_.data_offset = begin + size;
  if (auto error = CheckSize(path, file.header_, bytes)) return *error;
  return file;
}

std::string NpyFile::TypeText() const { return NpyTypeName(header_.type) + ShapeText(header_.shape); }

std::optional<Error> NpyFile::CheckFits(const std::string& what, bool is_float,
                                        const std::vector<int64_t>& shape) const {
  if (is_float == this->is_float() && shape == header_.shape) return std::nullopt;
  return NpyError(Format("`%s` holds %s, and %s is %s%s", path().c_str(), TypeText().c_str(), what.c_str(),
                         is_float ? "f32" : "i32", ShapeText(shape).c_str()));
}

std::optional<Error> NpyFile::CheckFitsBatches(const std::string& what, bool is_float,
                                               const std::vector<int64_t>& shape) const {
  std::vector<int64_t> samples = shape;
  if (!samples.empty() && !header_.shape.empty()) samples[0] = header_.shape[0];
  std::optional<Error> error = CheckFits(what, is_float, samples);
  if (!error.has_value()) return std::nullopt;
  return NpyError(Format("`%s` holds %s, and %s is %s%s: %s", path().c_str(), TypeText().c_str(), what.c_str(),
                         is_float ? "f32" : "i32", ShapeText(shape).c_str(),
                         is_float == this->is_float() ? "all dimensions but the first, of the samples, must be equal"
                                                      : "f32 takes floats, i32 integers"));
}

std::optional<Error> NpyFile::CheckValues(int64_t limit, std::optional<int64_t> besides) const {
  const int64_t count = ElementCount(header_.shape);
  if (is_float() && header_.type == NpyType::kFloat32) return std::nullopt;
  if (!is_float() && header_.type == NpyType::kInt32 && limit == 0) return std::nullopt;
  std::vector<float> floats(is_float() ? static_cast<size_t>(kChunk) : 0);
  std::vector<int32_t> integers(is_float() ? 0 : static_cast<size_t>(kChunk));
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t now = std::min(kChunk, count - first);
    if (auto error = is_float() ? ReadRun(first, now, floats.data()) : ReadRun(first, now, integers.data())) {
      return error;
    }
    for (int64_t i = 0; !is_float() && limit > 0 && i < now; ++i) {
      const int32_t value = integers[static_cast<size_t>(i)];
      if ((value >= 0 && value < limit) || value == besides) continue;
      return NpyError(Format("value %" PRId32 " at index %" PRId64 " of `%s` is out of range: the model has %" PRId64
                             " classes",
                             value, first + i, path().c_str(), limit));
    }
  }
  return std::nullopt;
}

std::optional<Error> NpyFile::Read(const Region& piece, float* values) const { return ReadPiece(*this, piece, values); }
std::optional<Error> NpyFile::Read(const Region& piece, int32_t* values) const {
  return ReadPiece(*this, piece, values);
}

std::optional<Error> NpyFile::ReadRun(int64_t first, int64_t count, float* values) const {
  const bool is_wide = header_.type == NpyType::kFloat64;
  return ReadValues<double>(file_, header_.data_offset, is_wide, first, count, values);
}

std::optional<Error> NpyFile::ReadRun(int64_t first, int64_t count, int32_t* values) const {
  const bool is_wide = header_.type == NpyType::kInt64;
  return ReadValues<int64_t>(file_, header_.data_offset, is_wide, first, count, values);
}

std::optional<Error> CheckSampleCounts(const std::vector<NpyFile>& files) {
  for (const NpyFile& file : files) {
    const int64_t first = files[0].header().shape[0], count = file.header().shape[0];
    if (count == first) continue;
    return NpyError(Format("`%s` has %" PRId64 " samples, `%s` %" PRId64, files[0].path().c_str(), first,
                           file.path().c_str(), count));
  }
  return std::nullopt;
}

ParameterFile FromNpy(std::string parameter, std::string path) {
  return {std::move(parameter), std::move(path), ReadParameter};
}

}  // namespace cleave::runtime
