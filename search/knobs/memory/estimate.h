// What a plan of a deep model takes, by programs with few of its equal layers. Private to search/knobs.
//
// Equal layers take equally long and equally much memory, so that two programs, of which one has a layer more, tell
// what all layers take. Their steps are in the order of the graph: where steps of only one of the two are moved, it
// says nothing of a layer. What layers do together, messages for several of them and gaps in the arena, makes the
// result an estimate, so it only tells in which order plans are looked at, and which need not be: whatever is chosen is
// measured with all layers.
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
  // What is probably made again so that the plan fits, of the program of few layers; nothing where it fits as it is.
  // nullopt where it probably does not fit. Of a plan in which the user asks for nothing.
  std::optional<RecomputeChoice> ChoiceWithin(Bytes limit) const;
  // With recomputation the plan needs at least about so much.
  Bytes AtLeast() const { return least + besides; }

  Bytes peak;
  Bytes least;  // About the least peak with recomputation. Of a plan in which the user asks for nothing.
  Seconds step;
  Bytes besides{0};                              // What the program takes besides the values that are live.
  std::unique_ptr<Recomputation> recomputation;  // A layer of the program of few stands for all that it leaves out.
};

// Not thread-safe.
class Estimator {
 public:
  // The arguments outlive it.
  Estimator(const SearchedGraph& model, const Cluster& cluster, const Execution& execution);

  // Of a plan of the model's graph. Null where few layers are equal in graph and plan, so that a program of all layers
  // takes about as long to make, and where no program of the plan can be made. Equal plans get one estimate, which
  // stays valid.
  const Estimate* Of(const ir::Plan& plan);

  // What a step of the plan probably takes where its layers make `choice` again, which is one of its estimate. nullopt
  // where no program of it can be made. REQUIRES: the plan has an estimate.
  struct Taken {
    Bytes peak;
    Seconds step;
  };
  std::optional<Taken> With(const ir::Plan& plan, const RecomputeChoice& choice);

  // What the plan makes again so that it takes as little memory as is found, and what it then takes. nullopt where it
  // has no estimate.
  struct Thrifty {
    RecomputeChoice again;
    Taken taken;
  };
  std::optional<Thrifty> Smallest(const ir::Plan& plan);

  // The plan of the whole model that makes `choice` again: its layers do what those of the program of few layers do, as
  // large a part of them each. REQUIRES: as With.
  ir::Plan WholeWith(const ir::Plan& plan, const RecomputeChoice& choice);

 private:
  // Layers [begin, end) of the equal ones, which programs of few layers leave out, or all of them but the first ones.
  struct LeftOut {
    size_t begin = 0;
    size_t end = 0;
    int64_t layers = 0;  // Of the whole model.
    int64_t whole = 0;   // All of its equal layers.

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
  // A plan of few layers.
  struct Few {
    const Shortened* model;
    ir::Plan plan;
    double layers = 1;  // Which part of the equal layers of the whole model it has.
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
  std::vector<int64_t> times_;  // Of each equal layer: how many layers of the whole model it stands for.
  std::map<LeftOut, Shortened> shortened_;
  std::deque<Known> known_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_ESTIMATE_H_
