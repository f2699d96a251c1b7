#include "tools/driver/choose_cluster.h"

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

// The cluster's name and devices.
std::string Chosen(const CompileOptions& options, const ir::ParallelSettings& settings) {
  frontend::Module module;
  module.pins.settings = settings;
  Diagnostics diagnostics;
  const std::optional<search::Machines> machines = MachinesAskedFor(options, diagnostics);
  const std::optional<search::Cluster> cluster =
      machines ? ChooseCluster(options, *machines, module, diagnostics) : std::nullopt;
  return cluster.has_value() ? cluster->name + " " + std::to_string(cluster->devices())
                             : std::string(CodeName(diagnostics.items().at(0).code));
}

CompileOptions Asked(const std::string& target, const std::string& cluster, std::optional<int64_t> devices) {
  CompileOptions options;
  options.target = target;
  options.cluster = cluster;
  options.devices = devices;
  return options;
}

ir::ParallelSettings OfDevices(int64_t devices) {
  ir::ParallelSettings settings;
  settings.devices = {.value = devices, .span = {}};
  return settings;
}

ir::ParallelSettings OfMesh() {
  ir::ParallelSettings settings;
  settings.mesh = {{.name = "dp", .size = 2}, {.name = "tp", .size = 3}};
  return settings;
}

TEST(ChooseClusterTest, TheTargetHasADefault) {
  EXPECT_EQ(Chosen(Asked("cpu", "", std::nullopt), {}), "cpu 1");
  EXPECT_EQ(Chosen(Asked("cuda", "", std::nullopt), {}), "h100x8 1");
  EXPECT_EQ(Chosen(Asked("cuda", "", 16), {}), "h100x8 16");
}

TEST(ChooseClusterTest, TheCommandLineWinsOverTheModel) {
  EXPECT_EQ(Chosen(Asked("cpu", "", std::nullopt), OfDevices(4)), "cpu 4");
  EXPECT_EQ(Chosen(Asked("cpu", "", std::nullopt), OfMesh()), "cpu 6");
  EXPECT_EQ(Chosen(Asked("cpu", "", 2), OfDevices(4)), "cpu 2");
  EXPECT_EQ(Chosen(Asked("cpu", "h100x8", std::nullopt), {}), "h100x8 8");
  EXPECT_EQ(Chosen(Asked("cpu", "h100x8", std::nullopt), OfDevices(4)), "h100x8 4");
  EXPECT_EQ(Chosen(Asked("cpu", "h100x8*2", std::nullopt), OfDevices(4)), "h100x8*2 16");
  EXPECT_EQ(Chosen(Asked("cpu", "nonesuch", std::nullopt), {}), "E0606");
}

TEST(ChooseClusterTest, ModelsThatSayNothingAreForOneDeviceOrForTheCluster) {
  const auto otherwise = [](const std::string& cluster) {
    Diagnostics diagnostics;
    const CompileOptions options = Asked("cuda", cluster, std::nullopt);
    return DevicesAskedFor(options, *MachinesAskedFor(options, diagnostics));
  };
  EXPECT_EQ(otherwise(""), (search::DeviceCounts{.given = std::nullopt, .otherwise = 1}));
  EXPECT_EQ(otherwise("h100x8"), (search::DeviceCounts{.given = std::nullopt, .otherwise = 8}));
}

TEST(ChooseClusterTest, MatrixUnitsOfGpusTakeF32OnlyWhereItMayBeRounded) {
  search::Cluster cluster = search::CpuCluster(1);
  cluster.peak.tf32 = 5e9;
  EXPECT_EQ(ForTarget(cluster, "cuda", ir::Precision::kF32).peak.tf32, 0);
  EXPECT_EQ(ForTarget(cluster, "cuda", ir::Precision::kTf32), cluster);
  EXPECT_EQ(ForTarget(cluster, "cpu", ir::Precision::kF32), cluster);
}

TEST(ChooseClusterTest, CommunicatorsTakeMemoryOfGpusOnly) {
  search::Cluster cluster = search::CpuCluster(8);
  cluster.communicator = Bytes(1 << 20);
  EXPECT_EQ(ForTarget(cluster, "cuda", ir::Precision::kF32).communicator, Bytes(1 << 20));
  EXPECT_EQ(ForTarget(cluster, "cpu", ir::Precision::kF32).communicator, Bytes(0));
}

TEST(ChooseClusterTest, ACpuHasARateOfLoops) {
  search::Cluster cluster = search::CpuCluster(1);
  cluster.peak = {.f32 = 1e11};
  EXPECT_EQ(ForTarget(cluster, "cuda", ir::Precision::kF32), cluster);
  EXPECT_DOUBLE_EQ(ForTarget(cluster, "cpu", ir::Precision::kF32).peak.loops, 1.5e10);
  cluster.peak.loops = 3e10;
  EXPECT_EQ(ForTarget(cluster, "cpu", ir::Precision::kF32), cluster);
}

}  // namespace
}  // namespace cleave::tools
