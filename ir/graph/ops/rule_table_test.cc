#include "ir/graph/ops/rule_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/graph/ops/samples.h"

namespace cleave::ir {
namespace {

TEST(RuleTableTest, GivesTheRuleOfEverySampleAndMakesEachOnce) {
  RuleTable table;
  Random random(1);
  std::vector<Sample> samples;
  for (const OpDefinition* definition : AllOps()) {
    for (Sample& sample : SamplesOf(definition->kind, random)) samples.push_back(std::move(sample));
  }
  const auto rule_of = [&](const Sample& sample) -> const Rule& {
    std::vector<const TensorType*> inputs;
    for (const TensorType& type : sample.types) inputs.push_back(&type);
    return table.Of(sample.op->kind, inputs, sample.output, sample.attributes);
  };
  std::vector<const Rule*> first;
  for (const Sample& sample : samples) {
    first.push_back(&rule_of(sample));
    EXPECT_EQ(*first.back(), sample.rule) << sample.Text();
  }
  const int64_t made = table.size();
  EXPECT_GT(made, 50);
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(&rule_of(samples[i]), first[i]) << samples[i].Text();
  EXPECT_EQ(table.size(), made);
}

}  // namespace
}  // namespace cleave::ir
