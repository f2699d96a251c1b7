// Tests the examples, each with one product pinned at a time: propagation carries its cut through realistic models.
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/facts.h"
#include "search/solve/sapp/choices.h"
#include "tests/collective_counts/programs.h"

namespace cleave::tests {
namespace {

constexpr int kMostProducts = 6;  // The most products of a model: the first ones are taken.

std::optional<frontend::Module> ReadExample(const std::string& name) {
  const std::string path = "examples/" + name + "/" + name + ".model";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << path;
  return ReadModule(text.str(), path);
}

// A pin on `product`: each mesh axis cuts the first factor, from number `first` on, that has elements for it.
ir::Pin PinOn(const search::GraphFacts& facts, ir::OpId product, const ir::Mesh& mesh, size_t first) {
  const ir::Rule& rule = facts.rule(product);
  ir::Strategy strategy = ir::Strategy::Replicated(rule);
  for (ir::AxisId axis : mesh.AxisIds()) {
    const std::vector<int> factors = search::FactorsFor(strategy, rule, mesh, axis);
    if (!factors.empty()) strategy = *search::Moved(strategy, rule, mesh, factors[first % factors.size()], axis);
  }
  ir::ShardPin pin;
  for (const std::vector<int64_t>& counts : ir::InStrategy(strategy, rule, mesh)) {
    pin.in.emplace_back(std::in_place);
    for (int64_t count : counts) pin.in.back()->push_back({.value = count, .span = {}});
  }
  return {.op = product, .demand = pin, .span = {}};
}

class PropagatedExamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(PropagatedExamplesTest, IsProvenWhateverIsPinned) {
  std::optional<frontend::Module> module = ReadExample(GetParam());
  ASSERT_TRUE(module.has_value());
  const search::GraphFacts facts = search::FactsOf(module->graph);
  module->pins.settings.search = ir::SearchAlgorithm::kPropagate;
  module->pins.settings.devices.reset();
  int tried = 0;
  for (const ir::Op& op : module->graph.ops) {
    if (facts.roles[op.id] != search::Role::kProduct || tried == kMostProducts) continue;
    const int devices = tried % 2 == 0 ? 4 : 6;
    module->pins.pins = {PinOn(facts, op.id, ir::Mesh::OfDevices(devices), static_cast<size_t>(tried))};
    SCOPED_TRACE(op.name);
    const Compiled compiled = CompileModule(*module, devices);
    EXPECT_EQ(compiled.plan.mesh.rank_count(), devices);
    ++tried;
  }
  EXPECT_GT(tried, 1);
}

INSTANTIATE_TEST_SUITE_P(All, PropagatedExamplesTest,
                         testing::Values("custom_op", "mnist_cnn", "mnist_mlp", "sapp_mlp", "tiny_gpt"));

}  // namespace
}  // namespace cleave::tests
