#include "ir/ops/boxing.h"

namespace cleave {
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
      rule.factors[d].fixed_size = true;
    }
  }
  return rule;
}

void CopyShifted(const Evaluation& evaluation, size_t input, const std::vector<Window>& windows) {
  Shape from;
  Shape to;
  Shape size;
  for (size_t d = 0; d < windows.size(); ++d) {
    const Piece output = {.begin = evaluation.ranges[d].begin, .size = evaluation.ranges[d].size};
    const Piece held = windows[d].Of(output);
    const Piece taken = Intersection(held, {.begin = output.begin + windows[d].first, .size = output.size});
    if (taken.size == 0) return;
    from.push_back(taken.begin - held.begin);
    to.push_back(taken.begin - windows[d].first - output.begin);
    size.push_back(taken.size);
  }
  PasteBox(Box(*evaluation.inputs[input], from, size), to, evaluation.output);
}

}  // namespace cleave
