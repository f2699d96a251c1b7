#include "ir/program/fuse/place_of_piece.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace cleave::ir {

PlacesOfPieces::PlacesOfPieces(const Program& program)
    : program_(program), readers_(program.values.size()), writer_(program.values.size(), -1) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (const ValueId value : Reads(program.steps[i])) readers_[value].push_back(static_cast<int>(i));
    for (const ValueId value : Writes(program.steps[i])) writer_[value] = static_cast<int>(i);
  }
}

bool PlacesOfPieces::RunTogether(int a, int b) const {
  const Step& first = program_.steps[static_cast<size_t>(a)];
  const Step& second = program_.steps[static_cast<size_t>(b)];
  return first.phase == second.phase && first.repeat == second.repeat &&
         PassIn(program_, first) == PassIn(program_, second);
}

bool PlacesOfPieces::RunsBackwardOf(int a, int b) const {
  const Step& first = program_.steps[static_cast<size_t>(a)];
  const Step& second = program_.steps[static_cast<size_t>(b)];
  return first.phase == Phase::kForward && second.phase == Phase::kBackward && first.repeat == second.repeat &&
         StageOf(program_, first) == StageOf(program_, second);
}

std::optional<int> PlacesOfPieces::PlaceOf(const std::vector<int>& steps) const {
  const auto compute = [&](int i) -> const Compute& {
    return std::get<Compute>(program_.steps[static_cast<size_t>(i)].action);
  };
  int end = static_cast<int>(program_.steps.size());
  for (const int step : steps) {
    for (const int reader : readers_[compute(step).output]) {
      if (!absl::c_binary_search(steps, reader)) end = std::min(end, reader);
    }
  }
  const auto behind = absl::c_lower_bound(steps, end);
  if (behind == steps.begin()) return std::nullopt;
  const int place = *(behind - 1);
  const bool has_inputs = absl::c_all_of(steps, [&](int i) {
    return absl::c_all_of(compute(i).inputs, [&](ValueId input) {
      return writer_[input] < place || absl::c_binary_search(steps, writer_[input]);
    });
  });
  return has_inputs ? std::make_optional(place) : std::nullopt;
}

}  // namespace cleave::ir
