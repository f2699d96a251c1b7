#include "ir/graph/ops/boxing.h"

namespace cleave::ir {
namespace {

// For each dimension difference(d), or 0 if the dimension equals that of the result.
template <typename Difference>
BracedList Differences(const CallSite& site, int input, Difference difference) {
  BracedList list;
  for (int d = 0; d < site.output.rank(); ++d) {
    const auto dimension = static_cast<size_t>(d);
    const bool shifted = site.type(input).shape[dimension] != site.output.shape[dimension];
    list.fields.push_back({shifted ? difference(d) : CallArgument(int64_t{0})});
  }
  return list;
}

}  // namespace
namespace {

bool IsShifted(const Window& window) { return window.elements != window.outer || window.first != 0; }

}  // namespace

std::vector<Window> ShiftedWindows(const Shape& input, const Shape& output, const std::vector<int64_t>& offset) {
  std::vector<Window> windows;
  for (size_t d = 0; d < output.size(); ++d) {
    windows.push_back({.elements = input[d], .outer = output[d], .first = offset[d], .last = offset[d]});
  }
  return windows;
}

Rule ShiftedRule(const std::vector<std::vector<Window>>& windows, const Shape& output) {
  Rule rule;
  rule.output = AddDimensions(rule, output);
  rule.inputs.assign(windows.size(), rule.output);
  rule.linear.emplace_back();
  for (size_t i = 0; i < windows.size(); ++i) {
    const int input = static_cast<int>(i);
    rule.linear[0].push_back(input);
    for (size_t d = 0; d < output.size(); ++d) {
      if (!IsShifted(windows[i][d])) continue;
      rule.windows.push_back({.input = input, .dimension = static_cast<int>(d), .window = windows[i][d]});
    }
  }
  return rule;
}

void CopyShifted(const Evaluation& evaluation, size_t input, const std::vector<Window>& windows) {
  Shape from;
  Shape to;
  Shape size;
  for (size_t d = 0; d < windows.size(); ++d) {
    const FactorRange& range = evaluation.ranges[d];
    const Piece output = {.begin = range.begin, .size = range.size};
    const Piece held =
        range.is_cut ? windows[d].Of(output) : Piece{.begin = 0, .size = evaluation.inputs[input]->shape[d]};
    const Piece taken = Intersection(held, {.begin = output.begin + windows[d].first, .size = output.size});
    if (taken.size == 0) return;
    from.push_back(taken.begin - held.begin);
    to.push_back(taken.begin - windows[d].first - output.begin);
    size.push_back(taken.size);
  }
  PasteBox(Box(*evaluation.inputs[input], from, size), to, evaluation.output);
}

BracedList PlaceInInput(const CallSite& site, const std::vector<int64_t>& offset) {
  return Differences(site, 0, [&](int d) -> CallArgument {
    return IndexDifference{{kResult, d}, offset[static_cast<size_t>(d)], {0, d}};
  });
}

BracedList PlaceInResult(const CallSite& site, int input, const std::vector<int64_t>& place) {
  return Differences(site, input, [&](int d) -> CallArgument {
    return IndexDifference{{input, d}, place[static_cast<size_t>(d)], {kResult, d}};
  });
}

KernelCall CopyBoxCall(BracedList place) {
  return {"CopyBox", {Pointer{0}, LocalSizes{0}, std::move(place), LocalSizes{kResult}, Pointer{kResult}}};
}

KernelCall PasteBoxCall(int input, BracedList place) {
  return {"PasteBox", {Pointer{input}, LocalSizes{input}, std::move(place), LocalSizes{kResult}, Pointer{kResult}}};
}

KernelCall ZeroCall(const CallSite& site) {
  return {"Fill", {ZeroElement{kResult}, site.Elements(kResult), Pointer{kResult}}};
}

}  // namespace cleave::ir
