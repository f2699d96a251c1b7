#include "tools/driver/module_settings.h"

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

TEST(ResolvePathsTest, PathsStartFromTheFolderOfTheModel) {
  ir::Training training;
  training.data.path = "data/mnist";
  training.data.files = {{"x", "../x.npy"}, {"y", "/tmp/y.npy"}};
  ResolvePaths("/models/small/a.model", training);
  EXPECT_EQ(training.folder, "/models/small");
  EXPECT_EQ(training.data.path, "/models/small/data/mnist");
  EXPECT_EQ(training.data.files[0].second, "/models/x.npy");
  EXPECT_EQ(training.data.files[1].second, "/tmp/y.npy");
  ir::Training without_data;
  ResolvePaths("/models/small/a.model", without_data);
  EXPECT_EQ(without_data.data.path, "");
}

}  // namespace
}  // namespace cleave::tools
