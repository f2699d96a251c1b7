#include "ir/sharding/strategy/strategy.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "ir/sharding/mesh/axis_use.h"

namespace cleave::ir {
namespace {

int64_t CutSize(const Strategy& strategy, const Mesh& mesh, int factor) {
  return mesh.Size(strategy.cuts[static_cast<size_t>(factor)]);
}

const Factor& FactorAt(const Rule& rule, int factor) { return rule.factors[static_cast<size_t>(factor)]; }

absl::Status VerifyCompound(const Strategy& strategy, const Rule& rule, const Mesh& mesh, const FactorList& factors) {
  int64_t following = 1;  // Elements of the less major factors.
  for (int factor : factors) following *= FactorAt(rule, factor).size;
  bool exhausted = true;
  for (int index : factors) {
    const Factor& factor = FactorAt(rule, index);
    const int64_t count = CutSize(strategy, mesh, index);
    following /= std::max<int64_t>(factor.size, 1);
    if (count > 1 && !exhausted) {
      return absl::InvalidArgumentError(
          absl::StrCat("factor `", factor.name,
                       "` cannot be cut before the more major factors of its dimension are cut into single elements"));
    }
    if (following > 1 && factor.size % count != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("factor `", factor.name, "` of ", factor.size,
                       " elements is part of a dimension and cannot be cut unevenly into ", count));
    }
    exhausted = exhausted && count == factor.size;
  }
  return absl::OkStatus();
}

absl::Status VerifyAxes(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  AxisUse use(mesh);
  for (const AxisList& axes : strategy.cuts) {
    for (AxisId axis : axes) CLEAVE_RETURN_IF_ERROR(use.Add(axis));
  }
  for (size_t i = 0; i < strategy.passes.size(); ++i) {
    const PassThrough& pass = strategy.passes[i];
    CLEAVE_RETURN_IF_ERROR(use.Add(pass.axis));
    if (pass.group < 0 || pass.group >= static_cast<int>(rule.linear.size())) {
      return absl::InvalidArgumentError(absl::StrCat("the op has no linear group ", pass.group));
    }
    if (i > 0 && pass.axis < strategy.passes[i - 1].axis) {
      return absl::InvalidArgumentError("the axes that pass through are not in mesh order");
    }
  }
  return absl::OkStatus();
}

Layout LayoutOfDimensions(const Strategy& strategy, const std::vector<FactorList>& dimensions) {
  Layout layout;
  layout.dimensions.reserve(dimensions.size());
  for (const FactorList& factors : dimensions) {
    AxisList& axes = layout.dimensions.emplace_back();
    for (int factor : factors) {
      const AxisList& cut = strategy.cuts[static_cast<size_t>(factor)];
      axes.insert(axes.end(), cut.begin(), cut.end());
    }
  }
  return layout;
}

void SortPartial(Layout& layout) {
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
}

std::vector<int64_t> DimensionCounts(const Strategy& strategy, const Mesh& mesh,
                                     const std::vector<FactorList>& dimensions) {
  std::vector<int64_t> counts;
  for (const FactorList& factors : dimensions) {
    int64_t count = 1;
    for (int factor : factors) count *= CutSize(strategy, mesh, factor);
    counts.push_back(count);
  }
  return counts;
}

// Cuts the factors of `dimensions` by the axes of `layout`: the axes of a compound dimension go to its factors from
// major to minor, to the next one only when the one before is exhausted. Axes that are taken or do not fit go to
// `refused`.
void CutByLayout(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule, const Mesh& mesh,
                 Strategy& strategy, AxisList& refused) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    for (AxisId axis : layout.dimensions[d]) {
      bool taken = false;
      for (int factor : dimensions[d]) {
        if (CutSize(strategy, mesh, factor) >= FactorAt(rule, factor).size && factor != dimensions[d].back()) continue;
        if (absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, factor, axis); next.ok()) {
          strategy = *std::move(next);
          taken = true;
        }
        break;
      }
      if (!taken) refused.push_back(axis);
    }
  }
}

}  // namespace

absl::Status CheckPieces(const Factor& factor, int64_t count) {
  if (count > 1 && factor.kind == FactorKind::kWhole) {
    return absl::InvalidArgumentError(
        absl::StrCat("factor `", factor.name, "` must not be cut: the op has no form that is split along it"));
  }
  if (count > factor.max_pieces) {
    return absl::InvalidArgumentError(absl::StrCat("factor `", factor.name, "` must not be cut into more than ",
                                                   Plural(factor.max_pieces, "piece"),
                                                   ": what the op exchanges then would have too many elements"));
  }
  if (factor.equal_pieces && factor.size % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat("factor `", factor.name, "` of ", factor.size,
                                                   " elements must not be cut into ", Plural(count, "piece"),
                                                   " of different sizes: the op sends them round"));
  }
  return absl::OkStatus();
}

absl::Status VerifyCuts(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  if (strategy.cuts.size() != rule.factors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the strategy cuts ", strategy.cuts.size(), " factors, the op has ", rule.factors.size()));
  }
  CLEAVE_RETURN_IF_ERROR(VerifyAxes(strategy, rule, mesh));
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    CLEAVE_RETURN_IF_ERROR(CheckPieces(rule.factors[i], mesh.Size(strategy.cuts[i])));
  }
  return absl::OkStatus();
}

absl::Status VerifyStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  CLEAVE_RETURN_IF_ERROR(VerifyCuts(strategy, rule, mesh));
  for (const std::vector<FactorList>& input : rule.inputs) {
    for (const FactorList& factors : input) {
      if (factors.size() > 1) CLEAVE_RETURN_IF_ERROR(VerifyCompound(strategy, rule, mesh, factors));
    }
  }
  for (const FactorList& factors : rule.output) {
    if (factors.size() > 1) CLEAVE_RETURN_IF_ERROR(VerifyCompound(strategy, rule, mesh, factors));
  }
  return absl::OkStatus();
}

absl::StatusOr<Strategy> WithCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor,
                                 AxisId axis) {
  CLEAVE_CHECK(factor >= 0 && static_cast<size_t>(factor) < strategy.cuts.size()) << "factor " << factor;
  Strategy next = strategy;
  next.cuts[static_cast<size_t>(factor)].push_back(axis);
  CLEAVE_RETURN_IF_ERROR(VerifyStrategy(next, rule, mesh));
  return next;
}

Layout InputLayout(const Strategy& strategy, const Rule& rule, int input) {
  Layout layout = LayoutOfDimensions(strategy, rule.inputs[static_cast<size_t>(input)]);
  for (const PassThrough& pass : strategy.passes) {
    const std::vector<int>& group = rule.linear[static_cast<size_t>(pass.group)];
    if (std::find(group.begin(), group.end(), input) != group.end())
      layout.partial.push_back({pass.axis, Reduction::kSum});
  }
  for (size_t d = 0; d < layout.dimensions.size(); ++d) {
    const Window* window = rule.WindowOf(input, d);
    if (window != nullptr && !layout.dimensions[d].empty()) layout.windows.push_back({static_cast<int>(d), *window});
  }
  SortPartial(layout);
  return layout;
}

Layout OutputLayout(const Strategy& strategy, const Rule& rule) {
  Layout layout = LayoutOfDimensions(strategy, rule.output);
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (rule.factors[i].kind != FactorKind::kReduced) continue;
    for (AxisId axis : strategy.cuts[i]) layout.partial.push_back({axis, rule.factors[i].reduction});
  }
  for (const PassThrough& pass : strategy.passes) layout.partial.push_back({pass.axis, Reduction::kSum});
  SortPartial(layout);
  return layout;
}

std::vector<FactorRange> RangesOf(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int rank) {
  std::vector<FactorRange> ranges;
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    const AxisList& axes = strategy.cuts[i];
    const Piece piece = PieceOf(rule.factors[i].size, mesh.Size(axes), mesh.Index(rank, axes));
    ranges.push_back(
        {.begin = piece.begin, .size = piece.size, .global = rule.factors[i].size, .is_cut = !axes.empty()});
  }
  return ranges;
}

std::vector<std::vector<int64_t>> InStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  std::vector<std::vector<int64_t>> counts;
  for (const std::vector<FactorList>& input : rule.inputs) counts.push_back(DimensionCounts(strategy, mesh, input));
  return counts;
}

std::vector<int64_t> OutStrategy(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  return DimensionCounts(strategy, mesh, rule.output);
}

std::string InStrategyText(const std::vector<std::vector<int64_t>>& in_strategy) {
  return absl::StrCat("(",
                      absl::StrJoin(in_strategy, ", ",
                                    [](std::string* out, const std::vector<int64_t>& counts) {
                                      absl::StrAppend(out, "(", absl::StrJoin(counts, ", "), ")");
                                    }),
                      ")");
}

Strategy InheritStrategy(const Strategy& forward, const Inheritance& inheritance, const Rule& rule, const Mesh& mesh) {
  CLEAVE_CHECK(inheritance.factors.size() == rule.factors.size())
      << inheritance.factors.size() << " inherited factors for " << rule.ToString();
  Strategy strategy = Strategy::Replicated(rule);
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    const int source = inheritance.factors[i];
    if (source < 0) continue;
    CLEAVE_CHECK(static_cast<size_t>(source) < forward.cuts.size()) << "factor " << source << " of the forward op";
    for (AxisId axis : forward.cuts[static_cast<size_t>(source)]) {
      // When an earlier axis is left out, a later one would cut other pieces than in the forward op.
      absl::StatusOr<Strategy> next = WithCut(strategy, rule, mesh, static_cast<int>(i), axis);
      if (!next.ok()) break;
      strategy = *std::move(next);
    }
  }
  return strategy;
}

absl::StatusOr<Strategy> StrategyFromOutputLayout(const Layout& layout, const Rule& rule, const Mesh& mesh) {
  CLEAVE_RETURN_IF_ERROR(VerifyLayout(layout, mesh, static_cast<int>(rule.output.size())));
  if (layout.is_partial()) return absl::InvalidArgumentError("a value cannot be made partial by its layout alone");
  Strategy strategy = Strategy::Replicated(rule);
  AxisList refused;
  CutByLayout(layout, rule.output, rule, mesh, strategy, refused);
  if (!refused.empty() || OutputLayout(strategy, rule) != layout) {
    return absl::InvalidArgumentError(absl::StrCat("an op with rule `", rule.ToString(),
                                                   "` cannot give its value the layout ", LayoutText(layout, mesh)));
  }
  return strategy;
}

}  // namespace cleave::ir
