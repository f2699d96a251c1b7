// Plans for the ranks of one stage of a pipeline, and what their ops take: all that it takes to cut the model into
// stages. Private to search.
#ifndef CLEAVE_SEARCH_KNOBS_STAGE_PLANS_H_
#define CLEAVE_SEARCH_KNOBS_STAGE_PLANS_H_

#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/options.h"
#include "search/model/cluster/cluster.h"
#include "search/model/shorten/shorten.h"
#include "search/solve/stages/stages.h"

namespace cleave::search {

// The arguments of SearchPipeline (pipeline.h), which outlive what is made of them.
struct PipelineTask {
  const ir::Graph& graph;
  const Cluster& cluster;
  const ir::Pins& pins;
  const SearchOptions& options;
};

// The machines of one of `stages` stages, which take turns on the slowest links; nullopt where the devices cannot be
// divided so. `axis`: that of the stages, with the slowest link that it crosses.
struct StageMachines {
  Cluster cluster;
  ir::MeshAxis axis;
};
std::optional<StageMachines> MachinesOfStage(const Cluster& cluster, int64_t stages);

// What is sent between stages, and its gradient.
inline constexpr double kThereAndBack = 2;

// A plan of all ops for the ranks of one stage. Its steps are in the order of the graph, and nothing is offloaded.
struct StagePlan {
  ir::Plan plan;
  // The forward ops with their backward ops and updates, in seconds, and the places between them with what crosses
  // each. For how many stages, and which of the places they take, is open. Of many equal layers a few stand for all.
  CutTask ops;
  Bytes peak{0};  // About what a rank takes that has the whole model.
};

// Schedules share these plans, so that none is searched twice. Thread-safe.
class StagePlans {
 public:
  StagePlans(const PipelineTask& task, int64_t stages, StageMachines machines);

  struct Planned {
    std::optional<StagePlan> plan;  // nullopt after errors.
    Diagnostics diagnostics;
  };
  // `memory`: the limit in bytes of a rank that had the whole model; nullopt: none. The result stays where it is.
  const Planned& Of(int64_t micro_batches, std::optional<double> memory);

  // The ops of a plan in a program of all layers: about a hundredth nearer to what they take.
  CutTask InAllLayers(const StagePlan& plan) const;

  const PipelineTask& task() const { return task_; }
  int64_t stages() const { return stages_; }
  const StageMachines& machines() const { return machines_; }
  // The ops that are cut into stages, in the order of the graph.
  const std::vector<ir::OpId>& forward() const { return forward_; }

 private:
  Planned Search(int64_t micro_batches, std::optional<double> memory) const;
  // Of the forward ops of `model`, without places.
  CutTask TimesOf(const ir::Graph& model, const ir::Plan& plan, const ir::LoweredProgram& program) const;
  absl::StatusOr<StagePlan> PlanIn(const SearchedGraph& model, ir::Plan plan) const;
  std::vector<CutPlace> CrossingOf(const ir::Plan& plan) const;
  double SendSeconds(const ir::Plan& plan, ir::OpId id) const;

  const PipelineTask task_;
  const int64_t stages_;
  const StageMachines machines_;
  const SearchedGraph few_;  // Equal ops of equal layers take the same time.
  std::vector<ir::OpId> forward_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, std::optional<double>>, std::shared_future<Planned>> plans_;
};

// E0315: samples are one dimension with others, which the plan cuts so that it cannot take them in its micro-batches.
Diagnostic NoProgram(const ir::Pins& pins, const ir::Plan& plan, const absl::Status& status);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_STAGE_PLANS_H_
