// Estimates the peak of memory and the step of a plan of a deep model from programs with few of its equal layers.
// Private to search/knobs.
//
// Two programs, one of which has a layer more, differ by what each further layer takes. Their steps are in the order of
// the graph, because a difference in which only one program has moved steps is not that of a layer. Messages for
// several layers and gaps in the arena make the result inexact, so estimates only order plans and rule some out: what
// is chosen is measured with all layers.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_ESTIMATE_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/recompute/recompute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/shorten/shorten.h"
#include "search/price/cost/execution.h"

namespace cleave::search {

struct Estimate {
  // What the program of few layers makes again so that the plan probably fits, an empty choice where it fits as it is;
  // nullopt where it probably does not fit. REQUIRES: the user asks for no retention.
  std::optional<RecomputeChoice> ChoiceWithin(Bytes limit) const;
  // About the least that the plan needs with recomputation.
  Bytes AtLeast() const { return least + besides; }

  Bytes peak;
  Bytes least;  // About the least live bytes with recomputation, if the user asks for none.
  Seconds step;
  Bytes besides{0};                              // Gaps in the arena, and the workspace.
  std::unique_ptr<Recomputation> recomputation;  // Of few layers, one of which stands for all left out.
};

// Not thread-safe.
class Estimator {
 public:
  // The arguments outlive it.
  Estimator(const SearchedGraph& model, const Cluster& cluster, const Execution& execution);

  // The estimate of a plan of `model.graph()`. Null where so few layers are equal in graph and plan that a program of
  // all takes about as long to make, and where the plan has no program. The pointer stays valid.
  const Estimate* Of(const ir::Plan& plan);

  // The estimate for the plan with `choice`, which its Estimate::recomputation gave. nullopt where that has no program.
  // REQUIRES: Of(plan) is not null.
  struct Taken {
    Bytes peak;
    Seconds step;
  };
  std::optional<Taken> With(const ir::Plan& plan, const RecomputeChoice& choice);

  // The choice with the least peak that is found, and the estimate for it. nullopt where Of(plan) is null.
  struct Thrifty {
    RecomputeChoice again;
    Taken taken;
  };
  std::optional<Thrifty> Smallest(const ir::Plan& plan);

  // `plan` for the whole model, with `choice` carried over from the program of few layers: the same share of the layers
  // makes it again. REQUIRES: as With.
  ir::Plan WholeWith(const ir::Plan& plan, const RecomputeChoice& choice);

 private:
  // Layers [begin, end) of the equal ones: those that a program of few layers leaves out.
  struct LeftOut {
    size_t begin = 0;
    size_t end = 0;
    int64_t layers = 0;  // Of the whole model.
    int64_t whole = 0;   // Its equal layers, with those that are not left out.

    LeftOut AllBut(int64_t first) const {
      return {.begin = begin + static_cast<size_t>(first), .end = end, .layers = layers - first, .whole = whole};
    }
    double PartThatIsLeft() const { return static_cast<double>(whole - layers) / static_cast<double>(whole); }
    auto operator<=>(const LeftOut&) const = default;
  };
  struct Known {
    LeftOut layers;
    ir::Plan plan;  // Of the layers that are left.
    std::optional<Estimate> estimate;
  };
  std::optional<LeftOut> LeftOutOf(const ir::Plan& plan) const;
  const Known* KnownOf(const ir::Plan& plan);
  std::optional<Estimate> Make(const LeftOut& layers, const ir::Plan& plan);
  // A plan of a program of few layers.
  struct Few {
    const Shortened* model;
    ir::Plan plan;
    double layers = 1;  // Share of the whole model's equal layers that it has.
  };
  Few FewOf(const LeftOut& layers, const ir::Plan& plan);
  Few FewWith(const LeftOut& layers, const ir::Plan& plan, const RecomputeChoice& choice, bool has_again,
              bool has_kept);
  absl::StatusOr<ir::LoweredProgram> ProgramOf(const Few& few) const;
  std::optional<Taken> TakenBy(const Few& few) const;
  Taken TakenBy(const ir::LoweredProgram& program) const;
  const Shortened& GraphWithout(const LeftOut& layers);

  const SearchedGraph& model_;
  const ir::Graph& graph_;
  const Cluster& cluster_;
  const Execution& execution_;
  const EqualLayers equal_;  // Of `graph_`, and of the whole model.
  const EqualLayers whole_equal_;
  std::vector<int64_t> times_;  // By equal layer: how many of the whole model it stands for.
  std::map<LeftOut, Shortened> shortened_;
  std::deque<Known> known_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_ESTIMATE_H_
