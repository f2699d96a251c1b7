#include "runtime/kernels/show.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "runtime/error/error.h"
#include "runtime/kernels/movement.h"

namespace cleave::runtime {
namespace {

template <typename T>
void AppendTensor(const std::vector<int64_t>& shape, size_t dimension, bool shorten, const T* values,
                  std::string& text) {
  if (dimension == shape.size()) {
    text += std::is_same_v<T, float> ? Format("%.6g", static_cast<double>(values[0]))
                                     : Format("%d", static_cast<int>(values[0]));
    return;
  }
  constexpr int64_t kShown = 3;
  int64_t stride = 1;
  for (size_t d = dimension + 1; d < shape.size(); ++d) stride *= shape[d];
  const bool innermost = dimension + 1 == shape.size();
  const std::string separator = innermost ? ", " : ",\n" + std::string(dimension + 1, ' ');
  text += "[";
  for (int64_t i = 0; i < shape[dimension]; ++i) {
    if (i > 0) text += separator;
    if (shorten && i == kShown && shape[dimension] > 2 * kShown) {
      text += "..." + separator;
      i = shape[dimension] - kShown;
    }
    AppendTensor(shape, dimension + 1, shorten, values + i * stride, text);
  }
  text += "]";
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

// Places and values of one rank's piece, as bytes for GatherText.
template <typename T>
std::string Packed(const Region& region, const T* values) {
  std::string bytes;
  const auto append = [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); };
  append(region.begin.data(), region.begin.size() * sizeof(int64_t));
  append(region.size.data(), region.size.size() * sizeof(int64_t));
  append(values, static_cast<size_t>(ElementCount(region.size)) * sizeof(T));
  return bytes;
}

template <typename T>
std::vector<T> Unpacked(const std::string& bytes, Region& region) {
  const size_t dimensions = region.shape.size() * sizeof(int64_t);
  region.begin.resize(region.shape.size());
  region.size.resize(region.shape.size());
  std::memcpy(region.begin.data(), bytes.data(), dimensions);
  std::memcpy(region.size.data(), bytes.data() + dimensions, dimensions);
  std::vector<T> values(static_cast<size_t>(ElementCount(region.size)));
  std::memcpy(values.data(), bytes.data() + 2 * dimensions, values.size() * sizeof(T));
  return values;
}

}  // namespace

template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values) {
  constexpr int64_t kAll = 1000;
  std::string text;
  AppendTensor(shape, 0, ElementCount(shape) > kAll, values, text);
  return text;
}

template <typename T>
void Print(Comm& comm, const Shown& shown, const Region& region, const T* values) {
  const std::vector<std::string> pieces = comm.GatherText(Packed(region, values));
  if (comm.rank() != 0) return;
  std::vector<T> whole(static_cast<size_t>(ElementCount(region.shape)));
  for (const std::string& bytes : pieces) {
    Region place = {region.shape, {}, {}};
    const std::vector<T> piece = Unpacked<T>(bytes, place);
    PasteBox(piece.data(), place.size, place.begin, place.shape, whole.data());
  }
  std::printf("%s %s (%s) =\n%s\n", shown.name, ShapeText(region.shape).c_str(), shown.place,
              TensorText(region.shape, whole.data()).c_str());
  std::fflush(stdout);
}

template <typename T>
void PrintPieces(Comm& comm, const Shown& shown, const Region& region, const T* values) {
  const std::vector<std::string> pieces = comm.GatherText(Packed(region, values));
  if (comm.rank() != 0) return;
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    Region place = {region.shape, {}, {}};
    const std::vector<T> piece = Unpacked<T>(pieces[rank], place);
    std::string slice;
    for (size_t d = 0; d < place.shape.size(); ++d) {
      slice += Format("%s%lld:%lld", d > 0 ? ", " : "", static_cast<long long>(place.begin[d]),
                      static_cast<long long>(place.begin[d] + place.size[d]));
    }
    std::printf("%s[%s] of %s on rank %zu (%s) =\n%s\n", shown.name, slice.c_str(), ShapeText(place.shape).c_str(),
                rank, shown.place, TensorText(place.size, piece.data()).c_str());
  }
  std::fflush(stdout);
}

void AssertFinite(const Comm& comm, const Shown& shown, int64_t count, const float* values) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    Die(ExitCode::kFailed, Format("`%s` is not finite: element %lld of the piece of rank %d is %g (%s)", shown.name,
                                  static_cast<long long>(i), comm.rank(), static_cast<double>(values[i]), shown.place));
  }
}

template std::string TensorText(const std::vector<int64_t>&, const float*);
template std::string TensorText(const std::vector<int64_t>&, const int32_t*);
template void Print(Comm&, const Shown&, const Region&, const float*);
template void Print(Comm&, const Shown&, const Region&, const int32_t*);
template void PrintPieces(Comm&, const Shown&, const Region&, const float*);
template void PrintPieces(Comm&, const Shown&, const Region&, const int32_t*);

}  // namespace cleave::runtime
