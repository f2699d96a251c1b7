// Reading guide: Open checks everything that the size and the header show; ReadRun is the only place that reads values.
#include "runtime/npy/npy.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/device/float16.h"
#include "runtime/npy/header.h"

namespace cleave::runtime {
namespace {

// The number of values that are converted at a time.
constexpr int64_t kChunk = 8192;

// A bool as it lies in a file: a byte, which must be 0 or 1.
enum class Bool : uint8_t {};

// Whether `value` of a file can be held by To.
bool Fits(double value, float) { return !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max(); }
bool Fits(int64_t value, int32_t) { return value >= INT32_MIN && value <= INT32_MAX; }
bool Fits(Bool value, int32_t) { return static_cast<uint8_t>(value) <= 1; }

std::string ValueText(double value) { return Format("%.17g", value); }
std::string ValueText(int64_t value) { return Format("%" PRId64, value); }
std::string ValueText(Bool value) { return ValueText(int64_t{static_cast<uint8_t>(value)}); }

// What a value is compared as.
template <typename From>
auto Widened(From value) {
  if constexpr (std::is_same_v<From, Bool>) {
    return value;
  } else if constexpr (std::is_integral_v<From>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <typename From, typename To>
std::optional<Error> Convert(const std::string& path, int64_t first, int64_t count, const From* from, To* to) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = Widened(from[i]);
    if (!Fits(value, To())) {
      const char* const type = std::is_same_v<From, Bool> ? "bool" : std::is_same_v<To, float> ? "f32" : "i32";
      return NpyError(Format("value %s at index %" PRId64 " of `%s` is out of range for %s", ValueText(value).c_str(),
                             first + i, path.c_str(), type));
    }
    to[i] = static_cast<To>(value);
  }
  return std::nullopt;
}

// Values of a file, which are From. `offset`: of the file's first value.
template <typename From, typename To>
std::optional<Error> ReadValues(const File& file, int64_t offset, int64_t first, int64_t count, To* values) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(From));
  if constexpr (std::is_same_v<From, To>) return file.Read(offset + first * kBytes, count * kBytes, values);
  std::vector<From> chunk(static_cast<size_t>(std::min(count, kChunk)));
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t now = std::min(kChunk, count - done);
    if (auto error = file.Read(offset + (first + done) * kBytes, now * kBytes, chunk.data())) return error;
    if (auto error = Convert(file.path(), first + done, now, chunk.data(), values + done)) return error;
  }
  return std::nullopt;
}

// Whether each value of the type is one of float or int32_t.
bool AlwaysFits(NpyType type) {
  switch (type) {
    case NpyType::kFloat16:
    case NpyType::kFloat32:
    case NpyType::kInt8:
    case NpyType::kUint8:
    case NpyType::kInt16:
    case NpyType::kUint16:
    case NpyType::kInt32:
      return true;
    case NpyType::kFloat64:
    case NpyType::kBool:
    case NpyType::kUint32:
    case NpyType::kInt64:
      return false;
  }
  return false;
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

std::optional<Error> ReadParameter(const ParameterFile& wanted, const Region& piece, const Reals& values) {
  Result<NpyFile> file = NpyFile::Open(wanted.path);
  if (!file.ok()) return file.error();
  const bool is_float = values.type() == RealType::kF32;
  const std::string what = (is_float ? "parameter `" : "state `") + wanted.parameter + "`";
  if (auto error = file.value().CheckFits(what, is_float, piece.shape)) return error;
  return is_float ? file.value().Read(piece, values.As<float>()) : file.value().Read(piece, values.As<int32_t>());
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
  if (AlwaysFits(header_.type) && (is_float() || limit == 0)) return std::nullopt;
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
  const int64_t offset = header_.data_offset;
  if (header_.type == NpyType::kFloat16) return ReadValues<Float16>(file_, offset, first, count, values);
  if (header_.type == NpyType::kFloat64) return ReadValues<double>(file_, offset, first, count, values);
  return ReadValues<float>(file_, offset, first, count, values);
}

std::optional<Error> NpyFile::ReadRun(int64_t first, int64_t count, int32_t* values) const {
  const int64_t offset = header_.data_offset;
  switch (header_.type) {
    case NpyType::kBool:
      return ReadValues<Bool>(file_, offset, first, count, values);
    case NpyType::kInt8:
      return ReadValues<int8_t>(file_, offset, first, count, values);
    case NpyType::kUint8:
      return ReadValues<uint8_t>(file_, offset, first, count, values);
    case NpyType::kInt16:
      return ReadValues<int16_t>(file_, offset, first, count, values);
    case NpyType::kUint16:
      return ReadValues<uint16_t>(file_, offset, first, count, values);
    case NpyType::kUint32:
      return ReadValues<uint32_t>(file_, offset, first, count, values);
    case NpyType::kInt64:
      return ReadValues<int64_t>(file_, offset, first, count, values);
    case NpyType::kFloat16:  // Not by what is required.
    case NpyType::kFloat32:
    case NpyType::kFloat64:
    case NpyType::kInt32:
      break;
  }
  return ReadValues<int32_t>(file_, offset, first, count, values);
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
