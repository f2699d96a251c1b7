#include "tools/driver/module_settings.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

TEST(ApplyOptionsTest, ChangesOnlyWhatTheCommandLineSays) {
  frontend::Module module;
  module.pins.settings.devices = {.value = 4, .span = {.begin = 3, .end = 9}};
  module.pins.settings.search = ir::SearchAlgorithm::kExact;
  module.training.steps = 10;
  module.training.seed = 3;
  const frontend::Module before = module;
  ApplyOptions({}, module);
  EXPECT_EQ(module, before);

  CompileOptions options;
  options.devices = 8;
  options.search = "data_parallel";
  options.steps = 20;
  ApplyOptions(options, module);
  EXPECT_EQ(module.pins.settings.devices->value, 8);
  EXPECT_EQ(module.pins.settings.devices->span, Span{});
  EXPECT_EQ(module.pins.settings.search, ir::SearchAlgorithm::kDataParallel);
  EXPECT_TRUE(module.pins.settings.search_given);
  EXPECT_EQ(module.training.steps, 20);
  EXPECT_EQ(module.training.seed, 3);
}

ir::Pin PinOf(decltype(ir::Pin::demand) demand, int32_t place) {
  return {.op = {}, .demand = std::move(demand), .span = {.begin = place, .end = place + 1}};
}

ir::CountsPin Counts(std::vector<int64_t> counts) {
  ir::CountsPin pin(std::in_place);
  for (const int64_t count : counts) pin->push_back({.value = count, .span = {}});
  return pin;
}

// What the warning says of these pins and this mesh, by the places that it marks.
std::vector<int32_t> PlacesSetAside(ir::Pins& pins) {
  Diagnostics diagnostics;
  SetPinsAside(pins, diagnostics);
  std::vector<int32_t> places;
  for (const Diagnostic& warning : diagnostics.items()) {
    EXPECT_EQ(warning.code, Code::kW0608);
    for (const Label& label : warning.labels) places.push_back(label.span.begin);
  }
  return places;
}

TEST(SetPinsAsideTest, OnlyWhatNeedsMoreDevices) {
  const ir::LayoutPin on_m0{.dimensions = {{{.value = "m0", .span = {}}}, {}}};
  const ir::LayoutPin uncut{.dimensions = {{}, {}}};
  ir::Pins pins;
  pins.settings.search = ir::SearchAlgorithm::kPropagate;
  pins.pins = {PinOf(ir::ShardPin{.in = {Counts({4, 2}), std::nullopt}, .out = std::nullopt}, 1),
               PinOf(ir::ShardPin{.in = {Counts({1, 1})}, .out = Counts({2})}, 2),
               PinOf(ir::ShardPin{.in = {Counts({1, 1})}, .out = Counts({1})}, 3),
               PinOf(on_m0, 4),
               PinOf(on_m0, 4),
               PinOf(uncut, 5),
               PinOf(ir::ReplicatePin(), 6),
               PinOf(ir::DataParallelPin(), 7)};
  pins.retentions = {{.op = {}, .retention = ir::Retention::kRecompute, .span = {.begin = 8, .end = 9}}};
  const std::vector<ir::Pin> before = pins.pins;
  EXPECT_EQ(PlacesSetAside(pins), (std::vector<int32_t>{1, 2, 4}));
  EXPECT_EQ(pins.pins, (std::vector<ir::Pin>{before[2], before[5], before[6], before[7]}));
  EXPECT_EQ(pins.retentions.size(), 1u);
  EXPECT_EQ(pins.settings.search, ir::SearchAlgorithm::kReplicate);
  EXPECT_TRUE(PlacesSetAside(pins).empty());
}

TEST(SetPinsAsideTest, AxesOfTheMeshGetOneDevice) {
  ir::Pins pins;
  pins.settings.mesh = {{.name = "dp", .size = 2, .span = {}}, {.name = "tp", .size = 4, .span = {}}};
  pins.settings.mesh_span = {.begin = 9, .end = 10};
  pins.pins = {PinOf(ir::LayoutPin{.dimensions = {{{.value = "tp", .span = {}}}}}, 1)};
  EXPECT_EQ(PlacesSetAside(pins), std::vector<int32_t>{9});
  EXPECT_EQ(pins.settings.mesh[0].size, 1);
  EXPECT_EQ(pins.settings.mesh[1].size, 1);
  EXPECT_EQ(pins.pins.size(), 1u);
}

TEST(ResolvePathsTest, PathsStartFromTheFolderOfTheModel) {
  ir::Training training;
  training.data.path = "data/mnist";
  training.data.files = {{"x", "../x.npy"}, {"y", "/tmp/y.npy"}};
  training.params = "../gpt2.safetensors";
  ResolvePaths("/models/small/a.model", training);
  EXPECT_EQ(training.folder, "/models/small");
  EXPECT_EQ(training.data.path, "/models/small/data/mnist");
  EXPECT_EQ(training.params, "/models/gpt2.safetensors");
  EXPECT_EQ(training.data.files[0].second, "/models/x.npy");
  EXPECT_EQ(training.data.files[1].second, "/tmp/y.npy");
  ir::Training without_data;
  ResolvePaths("/models/small/a.model", without_data);
  EXPECT_EQ(without_data.data.path, "");
  EXPECT_EQ(without_data.params, "");
}

}  // namespace
}  // namespace cleave::tools
