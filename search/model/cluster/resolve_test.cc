#include "search/model/cluster/resolve.h"

#include <fstream>

#include "gtest/gtest.h"
#include "search/model/cluster/cluster_json.h"
#include "search/model/cluster/presets.h"

namespace cleave::search {
namespace {

// The cluster's name and devices, or the first diagnostic: code, message, notes and help.
std::string Outcome(const std::string& name, std::optional<int64_t> devices) {
  Diagnostics diagnostics;
  const std::optional<Machines> machines = FindMachines(name, diagnostics);
  const std::optional<Cluster> cluster =
      machines ? ResolveCluster({.name_or_path = name, .devices = devices}, *machines, diagnostics) : std::nullopt;
  if (cluster.has_value()) return cluster->name + " " + std::to_string(cluster->devices());
  const Diagnostic& error = diagnostics.items().at(0);
  std::string text = std::string(CodeName(error.code)) + ": " + error.message;
  for (const std::string& note : error.notes) text += "; " + note;
  for (const std::string& help : error.help) text += "; " + help;
  return text;
}

TEST(ResolveClusterTest, TakesPresets) {
  EXPECT_EQ(Outcome("cpu", std::nullopt), "cpu 1");
  EXPECT_EQ(Outcome("cpu", 7), "cpu 7");
  EXPECT_EQ(Outcome("cpu*2", std::nullopt), "cpu*2 2");
  EXPECT_EQ(Outcome("h100x8", std::nullopt), "h100x8 8");
  EXPECT_EQ(Outcome("h100x8", 64), "h100x8 64");
  EXPECT_EQ(Outcome("h100x8*4", std::nullopt), "h100x8*4 32");
}

TEST(ResolveClusterTest, TheModelCountsWhereTheClusterDoesNotSay) {
  const auto devices = [](const std::string& name) {
    Diagnostics diagnostics;
    const ClusterRequest request{.name_or_path = name, .devices = std::nullopt, .model_devices = 4};
    return ResolveCluster(request, *FindPreset(name), diagnostics)->devices();
  };
  EXPECT_EQ(devices("cpu"), 4);
  EXPECT_EQ(devices("cpu*2"), 4);
  EXPECT_EQ(devices("h100x8"), 4);
  EXPECT_EQ(devices("h100x8*4"), 32);
}

TEST(CountDevicesTest, SaysWhatTheModelCanStillDecide) {
  const auto counts = [](const std::string& name, std::optional<int64_t> devices) {
    return CountDevices({.name_or_path = name, .devices = devices}, *FindPreset(name));
  };
  EXPECT_EQ(counts("cpu", std::nullopt), (DeviceCounts{.given = std::nullopt, .otherwise = 1}));
  EXPECT_EQ(counts("h100x8", std::nullopt), (DeviceCounts{.given = std::nullopt, .otherwise = 8}));
  EXPECT_EQ(counts("h100x8*4", std::nullopt), (DeviceCounts{.given = 32, .otherwise = 32}));
  EXPECT_EQ(counts("h100x8", 16).given, 16);
}

TEST(ResolveClusterTest, NamesTheNearestDevices) {
  EXPECT_EQ(Outcome("h100x8", 12),
            "E0608: cluster `h100x8` cannot be 12 devices; it is part of a host, or whole hosts of 8 devices; "
            "nearest: `--devices 8` or `--devices 16`");
  EXPECT_EQ(Outcome("h100x8*2", 24),
            "E0608: cluster `h100x8*2` cannot be 24 devices; it is part of a host, or whole hosts of 8 devices, 16 in "
            "all; nearest: `--devices 16`");
  EXPECT_EQ(Outcome("cpu*3", 1),
            "E0608: cluster `cpu*3` cannot be 1 device; it has 3 hosts of equal size; nearest: `--devices 3`");
}

TEST(ResolveClusterTest, NamesTheNearestPreset) {
  const std::string presets =
      "; presets are `cpu`, `v100x8`, `a100x8`, `h100x8`, `h200x8`, `b200x8` and `ascend910x8`, with a number of hosts "
      "as in `ascend910x8*4`";
  EXPECT_EQ(Outcome("h10x8*2", 8),
            "E0606: unknown cluster `h10x8*2`" + presets + "; did you mean `--cluster h100x8*2`?");
  EXPECT_EQ(Outcome("h100x8*0", 8),
            "E0606: unknown cluster `h100x8*0`" + presets + "; did you mean `--cluster h100x8`?");
  EXPECT_EQ(Outcome("mainframe", 8),
            "E0606: unknown cluster `mainframe`" + presets + "; take a preset, or name a file: `--cluster FILE.json`");
}

TEST(ResolveClusterTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "/lab.json";
  Cluster host = FindPreset("a100x8")->host;
  host.name = "lab";
  std::ofstream(path) << ClusterJson({.host = host, .hosts = 1});
  EXPECT_EQ(Outcome(path, std::nullopt), "lab 8");
  EXPECT_EQ(Outcome(path, 2), "lab 2");
  EXPECT_EQ(Outcome(path, 16).substr(0, 5), "E0608");
  std::ofstream(path) << "{\"format\": 1}";
  EXPECT_EQ(Outcome(path, 8), "E0607: the cluster file `" + path +
                                  "` cannot be used; line 1, column 1: cluster: the field \"device\" is missing");
  EXPECT_EQ(Outcome("no/such.json", 8), "E0607: cannot read `no/such.json`: no such file or directory");
  EXPECT_EQ(Outcome("/dev/zero", 8), "E0607: `/dev/zero` is a device, not a cluster file");
}

}  // namespace
}  // namespace cleave::search
