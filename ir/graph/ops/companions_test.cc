// Ops whose call computes others as well: what every entry of the table must say.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

int TensorsOf(const OpDefinition& op) {
  return static_cast<int>(std::count_if(op.signature.begin(), op.signature.end(), [](const Argument& argument) {
    return argument.kind == ArgumentKind::kTensor || argument.kind == ArgumentKind::kOptionalTensor;
  }));
}

void AddNamedBy(const CallArgument& argument, std::set<int>& named) {
  if (const auto* pointer = std::get_if<Pointer>(&argument)) named.insert(pointer->tensor);
  if (const auto* number = std::get_if<ScalarInput>(&argument)) named.insert(number->input);
  if (const auto* early = std::get_if<ResultWithGradients>(&argument)) named.insert(ResultOf(early->companion));
  if (const auto* first = std::get_if<FirstPointer>(&argument)) {
    named.insert(first->tensors.begin(), first->tensors.end());
  }
  if (const auto* list = std::get_if<BracedList>(&argument)) {
    for (const Field& field : list->fields) AddNamedBy(field.value, named);
  }
}

// All tensors of the call, inputs by their numbers and results by ResultOf, that it names.
std::set<int> NamedBy(const KernelCall& call) {
  std::set<int> named;
  for (const CallArgument& argument : call.arguments) AddNamedBy(argument, named);
  return named;
}

TEST(Companions, ReadOrMakeWhatTheCallReadsOrGives) {
  int found = 0;
  for (const OpDefinition* op : AllOps()) {
    const int own = TensorsOf(*op);
    for (const Companion& companion : op->companions) {
      ++found;
      const OpDefinition& definition = DefinitionOf(companion.kind);
      EXPECT_EQ(static_cast<int>(companion.inputs.size()), TensorsOf(definition)) << op->name();
      EXPECT_TRUE(companion.gives.has_value() ||
                  std::any_of(companion.inputs.begin(), companion.inputs.end(), [&](int t) { return t < own; }))
          << definition.name() << " shares nothing with " << op->name();
      EXPECT_LT(definition.companions.size(), op->companions.size()) << definition.name() << " has more of its own";
    }
  }
  EXPECT_GT(found, 0);
}

TEST(Companions, AreGivenByOneCall) {
  for (const OpDefinition* op : AllOps()) {
    if (op->companions.empty()) continue;
    const TensorType rows = {DType::kF32, {6, 5}}, result = {DType::kF32, {5}};
    const std::vector<TensorType> inputs(static_cast<size_t>(TensorsOf(*op)), rows);
    const Attributes attributes = {
        {attribute::kEpsilon, 1e-5},       {attribute::kCentered, true}, {attribute::kAxes, std::vector<int64_t>{}},
        {attribute::kLabelSmoothing, 0.0}, {attribute::kZLoss, 0.0},     {attribute::kTransposeA, false},
        {attribute::kTransposeB, false}};
    // Some exclude each other: what the calls with none and with each of them name.
    std::set<int> named;
    for (size_t with = 0; with <= op->companions.size(); ++with) {
      std::vector<std::optional<int>> steps(op->companions.size());
      if (with > 0) steps[with - 1] = 0;
      const std::vector<KernelCall> calls =
          op->calls({.inputs = inputs, .output = result, .attributes = attributes, .companions = steps});
      ASSERT_EQ(calls.size(), 1u) << op->name();
      EXPECT_TRUE(calls[0].repetitions.dimensions.empty());
      named.merge(NamedBy(calls[0]));
    }
    std::set<int> expected = {kResult};
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) expected.insert(i);
    for (size_t i = 0; i < op->companions.size(); ++i) {
      const Companion& companion = op->companions[i];
      const bool is_written = !companion.hides.has_value() || companion.hides != companion.gives;
      if (is_written) expected.insert(ResultOf(static_cast<int>(i)));
      expected.insert(op->companions[i].inputs.begin(), op->companions[i].inputs.end());
    }
    EXPECT_EQ(named, expected) << op->name();
  }
}

TEST(Companions, AreNumbered) {
  EXPECT_EQ(CompanionOf(ResultOf(3)), 3);
  EXPECT_EQ(CompanionOf(ResultOf(0)), 0);
  EXPECT_EQ(CompanionOf(kResult), std::nullopt);
  EXPECT_EQ(CompanionOf(2), std::nullopt);
}

}  // namespace
}  // namespace cleave::ir
