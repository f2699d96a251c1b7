// Tests what attributes mean, and which forms are refused.
#include "frontend/attributes/attributes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "dsl/parse/parse.h"
#include "frontend/attributes/block.h"
#include "frontend/attributes/region.h"

namespace cleave::frontend {
namespace {

std::string TextOf(const ir::CountsPin& counts) {
  if (!counts) return "auto";
  return absl::StrCat(
      "(",
      absl::StrJoin(*counts, ", ",
                    [](std::string* out, const ir::Placed<int64_t>& count) { absl::StrAppend(out, count.value); }),
      ")");
}

std::string TextOf(const Demand& demand) {
  if (const auto* shard = std::get_if<ir::ShardPin>(&demand)) {
    std::string text = "shard";
    for (const ir::CountsPin& in : shard->in) absl::StrAppend(&text, " in ", TextOf(in));
    if (shard->out) absl::StrAppend(&text, " out ", TextOf(shard->out));
    return text;
  }
  if (const auto* layout = std::get_if<ir::LayoutPin>(&demand)) {
    std::string text = "layout";
    for (const auto& axes : layout->dimensions) {
      absl::StrAppend(&text, " [",
                      absl::StrJoin(axes, " ",
                                    [](std::string* out, const ir::Placed<std::string>& axis) {
                                      absl::StrAppend(out, axis.value);
                                    }),
                      "]");
    }
    return text;
  }
  if (const auto* stage = std::get_if<StageDemand>(&demand)) return absl::StrCat("stage ", stage->value);
  if (const auto* priority = std::get_if<PriorityDemand>(&demand)) return absl::StrCat("priority ", priority->value);
  if (const auto* retention = std::get_if<RetentionDemand>(&demand)) {
    return std::string(ir::RetentionName(retention->retention));
  }
  return "replicate";
}

std::string TextOf(const BlockDemand& block) {
  if (block.of_ops) return absl::StrCat("all ops: ", TextOf(*block.of_ops));
  return absl::StrJoin(block.named, "; ", [](std::string* out, const NamedDemand& named) {
    absl::StrAppend(out, named.name.text, ": ", TextOf(named.demand));
  });
}

std::string TextOf(const RegionDemand& region) {
  std::string text = "region";
  if (region.in) {
    absl::StrAppend(&text, " in");
    for (const RegionInput& input : *region.in) absl::StrAppend(&text, " ", TextOf(input.counts));
  }
  if (region.out) {
    absl::StrAppend(&text, " out");
    for (const RegionOutput& output : *region.out) {
      const bool counts = output.layout == RegionOutput::Layout::kCounts;
      absl::StrAppend(&text, " ", counts ? TextOf(output.counts) : absl::StrCat(static_cast<int>(output.layout)));
    }
  }
  for (const RegionParameter& parameter : region.params) {
    absl::StrAppend(&text, " ", parameter.path, "=", TextOf(parameter.counts));
  }
  if (region.objective) absl::StrAppend(&text, " objective ", static_cast<int>(*region.objective));
  if (region.device != ir::RegionDevice::kAny)
    absl::StrAppend(&text, region.device == ir::RegionDevice::kCpu ? " cpu" : " gpu");
  return text;
}

// Evaluates a literal int; any other expression is reported as a mistake.
std::optional<int64_t> EvaluateLiteral(const dsl::syntax::Expression& expression, Reporter& reporter) {
  const auto* negate = std::get_if<dsl::syntax::Negate>(&expression.kind);
  const auto* literal = std::get_if<dsl::syntax::IntegerLiteral>(negate ? &negate->operand->kind : &expression.kind);
  if (literal != nullptr) return negate ? -literal->value : literal->value;
  reporter.Report(Error(Code::kE0204, "no int").At(expression.span, "here"));
  return std::nullopt;
}

// The result of `read` for `attribute`, written as `shard((4, 2))`, or the mistakes, one per line.
template <typename Read>
void Check(const std::string& attribute, const std::string& expected, const Read& read) {
  SourceSet sources;
  Diagnostics diagnostics;
  const FileId id = sources.Add("test.model", absl::StrCat("model M() { #[", attribute, "] let y = f(x); }"));
  const std::optional<dsl::syntax::File> file = dsl::Parse(id, sources, diagnostics);
  CLEAVE_CHECK(file.has_value()) << RenderText(diagnostics, sources);
  Reporter reporter(sources, diagnostics);
  const IntEvaluator evaluate = [&](const dsl::syntax::Expression& expression, const std::string&) {
    return EvaluateLiteral(expression, reporter);
  };
  const auto result = read(std::get<dsl::syntax::Model>(file->items[0].kind).body[0].attributes[0], evaluate, reporter);
  const std::string messages =
      absl::StrJoin(diagnostics.items(), "\n", [](std::string* out, const Diagnostic& diagnostic) {
        absl::StrAppend(out, CodeName(diagnostic.code), ": ", diagnostic.message);
      });
  EXPECT_EQ(result ? TextOf(*result) : messages, expected) << attribute;
  EXPECT_EQ(result.has_value(), messages.empty()) << attribute << "\n" << messages;
}

void CheckAttribute(const std::string& attribute, const std::string& expected) {
  Check(attribute, expected, ReadAttribute);
}

void CheckBlock(const std::string& attribute, const std::string& expected) {
  Check(attribute, expected, ReadBlockAttribute);
}

void CheckRegion(const std::string& attribute, const std::string& expected) { Check(attribute, expected, ReadRegion); }

TEST(AttributesTest, Shard) {
  CheckAttribute("shard((4, 2))", "shard in (4, 2)");
  CheckAttribute("shard((4, 2), (1, 2))", "shard in (4, 2) in (1, 2)");
  CheckAttribute("shard(auto, (1, 2))", "shard in auto in (1, 2)");
  CheckAttribute("shard(in = ((4, 2), auto), out = (4, 1))", "shard in (4, 2) in auto out (4, 1)");
  CheckAttribute("shard((4), out = (4))", "shard in (4) out (4)");
  CheckAttribute("shard(in = auto, out = (4))", "shard out (4)");
  CheckAttribute("shard", "E0303: `shard` needs the slices of each input");
  CheckAttribute("shard(4)", "E0303: slices are a tuple with one number per dimension");
  CheckAttribute("shard((0, 1))", "E0303: a dimension is cut into at least 1 slice");
  CheckAttribute("shard((-1, 1))", "E0303: a dimension is cut into at least 1 slice");
  CheckAttribute("shard((n, 1))", "E0204: no int");
  CheckAttribute("shard((a = 1))", "E0303: slices have no names");
  CheckAttribute("shard((1, 1), in = ((1, 1)))", "E0303: inputs are given twice");
  CheckAttribute("shard(in = ((1, 1)), (1, 1))", "E0303: inputs are given twice");
  CheckAttribute("shard(in = 4)", "E0303: `in` is a tuple with one entry per input");
  CheckAttribute("shard(out = (1), out = (2))", "E0303: `out` is given twice");
  CheckAttribute("shard(outs = (1))", "E0303: `shard` has no argument `outs`");
}

TEST(AttributesTest, Layout) {
  CheckAttribute("layout(\"dp\", _)", "layout [dp] []");
  CheckAttribute("layout((\"dp\", \"tp\"), _)", "layout [dp tp] []");
  CheckAttribute("layout(_)", "layout []");
  CheckAttribute("layout", "layout");
  CheckAttribute("layout(\"dp\", \"dp\")", "E0308: mesh axis `dp` is used twice in one layout");
  CheckAttribute("layout((\"dp\", \"dp\"))", "E0308: mesh axis `dp` is used twice in one layout");
  CheckAttribute("layout(dp)", "E0303: a layout names mesh axes");
  CheckAttribute("layout(4)", "E0303: a layout names mesh axes");
  CheckAttribute("layout(x = _)", "E0303: the dimensions of a layout have no names");
}

TEST(AttributesTest, ReplicateAndPriority) {
  CheckAttribute("replicate", "replicate");
  CheckAttribute("replicate(1)", "E0303: `replicate` takes no arguments");
  CheckAttribute("priority(0)", "priority 0");
  CheckAttribute("priority(7)", "priority 7");
  CheckAttribute("priority", "E0303: `priority` takes one int");
  CheckAttribute("priority(1, 2)", "E0303: `priority` takes one int");
  CheckAttribute("priority(level = 1)", "E0303: `priority` takes one int");
  CheckAttribute("priority(-1)", "E0303: a priority is not negative");
  CheckAttribute("priority(x)", "E0204: no int");
  CheckAttribute("stage(2)", "stage 2");
  CheckAttribute("stage", "E0303: `stage` takes one int");
  CheckAttribute("stage(-1)", "E0303: a stage is not negative");
}

TEST(AttributesTest, RecomputeAndKeep) {
  CheckAttribute("recompute", "recompute");
  CheckAttribute("recompute()", "recompute");
  CheckAttribute("keep", "keep");
  CheckAttribute("offload", "offload");
  CheckAttribute("offload(host)", "E0303: `offload` takes no arguments");
  CheckAttribute("recompute(1)", "E0303: `recompute` takes no arguments");
  CheckAttribute("keep(x = 1)", "E0303: `keep` takes no arguments");
}

TEST(AttributesTest, AttributesThatStandElsewhere) {
  CheckAttribute("region(out = auto)", "E0305: `region` applies to no call");
  CheckAttribute("manual", "E0305: `#[manual]` has no meaning here");
  CheckAttribute("local", "E0305: `#[local]` has no meaning here");
  CheckAttribute("shart((1))", "E0303: unknown attribute `shart`");
}

TEST(BlockTest, DemandsByName) {
  CheckBlock("shard(x = (4, 1))", "x: shard out (4, 1)");
  CheckBlock("shard(x = (4, 1), w = auto)", "x: shard out (4, 1); w: shard");
  CheckBlock("layout(x = (\"dp\", _), w = \"tp\")", "x: layout [dp] []; w: layout [tp]");
  CheckBlock("replicate", "all ops: replicate");
  CheckBlock("priority(2)", "all ops: priority 2");
  CheckBlock("stage(1)", "all ops: stage 1");
  CheckBlock("recompute", "all ops: recompute");
  CheckBlock("keep", "all ops: keep");
  CheckBlock("offload", "all ops: offload");
  CheckBlock("keep(x)", "E0303: `keep` takes no arguments");
  CheckBlock("shard", "E0303: `#[shard]` on a function or a loop names tensors");
  CheckBlock("shard((4, 1))", "E0303: `#[shard]` on a function or a loop names tensors");
  CheckBlock("layout(_)", "E0303: `#[layout]` on a function or a loop names tensors");
  CheckBlock("shard(x = (4), x = (2))", "E0303: `x` is named twice");
  CheckBlock("shard(x = 4)", "E0303: slices are a tuple with one number per dimension");
  CheckBlock("layout(x = (\"dp\", \"dp\"))", "E0308: mesh axis `dp` is used twice in one layout");
  EXPECT_TRUE(IsBlockAttribute("priority"));
  EXPECT_TRUE(IsBlockAttribute("recompute"));
  EXPECT_TRUE(IsBlockAttribute("keep"));
  EXPECT_TRUE(IsBlockAttribute("offload"));
  EXPECT_FALSE(IsBlockAttribute("region"));
}

TEST(RegionTest, WhatARegionSays) {
  CheckRegion("region()", "region");
  CheckRegion("region(in = auto)", "region");
  CheckRegion("region(in = ((4, 2), auto))", "region in (4, 2) auto");
  CheckRegion("region(out = auto)", "region out 0");
  CheckRegion("region(out = data_parallel)", "region out 2");
  CheckRegion("region(out = full_batch)", "region out 3");
  CheckRegion("region(out = (4, 2))", "region out (4, 2)");
  CheckRegion("region(out = ((4, 2), data_parallel))", "region out (4, 2) 2");
  CheckRegion("region(params = { \"a.weight\": (8, 1), \"b\": auto })", "region a.weight=(8, 1) b=auto");
  CheckRegion("region(device = cpu)", "region cpu");
  CheckRegion("region(device = gpu)", "region gpu");
}

TEST(RegionTest, ObjectivesByWordAndByLevel) {
  const auto text = [](ir::Objective objective) {
    return absl::StrCat("region objective ", static_cast<int>(objective));
  };
  CheckRegion("region(objective = speed)", text(ir::Objective::kSpeed));
  CheckRegion("region(objective = 2)", text(ir::Objective::kSpeed));
  CheckRegion("region(objective = memory)", text(ir::Objective::kMemory));
  CheckRegion("region(objective = 1)", text(ir::Objective::kMemory));
  CheckRegion("region(objective = 0)", text(ir::Objective::kComputeToCommunication));
  CheckRegion("region(objective = 3)", "E0303: `objective` takes one of a few words");
  CheckRegion("region(objective = fast)", "E0303: `objective` takes one of a few words");
}

TEST(RegionTest, FormsThatSayNothing) {
  CheckRegion("region((4, 2))", "E0303: the arguments of `region` have names");
  CheckRegion("region(in = auto, in = auto)", "E0303: `in` is given twice");
  CheckRegion("region(inn = auto)", "E0303: `region` has no argument `inn`");
  CheckRegion("region(in = 4)", "E0303: `in` is a tuple with one entry per argument");
  CheckRegion("region(in = ((0)))", "E0303: a dimension is cut into at least 1 slice");
  CheckRegion("region(out = 4)", "E0303: `out` gives the layout of the result");
  CheckRegion("region(params = (8, 1))", "E0303: `params` gives parameters their slices by name");
  CheckRegion("region(device = tpu)", "E0303: `device` takes one of two words");
}

}  // namespace
}  // namespace cleave::frontend
