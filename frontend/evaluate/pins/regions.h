// `#[region(…)]` on a call: the ops that the call makes, with a border of identities around them that carry its pins.
//
// Open reads the attribute before the call is evaluated, Enter gives the arguments their border once they are known,
// Close gives it to the results. The ops that are written between Enter and Close belong to the region.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_REGIONS_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_REGIONS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "dsl/syntax/syntax.h"
#include "frontend/attributes/region.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/evaluate/pins/pin_recorder.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

class Regions {
 public:
  Regions(OpWriter& ops, PinRecorder& pins, Reporter& reporter) : ops_(ops), pins_(pins), reporter_(reporter) {}
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  // Returns whether the call of `expression` is a region from now on, which must be closed; if not, it has no such
  // attribute, or the attribute's mistake has been reported. `is_mapped`: inside of a function that `vmap` maps, where
  // there are no regions.
  bool Open(const std::vector<dsl::syntax::Attribute>& attributes, const dsl::syntax::Expression& expression,
            bool is_mapped, const IntEvaluator& evaluate);

  // Called for every call when its arguments are known. If it is the call of the region that was opened last, the
  // tensors among `values` get their border. `matched`: the arguments in the order of the signature.
  void Enter(const dsl::syntax::Call& call, const std::string& path,
             absl::Span<const dsl::syntax::Argument* const> matched, ArgumentValues& values);

  // Ends the region that was opened last; returns `result` with its border. `parameters`: the place of each.
  Value Close(Value result, const dsl::syntax::Expression& expression, const std::map<ir::OpId, Span>& parameters);

  // From now on what `params` of a region cannot pin, as it is not there or has a pin already, is passed over with a
  // warning.
  void PassOverParameters() { passes_over_parameters_ = true; }

  // Gives regions the settings that they leave to the `parallel` block. Called before pins by name are added.
  void Finish(const ir::ParallelSettings& settings);

  const std::vector<ir::Region>& regions() const { return regions_; }

 private:
  // A region whose call is being expanded.
  struct OpenRegion {
    const dsl::syntax::Attribute* attribute = nullptr;
    const dsl::syntax::Call* call = nullptr;
    RegionDemand demand;
    std::string path;  // Of the call, once it is entered.
    int first = -1;    // Of its ops; -1 while its arguments are evaluated, which do not belong to it.
  };
  using TensorPlaces = std::vector<std::pair<Value*, const dsl::syntax::Expression*>>;

  bool MayOpen(const dsl::syntax::Attribute& region, const dsl::syntax::Call* call, bool is_mapped);
  ir::OpId AddBorder(ir::OpId value, const std::string& name, Span place);
  bool CheckBorder(const std::vector<ir::Placed<int64_t>>& counts, Span place, ir::OpId tensor, const std::string& what,
                   Span tensor_place);
  void PinResults(const OpenRegion& region, Span place, const TensorPlaces& results);
  void PinParameters(const OpenRegion& region, const std::map<ir::OpId, Span>& parameters);
  Diagnostic CannotPin(std::string message) const;
  void ReportUnknownParameter(const OpenRegion& region, const RegionParameter& parameter,
                              const std::vector<std::string>& known);

  OpWriter& ops_;
  PinRecorder& pins_;
  Reporter& reporter_;
  std::vector<OpenRegion> open_;     // One is entered at most, the innermost.
  std::vector<ir::Region> regions_;  // Those that are closed.
  bool passes_over_parameters_ = false;
  std::vector<size_t> open_objectives_;  // Regions that take the objective of `parallel`.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_REGIONS_H_
