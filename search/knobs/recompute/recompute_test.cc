#include "search/knobs/recompute/recompute.h"

#include <utility>

#include "gtest/gtest.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/predict.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/reasons.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// TwinBranches on two devices, where the columns of "left" are cut and its readers want all of it.
ir::Plan WithGather(const ir::Graph& graph, const Cluster& cluster) {
  const GraphFacts facts = FactsOf(graph);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  Assignment assignment(facts, mesh, {}, {});
  const ir::OpId left = *graph.Find("left");
  assignment.Apply(std::vector<Change>{{.op = left, .strategy = testing::Letters(graph, mesh, left, "j")}});
  ir::Plan plan{.cluster = cluster.name, .mesh = mesh, .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) plan.ops.push_back(OpPlanOf(assignment, op.id));
  return plan;
}

// The backward pass reads the reshape of a value that was gathered for it: both are made again, or neither is.
TEST(RecomputationTest, AReshapeIsMadeAgainWithWhatIsGatheredForIt) {
  const ir::Graph graph = testing::TwinBranches();
  const Cluster cluster = CpuCluster(2);
  const ir::Plan plan = WithGather(graph, cluster);
  const ir::LoweredProgram kept = *ProgramOf(graph, plan);
  Recomputation recomputation(kept.distributed, kept.program, kept.memory, cluster, {}, {});
  int measured = 0;
  recomputation.MeasurePrograms(Seconds(1), kept.memory.use.prediction.peak,
                                [&](const RecomputeChoice& choice) -> std::optional<Seconds> {
                                  ir::Plan again = plan;
                                  Apply(choice, again);
                                  const ir::LoweredProgram made = *ProgramOf(graph, again);
                                  const Seconds step = Predict(made.program, cluster).step;
                                  if (choice.ops.count(*graph.Find("left")) > 0) {
                                    ++measured;
                                    EXPECT_GT(step, Predict(kept.program, cluster).step);
                                  }
                                  return std::nullopt;
                                });
  EXPECT_GT(measured, 0);
}

}  // namespace
}  // namespace cleave::search
