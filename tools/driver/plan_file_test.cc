#include "tools/driver/plan_file.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/program/plan_json/plan_json.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "tools/driver/choose_cluster.h"

namespace cleave::tools {
namespace {

UnderstoodModel Mlp() {
  UnderstoodModel model;
  model.training_graph = ir::TestMlp();
  model.training_graph.hash = "xxh3:0123456789abcdef";
  return model;
}

// A plan of the model for two devices of the cluster "cpu", with `from` in its text replaced by `to`.
std::string PlanFileWith(const UnderstoodModel& model, const std::string& from = "", const std::string& to = "") {
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "m0", .size = 2, .link = "host", .weight = 1}});
  ir::Plan plan = ir::DataParallelPlan(model.training_graph, mesh);
  plan.cluster = "cpu";
  const ir::Program program = *ir::Partition(model.training_graph, plan);
  std::string text = ir::PlanJson(model.training_graph, plan, program, {});
  if (!from.empty()) {
    EXPECT_GT(absl::StrReplaceAll({{from, to}}, &text), 0) << from;
  }
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/plan.json");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The message and notes of the error that reading `path` gives; "cluster devices" where there is none.
std::string Outcome(const std::string& path, CompileOptions options, UnderstoodModel model = Mlp()) {
  options.plan_file = path;
  Diagnostics diagnostics;
  model.machines = *MachinesAskedFor(options, diagnostics);
  const std::optional<PlannedModel> planned = ReadPlanFile(
      options, model, [](int64_t) { return std::nullopt; }, diagnostics);
  if (planned.has_value()) return absl::StrCat(planned->cluster.name, " ", planned->cluster.devices());
  const Diagnostic& error = diagnostics.items().at(0);
  std::string text = absl::StrCat(CodeName(error.code), ": ", absl::StrReplaceAll(error.message, {{path, "FILE"}}));
  for (const std::string& note : error.notes) absl::StrAppend(&text, "; ", note);
  return text;
}

CompileOptions With(const std::string& cluster, std::optional<int64_t> devices) {
  CompileOptions options;
  options.cluster = cluster;
  options.devices = devices;
  return options;
}

TEST(PlanFileTest, FindsThePlanAndItsMachines) {
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), {}), "cpu 2");
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), With("cpu", 2)), "cpu 2");
}

TEST(PlanFileTest, AFileMustBeAPlanOfThisModel) {
  EXPECT_EQ(Outcome("nowhere.json", {}), "E0604: cannot read `FILE`: no such file or directory");
  EXPECT_EQ(
      Outcome(PlanFileWith(Mlp(), "\"version\": 1", "\"version\": 9"), {}),
      "E0604: the plan file `FILE` does not fit this model; line 3, column 13: plan.version: this version reads 1, "
      "found 9");
  UnderstoodModel other = Mlp();
  other.training_graph.hash = "xxh3:fedcba9876543210";
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), {}, other).substr(0, 87),
            "E0604: the plan file `FILE` does not fit this model; line 7, column 11: model.hash: the");
}

TEST(PlanFileTest, TheDevicesMustBeThoseOfThePlan) {
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), With("", 3)), "E0604: the plan file `FILE` is for 2 devices, not 3");
  UnderstoodModel manual = Mlp();
  manual.training_graph.rank_axes = {{.name = "world", .size = 4}};
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), {}, manual),
            "E0604: the plan file `FILE` is for 2 devices, and the manual model for 4");
}

TEST(PlanFileTest, TheMicroBatchesMustBeThoseOfTheModelWhereItNamesANumber) {
  const auto plan_of_four = [] { return PlanFileWith(Mlp(), "\"micro_batches\": 1", "\"micro_batches\": 4"); };
  EXPECT_EQ(Outcome(plan_of_four(), {}), "E0604: the plan file `FILE` takes the batch in 4 parts, the model in 1");
  UnderstoodModel open = Mlp();
  open.module.pins.settings.micro_batches = std::nullopt;
  EXPECT_EQ(Outcome(plan_of_four(), {}, open), "cpu 2");
}

TEST(PlanFileTest, OnlyPlansForGpusOffload) {
  const std::string from = "\"name\": \"h1.relu\",\n   \"kind\"";
  const std::string path = PlanFileWith(Mlp(), from, absl::StrReplaceAll(from, {{",", ",\n   \"offload\": true,"}}));
  EXPECT_EQ(Outcome(path, {}), "E0604: the plan file `FILE` lets values wait in the host's memory, which only GPUs do");
  CompileOptions options;
  options.target = "cuda";
  EXPECT_EQ(Outcome(path, options), "cpu 2");
}

TEST(PlanFileTest, TheClusterMustBeThatOfThePlan) {
  EXPECT_EQ(Outcome(PlanFileWith(Mlp()), With("h100x8", std::nullopt)),
            "E0604: the plan file `FILE` is for cluster `cpu`, not `h100x8`");
  EXPECT_EQ(Outcome(PlanFileWith(Mlp(), "\"cpu\"", "\"lab\""), {}),
            "E0604: the plan file `FILE` is for cluster `lab`, which is not a preset");
  EXPECT_EQ(Outcome(PlanFileWith(Mlp(), "\"host\"", "\"wire\""), {}),
            "E0604: the plan file `FILE` has a mesh axis `m0` over the link `wire`, which cluster `cpu` does not have");
}

}  // namespace
}  // namespace cleave::tools
