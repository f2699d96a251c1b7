// Plans of the whole model for the ranks of one stage, and the times of their ops, by which the model is cut into
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

// The arguments of SearchPipeline (pipeline.h). They outlive every object below.
struct PipelineTask {
  const ir::Graph& graph;
  const Cluster& cluster;
  const ir::Pins& pins;
  const SearchOptions& options;
};

// The devices of one of `stages` equal groups of ranks, which the slowest links separate, and the mesh axis of the
// groups, with the slowest link that it crosses. nullopt where the links do not divide the devices so.
struct StageMachines {
  Cluster cluster;
  ir::MeshAxis axis;
};
std::optional<StageMachines> MachinesOfStage(const Cluster& cluster, int64_t stages);

// An activation is sent, and its gradient comes back.
inline constexpr double kThereAndBack = 2;

// A plan of all ops for the ranks of one stage, with its steps in the order of the graph and nothing offloaded.
struct StagePlan {
  ir::Plan plan;
  // The seconds of the forward ops, with their backward ops and updates, and of sending what crosses each cut point.
  // Without stages, ranges and waiting. Measured on few of many equal layers.
  CutTask ops;
  Bytes peak{0};  // About the peak of a rank that has the whole model.
};

// Searches these plans, each once for all schedules. Thread-safe.
class StagePlans {
 public:
  StagePlans(const PipelineTask& task, int64_t stages, StageMachines machines);

  struct Planned {
    std::optional<StagePlan> plan;  // nullopt after errors.
    Diagnostics diagnostics;
  };
  // The plan for so many micro-batches. `memory`: the limit in bytes for a rank that has the whole model; nullopt:
  // none. The reference stays valid.
  const Planned& Of(int64_t micro_batches, std::optional<double> memory);

  // StagePlan::ops measured on all layers, which is about 1 % more exact.
  CutTask InAllLayers(const StagePlan& plan) const;

  const PipelineTask& task() const { return task_; }
  int64_t stages() const { return stages_; }
  const StageMachines& machines() const { return machines_; }
  // The ops that are cut into stages, in the order of the graph.
  const std::vector<ir::OpId>& forward() const { return forward_; }

 private:
  Planned Search(int64_t micro_batches, std::optional<double> memory) const;
  // Of the forward ops of `model`, without cut points.
  CutTask TimesOf(const ir::Graph& model, const ir::Plan& plan, const ir::LoweredProgram& program) const;
  absl::StatusOr<StagePlan> PlanIn(const SearchedGraph& model, ir::Plan plan) const;
  std::vector<CutPlace> CrossingOf(const ir::Plan& plan) const;
  double SendSeconds(const ir::Plan& plan, ir::OpId id) const;

  const PipelineTask task_;
  const int64_t stages_;
  const StageMachines machines_;
  const SearchedGraph few_;  // For times: equal layers take the same.
  std::vector<ir::OpId> forward_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, std::optional<double>>, std::shared_future<Planned>> plans_;
};

// E0315: the plan has no program with its micro-batches, because it cuts a dimension that samples share with others.
// `status`: the error of ProgramOf.
Diagnostic NoProgram(const ir::Pins& pins, const ir::Plan& plan, const absl::Status& status);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_STAGE_PLANS_H_
