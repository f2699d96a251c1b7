// Reads `#[region(in = …, out = …, params = …, objective = …, device = …)]`: only the form is checked here. Whether the
// call fits is checked where the call is expanded (frontend/evaluate/pins).
#ifndef CLEAVE_FRONTEND_ATTRIBUTES_REGION_H_
#define CLEAVE_FRONTEND_ATTRIBUTES_REGION_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/attributes/attributes.h"
#include "frontend/report/report.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

// The demand on one tensor argument.
struct RegionInput {
  ir::CountsPin counts;
  Span span;

  bool operator==(const RegionInput&) const = default;
};

// The demand on one result.
struct RegionOutput {
  enum class Layout { kAuto, kCounts, kDataParallel, kFullBatch };

  Layout layout = Layout::kAuto;
  ir::CountsPin counts;  // Of kCounts.
  Span span;

  bool operator==(const RegionOutput&) const = default;
};

// `"dense2.weight": (8, 1)`
struct RegionParameter {
  std::string path;  // Relative to the path of the call.
  Span path_span;
  ir::CountsPin counts;
  Span span;

  bool operator==(const RegionParameter&) const = default;
};

struct RegionDemand {
  std::optional<std::vector<RegionInput>> in;
  Span in_span;
  // One entry for a tensor; for a tuple one for each element.
  std::optional<std::vector<RegionOutput>> out;
  Span out_span;
  std::vector<RegionParameter> params;  // As written.
  std::optional<ir::Objective> objective;
  ir::RegionDevice device = ir::RegionDevice::kAny;
  Span device_span;

  bool operator==(const RegionDemand&) const = default;
};

// Nullopt after a mistake, which has been reported.
std::optional<RegionDemand> ReadRegion(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                       Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ATTRIBUTES_REGION_H_
