#include "runtime/train/parameter_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "runtime/error/error.h"
#include "runtime/kernels/statistics.h"

namespace cleave::runtime {
namespace {

Statistics StatisticsOfReals(const Reals& values, int64_t count) {
  switch (values.type()) {
    case RealType::kBf16:
      return StatisticsOf(static_cast<const BFloat16*>(values.place()), count);
    case RealType::kF16:
      return StatisticsOf(static_cast<const Float16*>(values.place()), count);
    case RealType::kI8:
    case RealType::kI32:
    case RealType::kF32:
      break;
  }
  return StatisticsOf(static_cast<const float*>(values.place()), count);
}

}  // namespace

ParameterNorm::ParameterNorm(Comm& comm, const std::vector<ParameterView>& parameters,
                             const std::vector<std::string>& left_out)
    : comm_(comm) {
  const int rank = comm.rank();
  for (const ParameterView& view : parameters) {
    const std::string name = view.name.substr(0, view.name.find('.'));
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    const bool is_real = !view.part.has_value() && view.values.type() != RealType::kI32;
    if (!is_real || !IsHeldBy(view.layout, comm.mesh(), rank)) continue;
    const bool is_first = view.layout.is_local ? rank == 0 : ReplicaOf(view.layout, comm.mesh(), rank).index == 0;
    if (is_first) mine_.push_back({view.values, ElementCount(RegionOf(view.layout, comm.mesh(), rank).size)});
  }
}

double ParameterNorm::Squares() const {
  double squares = 0;
  for (const Piece& piece : mine_) squares += StatisticsOfReals(piece.values, piece.count).squares;
  return squares;
}

double ParameterNorm::NormOf(double squares) const {
  double all = 0;
  for (const std::string& text : comm_.GatherText(Format("%.17g", squares))) all += std::strtod(text.c_str(), nullptr);
  return std::sqrt(all);
}

}  // namespace cleave::runtime
