// Whatever numbers a model has, an op is either refused with a diagnostic, or the program is proven, or it is said to
// be too large for that. Nothing overflows, and no check of the compiler fails.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"
#include "ir/graph/reader.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/random_plan.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();
constexpr int64_t kHugeSizes[] = {1 << 20, int64_t{1} << 31, int64_t{1} << 40, kMaxElements};
constexpr int64_t kHugeInts[] = {(int64_t{1} << 31) - 1, int64_t{1} << 31, int64_t{1} << 40,
                                 int64_t{1} << 62,       kMostInt,         -kMostInt - 1};
constexpr double kHugeDoubles[] = {1e30, -1e30, 1e300, -1e300, 0, 1e-300};

// A use of an op.
struct Use {
  OpKind kind;
  std::vector<TensorType> types;
  Attributes attributes;

  std::string Text() const {
    std::string text(OpKindName(kind));
    for (const TensorType& type : types) absl::StrAppend(&text, " ", type.ToString());
    return absl::StrCat(text, " ", AttributesText(attributes));
  }
};

// Every number of the sample replaced by huge ones, one at a time.
std::vector<Use> HugeUses(const Sample& sample) {
  const Use original = {.kind = sample.op->kind, .types = sample.types, .attributes = sample.attributes};
  std::vector<Use> uses;
  // A factor with all dimensions that it is in, and with the attributes that speak of it.
  for (size_t f = 0; f < sample.rule.factors.size(); ++f) {
    if (!sample.rule.IsFree(static_cast<int>(f))) continue;
    for (int64_t size : kHugeSizes) {
      Rule resized = sample.rule;
      resized.factors[f].size = size;
      Use use = original;
      for (size_t i = 0; i < use.types.size(); ++i) {
        double elements = 1;
        for (const FactorList& factors : resized.inputs[i]) {
          for (int factor : factors) elements *= static_cast<double>(resized.factors[static_cast<size_t>(factor)].size);
        }
        if (elements <= kMaxElements) use.types[i].shape = resized.InputShape(static_cast<int>(i));
      }
      if (sample.op->resize != nullptr) use.attributes = sample.op->resize(sample.attributes, resized);
      uses.push_back(std::move(use));
    }
  }
  // A dimension alone.
  for (size_t i = 0; i < sample.types.size(); ++i) {
    for (size_t d = 0; d < sample.types[i].shape.size(); ++d) {
      for (int64_t size : kHugeSizes) {
        uses.push_back(original);
        uses.back().types[i].shape[d] = size;
      }
    }
  }
  for (const auto& [name, value] : sample.attributes.values()) {
    const auto replace = [&uses, &original, &name = name](AttributeValue other) {
      uses.push_back(original);
      uses.back().attributes.SetNamed(name, std::move(other));
    };
    if (std::holds_alternative<int64_t>(value)) {
      for (int64_t huge : kHugeInts) replace(huge);
    } else if (std::holds_alternative<double>(value)) {
      for (double huge : kHugeDoubles) replace(huge);
    } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
      for (size_t i = 0; i < numbers->size(); ++i) {
        for (int64_t huge : kHugeInts) {
          std::vector<int64_t> others = *numbers;
          others[i] = huge;
          replace(std::move(others));
        }
      }
    }
  }
  return uses;
}

enum class Fate { kRefused, kTooLarge, kProven };

// Builds a model around the op, whose inputs depend on a parameter where `trains`, and takes it through the compiler.
Fate FateOf(const Use& use, bool trains, Random& random) {
  GraphBuilder builder;
  const OpId weight = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}}, "weight");
  std::vector<OpId> inputs;
  for (const TensorType& type : use.types) {
    if (CountUpToLimit(type.shape) > kMaxElements) return Fate::kRefused;
    OpId input =
        builder.Add(OpKind::kInput, {},
                    {{attribute::kShape, type.shape}, {attribute::kDType, type.dtype}, {attribute::kData, "x"}}, "x");
    if (trains && type.dtype == DType::kF32) input = builder.Add(OpKind::kMul, {input, weight}, {}, "scaled");
    inputs.push_back(input);
  }
  const auto made = builder.TryAdd(use.kind, inputs, use.attributes, "made");
  if (std::holds_alternative<OpError>(made)) {
    EXPECT_NE(std::get<OpError>(made).message, "");
    return Fate::kRefused;
  }
  OpId value = std::get<OpId>(made);
  if (builder.type(value).dtype != DType::kF32) {
    value = builder.Add(OpKind::kCast, {value}, {{attribute::kDType, DType::kF32}}, "cast");
  }
  const OpId mean = builder.Add(OpKind::kReduceMean, {value}, {}, "mean");
  builder.mutable_graph().loss = builder.Add(OpKind::kMul, {mean, weight}, {}, "loss");
  const absl::StatusOr<Graph> graph =
      Differentiate(std::move(builder).Build(), {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1});
  if (!graph.ok()) {
    EXPECT_TRUE(trains) << graph.status();  // Not every op has a gradient.
    return trains ? FateOf(use, false, random) : Fate::kRefused;
  }
  EXPECT_EQ(VerifyGraph(*graph), std::vector<std::string>());
  const absl::StatusOr<Distributed> distributed = Distribute(*graph, RandomPlan(*graph, Mesh::OfDevices(4), random));
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(CheckStatically(*program), std::vector<std::string>());
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(*graph, *distributed, *program);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() && report->too_large.has_value() ? Fate::kTooLarge : Fate::kProven;
}

TEST(LimitsTest, EveryNumberOfEveryOpMayBeHuge) {
  Random random(7);
  std::map<Fate, int> fates;
  for (const OpDefinition* op : AllOps()) {
    // The ranks of manual models are those of the machine, not numbers of the model.
    if (!op->callable || op->op_class == OpClass::kSource || op->rank_use != RankUse::kNone) continue;
    for (const Sample& sample : SamplesOf(op->kind, random)) {
      for (const Use& use : HugeUses(sample)) {
        SCOPED_TRACE(use.Text());
        const Fate fate = FateOf(use, /*trains=*/true, random);
        ++fates[fate];
        // Only a reshape may break a dimension up so that nothing but its own size will do, and the index that an
        // einsum repeats keeps its size.
        if (fate == Fate::kTooLarge) {
          EXPECT_TRUE(use.kind == OpKind::kReshape || use.kind == OpKind::kFlatten || use.kind == OpKind::kEinsum)
              << use.Text();
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(fates[Fate::kRefused], 1000);
  EXPECT_GT(fates[Fate::kProven], 1000);
}

}  // namespace
}  // namespace cleave::ir
