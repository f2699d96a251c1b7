#include "ir/transforms/differentiate/slices.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cleave::ir {
namespace {

// A tensor with zeros in front of it and behind it along one dimension.
struct Part {
  OpId pad;
  size_t dimension = 0;
  int64_t begin = 0, end = 0;
};

// nullopt where there are zeros along no dimension, or along several.
std::optional<Part> PartOf(const GraphBuilder& builder, OpId pad) {
  const Attributes& zeros = builder.graph().op(pad).attributes;
  const std::vector<int64_t>& before = zeros.Get(attribute::kBefore);
  const std::vector<int64_t>& after = zeros.Get(attribute::kAfter);
  std::optional<Part> part;
  for (size_t d = 0; d < before.size(); ++d) {
    if (before[d] == 0 && after[d] == 0) continue;
    if (part.has_value()) return std::nullopt;
    part = {.pad = pad, .dimension = d, .begin = before[d], .end = builder.type(pad).shape[d] - after[d]};
  }
  return part;
}

// The parts of `row`, each of which begins where the one before ends, as one tensor with zeros around it.
OpId Joined(GraphBuilder& builder, const std::vector<Part>& row, const std::string& name) {
  if (row.size() == 1) return row[0].pad;
  const size_t d = row[0].dimension;
  std::vector<OpId> inputs;
  for (const Part& part : row) inputs.push_back(builder.graph().op(part.pad).inputs[0]);
  const OpId joined =
      builder.Add(OpKind::kConcat, std::move(inputs), {{attribute::kAxis, static_cast<int64_t>(d)}}, name);
  const Shape& whole = builder.type(row[0].pad).shape;
  if (builder.type(joined).shape == whole) return joined;
  std::vector<int64_t> before(whole.size(), 0), after(whole.size(), 0);
  before[d] = row.front().begin;
  after[d] = whole[d] - row.back().end;
  return builder.Add(OpKind::kPad, {joined}, {{attribute::kBefore, before}, {attribute::kAfter, after}}, name);
}

}  // namespace

std::vector<OpId> PutTogether(GraphBuilder& builder, const std::vector<OpId>& pads, const std::string& name) {
  std::vector<OpId> together;
  std::vector<Part> parts;
  for (const OpId pad : pads) {
    if (const std::optional<Part> part = PartOf(builder, pad)) {
      parts.push_back(*part);
    } else {
      together.push_back(pad);
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::make_pair(a.dimension, a.begin) < std::make_pair(b.dimension, b.begin);
  });
  while (!parts.empty()) {
    std::vector<Part> row, rest;
    for (const Part& part : parts) {
      const bool follows = row.empty() || (row.back().dimension == part.dimension && row.back().end == part.begin);
      (follows ? row : rest).push_back(part);
    }
    together.push_back(Joined(builder, row, name));
    parts = std::move(rest);
  }
  return together;
}

}  // namespace cleave::ir
