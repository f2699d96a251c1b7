#include "tools/trace/trace.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json/json.h"
#include "base/layer_names/layer_names.h"
#include "codegen/codegen.h"
#include "gtest/gtest.h"
#include "runtime/json/trace_events.h"
#include "search/explain/explain.h"
#include "search/testing/models.h"
#include "search/testing/planned_model.h"

namespace cleave::tools {
namespace {

// A model with its plan and the timeline of its step.
struct Traced : search::testing::PlannedModel {
  Traced(ir::Graph model, int64_t devices, int64_t stages, int64_t micro_batches)
      : PlannedModel(std::move(model), devices, Settings(stages, micro_batches), codegen::FusedByCpu()) {}

  static ir::ParallelSettings Settings(int64_t stages, int64_t micro_batches) {
    ir::ParallelSettings settings;
    settings.stages = stages;
    settings.micro_batches = micro_batches;
    return settings;
  }

  Json events() const {
    const absl::StatusOr<Json> trace = ParseStrictJson(PredictedTrace(explained(), pipeline()));
    EXPECT_TRUE(trace.ok()) << trace.status();
    return trace->at("traceEvents");
  }
};

std::vector<Traced> Cases() {
  std::vector<Traced> cases;
  cases.emplace_back(search::testing::Gpt({}), 4, 1, 1);
  cases.emplace_back(search::testing::Gpt({}), 2, 1, 4);
  cases.emplace_back(search::testing::Gpt({}), 4, 2, 4);
  return cases;
}

// Microseconds, as whole nanoseconds.
int64_t Nanoseconds(const Json& number) { return std::llround(number.get<double>() * 1000); }

TEST(PredictedTraceTest, BarsOfATrackFollowOneAnotherWithinTheStep) {
  for (const Traced& traced : Cases()) {
    std::map<std::pair<int, int>, std::map<int64_t, int64_t>> bars;  // By process and thread: from begin to end.
    std::map<int, int64_t> kernels;
    for (const Json& event : traced.events()) {
      if (event["ph"] != "X") continue;
      const int64_t begin = Nanoseconds(event["ts"]), end = begin + Nanoseconds(event["dur"]);
      if (end > begin) bars[{event["pid"], event["tid"]}][begin] = end;
      const int track = event["tid"].get<int>() % 10;
      if (track == 3 || track == 4) kernels[event["pid"]] += end - begin;
    }
    const int64_t step = std::llround(traced.predicted.whole.step.value() * 1e9);
    for (const auto& [track, of_track] : bars) {
      int64_t last = 0;
      for (const auto& [begin, end] : of_track) {
        EXPECT_GE(begin, last);
        last = end;
      }
      EXPECT_LE(last, step + 1);
    }
    // A CPU waits for what it sends: without stages, the kernels and collectives of a rank are its step.
    if (!traced.predicted.pipeline.has_value()) {
      ASSERT_EQ(kernels.size(), 1u);
      EXPECT_NEAR(kernels.begin()->second, step, 1e-3 * step);
    } else {
      EXPECT_EQ(kernels.size(), 2u);
    }
  }
}

TEST(PredictedTraceTest, FlowsGoFromABarToALaterOne) {
  for (const Traced& traced : Cases()) {
    std::map<int64_t, int64_t> begun;
    size_t ended = 0;
    std::set<std::pair<std::pair<int, int>, int64_t>> begins;
    const Json events = traced.events();
    for (const Json& event : events) {
      if (event["ph"] == "X") begins.insert({{event["pid"], event["tid"]}, Nanoseconds(event["ts"])});
    }
    for (const Json& event : events) {
      if (event["ph"] == "s") EXPECT_TRUE(begun.emplace(event["id"], Nanoseconds(event["ts"])).second);
    }
    for (const Json& event : events) {
      if (event["ph"] != "s" && event["ph"] != "f") continue;
      EXPECT_TRUE(begins.contains({{event["pid"], event["tid"]}, Nanoseconds(event["ts"])})) << event;
      if (event["ph"] != "f") continue;
      ++ended;
      ASSERT_TRUE(begun.contains(event["id"])) << event;
      EXPECT_GE(Nanoseconds(event["ts"]), begun[event["id"]]);
    }
    EXPECT_GT(ended, 0u);
    EXPECT_EQ(ended, begun.size());
  }
}

TEST(PredictedTraceTest, MeasuredStepsStandBesideIt) {
  const Traced traced(search::testing::Mlp(8, {4, 4}), 1, 1, 1);
  const std::string path = absl::StrCat(::testing::TempDir(), "/measured.json");
  runtime::TraceEvents events(runtime::Timeline::kMeasured, 0);
  events.Bar(runtime::Track::kSteps, "step 2", "step", 0, 1);
  const std::string measured = runtime::TraceText(runtime::Timeline::kMeasured, {}, {events.Text()});
  std::ofstream(path) << measured;
  const std::string trace = PredictedTrace(traced.explained(), nullptr);
  const absl::StatusOr<std::string> both = WithMeasured(trace, path);
  ASSERT_TRUE(both.ok()) << both.status();
  const absl::StatusOr<Json> json = ParseStrictJson(*both);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("traceEvents").back().at("name"), "step 2");
  for (const std::string& broken : {std::string(), measured.substr(0, measured.size() / 2), trace}) {
    std::ofstream(path) << broken;
    EXPECT_FALSE(WithMeasured(trace, path).ok()) << broken;
  }
}

TEST(PredictedTraceTest, MicroBatchesPassesAndMemoryAreShown) {
  const std::vector<Traced> cases = Cases();
  const auto count = [](const Traced& traced, const char* kind, const std::string& name) {
    int64_t found = 0;
    for (const Json& event : traced.events()) {
      if (event["ph"] == kind && (event["name"] == name || (event.contains("cat") && event["cat"] == name))) ++found;
    }
    return found;
  };
  EXPECT_EQ(count(cases[0], "X", "micro-batch"), 0);
  EXPECT_EQ(count(cases[1], "X", "micro-batch"), 4);
  // A forward and a backward pass of each in 2 stages, between which both wait.
  EXPECT_EQ(count(cases[2], "X", "micro-batch"), 16);
  EXPECT_GE(count(cases[2], "X", "idle"), 2);
  for (const Traced& traced : cases) {
    EXPECT_GT(count(traced, "C", "memory"), 5);
    EXPECT_GE(count(traced, "C", "allocated"), 2);
  }
}

// The names of ops in the text of a program, as places: those in quotes behind each `watch.Start(`.
std::set<std::string> NamesIn(absl::string_view text) {
  std::set<std::string> names;
  for (size_t at = text.find("watch.Start("); at != text.npos; at = text.find("watch.Start(", at + 1)) {
    const absl::string_view line = text.substr(at, text.find('\n', at) - at);
    for (size_t quote = line.find('"'); quote != line.npos;) {
      const size_t end = line.find('"', quote + 1);
      names.insert(LayerNameOf(line.substr(quote + 1, end - quote - 1)).place);
      quote = line.find('"', end + 1);
    }
  }
  return names;
}

TEST(PredictedTraceTest, NamesAreThoseOfTheProgram) {
  for (const Traced& traced : Cases()) {
    const absl::StatusOr<std::vector<codegen::GeneratedFile>> files =
        codegen::GenerateCpu({.graph = traced.made.distributed.graph,
                              .program = traced.made.program,
                              .memory = traced.made.memory,
                              .training = {},
                              .parts = traced.made.parts});
    ASSERT_TRUE(files.ok()) << files.status();
    std::set<std::string> shown;
    for (const codegen::GeneratedFile& file : *files) {
      if (file.path == "program.cc") shown = NamesIn(file.text);
    }
    EXPECT_GT(shown.size(), 20u);
    std::set<std::string> planned;
    for (const Json& kernel : search::KernelsOfPlan(traced.explained())) {
      const std::vector<std::string> ops = kernel["ops"];
      if (kernel["kind"] == "inputs") continue;
      planned.insert(ops.begin(), ops.end());
      for (const std::string& op : ops) EXPECT_TRUE(shown.contains(op)) << op;
    }
    // What comes from another stage is waited for, and what lies where it is needed takes no time.
    const auto add_idle = [&](const ir::Program& program, const ir::Fusion& fusion) {
      for (const ir::Step& step : program.steps) {
        const bool is_idle = std::holds_alternative<ir::Receive>(step.action) || fusion.DoesNothing(step) ||
                             step.phase == ir::Phase::kMetric;
        if (is_idle) planned.insert(LayerNameOf(step.name).place);
      }
    };
    add_idle(traced.made.program, traced.made.memory.fusion);
    for (const ir::PartProgram& part : traced.made.parts) add_idle(part.program, part.memory.fusion);
    for (const std::string& name : shown) EXPECT_TRUE(planned.contains(name)) << name;
  }
}

}  // namespace
}  // namespace cleave::tools
