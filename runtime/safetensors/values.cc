// Reading guide: ReadRun converts what it reads by one of the functions ToFloats, by type.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/device/bfloat16.h"
#include "runtime/safetensors/header.h"
#include "runtime/safetensors/safetensors.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

// The number of values that are converted at a time.
constexpr int64_t kConvertedAtATime = 8192;

float OfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754's binary16: a sign, 5 bits of exponent and 10 of fraction.
struct Float16Bits {
  uint16_t bits;
  operator float() const {  // NOLINT: implicit on purpose, as BFloat16.
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
    const uint32_t exponent = bits >> 10 & 0x1Fu, fraction = bits & 0x3FFu;
    if (exponent == 0x1F) return OfBits(sign | 0x7F800000u | fraction << 13);  // Infinities, and what is not a number.
    if (exponent != 0) return OfBits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
};

// Each returns how many values were converted before the first that float cannot hold.
template <typename Bits>
int64_t ToFloats(const Bits* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  return count;
}
int64_t ToFloats(const double* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(from[i]) && std::abs(from[i]) > std::numeric_limits<float>::max()) return i;
    to[i] = static_cast<float>(from[i]);
  }
  return count;
}

// "tensor `w0` of `model.safetensors`"
std::string TensorText(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  return "tensor `" + ShownSafetensorsName(entry.name) + "` of `" + file.path() + "`";
}

template <typename From>
std::optional<Error> ReadConverted(const SafetensorsFile& file, const SafetensorsEntry& entry, int64_t first,
                                   int64_t count, float* values) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(From));
  std::vector<From> chunk(static_cast<size_t>(std::min(count, kConvertedAtATime)));
  for (int64_t done = 0; done < count; done += kConvertedAtATime) {
    const int64_t now = std::min(kConvertedAtATime, count - done);
    if (auto error = file.Read(entry.offset + (first + done) * kBytes, now * kBytes, chunk.data())) return error;
    const int64_t converted = ToFloats(chunk.data(), now, values + done);
    if (converted == now) continue;
    return Error{ExitCode::kInput, Format("value at index %" PRId64 " of %s is out of range for f32",
                                          first + done + converted, TensorText(file, entry).c_str())};
  }
  return std::nullopt;
}

}  // namespace

bool IsSafetensorsFloat(const std::string& type) {
  return type == "F32" || type == "F64" || type == "F16" || type == "BF16";
}

std::optional<Error> SafetensorsFile::ReadRun(const SafetensorsEntry& entry, int64_t first, int64_t count,
                                              float* values) const {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  if (entry.type == "F32") return Read(entry.offset + first * kBytes, count * kBytes, values);
  if (entry.type == "F64") return ReadConverted<double>(*this, entry, first, count, values);
  if (entry.type == "F16") return ReadConverted<Float16Bits>(*this, entry, first, count, values);
  if (entry.type == "BF16") return ReadConverted<BFloat16>(*this, entry, first, count, values);
  return Error{ExitCode::kInput, Format("%s has values of type %s; F32, F64, F16 and BF16 are read as f32",
                                        TensorText(*this, entry).c_str(), entry.type.c_str())};
}

std::optional<Error> SafetensorsFile::ReadPiece(const SafetensorsEntry& entry, const Region& piece,
                                                float* values) const {
  std::optional<Error> error;
  ForEachRun(piece, [&](int64_t global, int64_t local, int64_t count) {
    if (!error.has_value()) error = ReadRun(entry, global, count, values + local);
  });
  return error;
}

}  // namespace cleave::runtime
