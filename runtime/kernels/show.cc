#include "runtime/kernels/show.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "runtime/device/bfloat16.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

template <typename T>
void AppendTensor(const std::vector<int64_t>& shape, size_t dimension, bool shorten, const T* values,
                  std::string& text) {
  if (dimension == shape.size()) {
    text += std::is_same_v<T, int32_t> ? Format("%d", static_cast<int>(values[0]))
                                       : Format("%.6g", static_cast<double>(values[0]));
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

// Numbers as bytes for GatherText, and back.
template <typename T>
std::string Packed(const T* numbers, size_t count) {
  return count == 0 ? "" : std::string(reinterpret_cast<const char*>(numbers), count * sizeof(T));
}

template <typename T>
std::vector<T> Unpacked(const std::string& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

template <typename T>
std::string PackedPiece(const Region& region, const T* values) {
  const int64_t count = ElementCount(region.size);
  return Packed(OnHost(values, count), static_cast<size_t>(count));
}

// Where every rank's piece of a tensor lies.
std::vector<Region> GatherPlaces(Comm& comm, const Region& region) {
  std::vector<int64_t> mine = region.begin;
  mine.insert(mine.end(), region.size.begin(), region.size.end());
  const auto dimensions = static_cast<int64_t>(region.shape.size());
  std::vector<Region> places;
  for (const std::string& text : comm.GatherText(Packed(mine.data(), mine.size()))) {
    const std::vector<int64_t> numbers = Unpacked<int64_t>(text);
    places.push_back(
        {region.shape, {numbers.begin(), numbers.begin() + dimensions}, {numbers.begin() + dimensions, numbers.end()}});
  }
  return places;
}

// Whether no rank before `rank` has the same piece: one copy is enough.
bool IsFirstCopy(const std::vector<Region>& places, size_t rank) {
  for (size_t other = 0; other < rank; ++other) {
    if (places[other].begin == places[rank].begin && places[other].size == places[rank].size) return false;
  }
  return true;
}

// "9216 elements, min -3.5, max 4.25, mean 0.125"; values that are not finite are counted and left out.
template <typename T>
std::string SummaryText(int64_t count, const T* values) {
  int64_t finite = 0;
  double least = 0, most = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) continue;
    least = finite == 0 ? value : std::fmin(least, value);
    most = finite == 0 ? value : std::fmax(most, value);
    sum += value;
    ++finite;
  }
  std::string text = Format("%lld elements", static_cast<long long>(count));
  if (finite < count) text += Format(", %lld not finite", static_cast<long long>(count - finite));
  if (finite == 0) return text;
  return text + Format(", min %.6g, max %.6g, mean %.6g", least, most, sum / static_cast<double>(finite));
}

// One tensor: a headline, and its elements.
template <typename T>
void PrintTensor(const std::string& headline, const Shown& shown, const std::vector<int64_t>& shape, const T* values) {
  std::printf("%s (%s) =\n%s\n", headline.c_str(), shown.place, TensorText(shape, values).c_str());
}

}  // namespace

template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values) {
  constexpr int64_t kAll = 1000;
  const int64_t count = ElementCount(shape);
  std::string text;
  AppendTensor(shape, 0, count > kAll, values, text);
  return count > kAll ? text + "\n" + SummaryText(count, values) : text;
}

template <typename T>
void Print(Comm& comm, const Shown& shown, const Region& region, const T* values) {
  const std::vector<Region> places = GatherPlaces(comm, region);
  const bool sends = IsFirstCopy(places, static_cast<size_t>(comm.rank()));
  const std::vector<std::string> pieces = comm.GatherText(sends ? PackedPiece(region, values) : "");
  if (comm.rank() != 0) return;
  std::vector<T> whole(static_cast<size_t>(ElementCount(region.shape)));
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    if (!IsFirstCopy(places, rank)) continue;
    const std::vector<T> piece = Unpacked<T>(pieces[rank]);
    ForEachRun(places[rank], [&](int64_t global, int64_t local, int64_t count) {
      std::copy_n(piece.begin() + local, count, whole.begin() + global);
    });
  }
  PrintTensor(std::string(shown.name) + " " + ShapeText(region.shape), shown, region.shape, whole.data());
  std::fflush(stdout);
}

template <typename T>
void PrintPieces(Comm& comm, const Shown& shown, const Region& region, const T* values) {
  const std::vector<Region> places = GatherPlaces(comm, region);
  const std::vector<std::string> pieces = comm.GatherText(PackedPiece(region, values));
  if (comm.rank() != 0) return;
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    const Region& place = places[rank];
    std::string slice;
    for (size_t d = 0; d < place.shape.size(); ++d) {
      slice += Format("%s%lld:%lld", d > 0 ? ", " : "", static_cast<long long>(place.begin[d]),
                      static_cast<long long>(place.begin[d] + place.size[d]));
    }
    PrintTensor(Format("%s[%s] of %s on rank %zu", shown.name, slice.c_str(), ShapeText(place.shape).c_str(), rank),
                shown, place.size, Unpacked<T>(pieces[rank]).data());
  }
  std::fflush(stdout);
}

template <typename T>
void PrintRanks(Comm& comm, const Shown& shown, const std::vector<int64_t>& shape, const T* values) {
  const std::vector<std::string> tensors = comm.GatherText(PackedPiece(WholeRegion(shape), values));
  if (comm.rank() != 0) return;
  const bool equal =
      std::all_of(tensors.begin(), tensors.end(), [&](const std::string& tensor) { return tensor == tensors[0]; });
  const std::string headline = std::string(shown.name) + " " + ShapeText(shape);
  for (size_t rank = 0; rank < (equal ? 1 : tensors.size()); ++rank) {
    PrintTensor(equal ? headline : headline + Format(" on rank %zu", rank), shown, shape,
                Unpacked<T>(tensors[rank]).data());
  }
  std::fflush(stdout);
}

template <typename T>
void AssertFinite(const Comm& comm, const Shown& shown, int64_t count, const T* values) {
  values = OnHost(values, count);
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (std::isfinite(value)) continue;
    Die(ExitCode::kFailed, Format("`%s` is not finite: element %lld of the piece of rank %d is %g (%s)", shown.name,
                                  static_cast<long long>(i), comm.rank(), value, shown.place));
  }
}

template std::string TensorText(const std::vector<int64_t>&, const float*);
template std::string TensorText(const std::vector<int64_t>&, const int32_t*);
template std::string TensorText(const std::vector<int64_t>&, const BFloat16*);
template void Print(Comm&, const Shown&, const Region&, const float*);
template void Print(Comm&, const Shown&, const Region&, const int32_t*);
template void Print(Comm&, const Shown&, const Region&, const BFloat16*);
template void PrintPieces(Comm&, const Shown&, const Region&, const float*);
template void PrintPieces(Comm&, const Shown&, const Region&, const int32_t*);
template void PrintPieces(Comm&, const Shown&, const Region&, const BFloat16*);
template void PrintRanks(Comm&, const Shown&, const std::vector<int64_t>&, const float*);
template void PrintRanks(Comm&, const Shown&, const std::vector<int64_t>&, const int32_t*);
template void PrintRanks(Comm&, const Shown&, const std::vector<int64_t>&, const BFloat16*);
template void AssertFinite(const Comm&, const Shown&, int64_t, const float*);
template void AssertFinite(const Comm&, const Shown&, int64_t, const BFloat16*);

}  // namespace cleave::runtime
