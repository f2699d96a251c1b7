#include "search/model/cluster/cluster_json.h"

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "search/model/cluster/presets.h"

namespace cleave::search {
namespace {

constexpr char kLab[] = R"({
  "format": "cleave-cluster", "version": 1, "name": "lab",
  "hosts": ["node1", "node2"],
  "device": {"peak": {"f32": "19.5TFLOP/s", "tf32": "156TFLOP/s", "loops": "3TFLOP/s"}, "memory": "80GiB", "memory_bandwidth": "2TB/s",
             "caches": [{"bytes": "40MiB", "bandwidth": "5TB/s"}], "input_bandwidth": "6GB/s",
             "matrix_efficiency": [{"flops": "0FLOP", "share": 0.1}, {"flops": "1GFLOP", "share": 0.6}],
             "kernel_floor": "7us", "host_bandwidth": "26GB/s", "overlap_slowdown": 1.2},
  "links": [{"name": "host", "count": 4, "bandwidth": "300GB/s", "latency": "46us", "one_way_ratio": 0.9,
             "groups": [{"ranks": 2, "latency": "46us", "bus_bandwidth": "193GB/s"}],
             "ramp": {"ranks": 2, "points": [{"bytes": "1MiB", "bus_bandwidth": "20GB/s"}]},
             "switch_reduction": {"from_ranks": 3, "bus_bandwidth": "250GB/s"}}],
  "network": {"bandwidth": "25GB/s", "latency": "150us", "latency_per_doubling": "100us"}
})";

// The message for kLab with `from` replaced by `to`, without its place; "accepted" if there is none.
std::string MessageOf(absl::string_view from, absl::string_view to) {
  const std::string text = absl::StrReplaceAll(kLab, {{from, to}});
  EXPECT_NE(text, kLab) << from;
  const absl::StatusOr<Machines> machines = ParseClusterJson(text);
  if (machines.ok()) return "accepted";
  const std::string message(machines.status().message());
  EXPECT_EQ(message.substr(0, 5), "line ") << message;
  return message.substr(message.find(": ") + 2);
}

TEST(ParseClusterJsonTest, ReadsEveryField) {
  const absl::StatusOr<Machines> machines = ParseClusterJson(kLab);
  ASSERT_TRUE(machines.ok()) << machines.status();
  EXPECT_EQ(machines->hosts, 2);
  EXPECT_EQ(machines->devices(), 8);
  const Cluster& host = machines->host;
  EXPECT_EQ(host.name, "lab");
  EXPECT_EQ(host.peak, (PeakRates{.f32 = 19.5e12, .tf32 = 156e12, .bf16 = 0, .fp8 = 0, .loops = 3e12}));
  EXPECT_EQ(host.memory_per_device, Bytes(int64_t{80} << 30));
  EXPECT_EQ(host.memory_bytes_per_second, 2e12);
  EXPECT_EQ(host.caches, (std::vector<Cache>{{.bytes = Bytes(40 << 20), .bytes_per_second = 5e12}}));
  EXPECT_EQ(host.input_bytes_per_second, 6e9);
  EXPECT_EQ(host.matrix_efficiency[1], (EfficiencyPoint{.flops = Flops(1e9), .share = 0.6}));
  EXPECT_DOUBLE_EQ(host.kernel_floor.value(), 7e-6);
  EXPECT_DOUBLE_EQ(host.host_bytes_per_second, 26e9);
  EXPECT_EQ(host.overlap_slowdown, 1.2);
  ASSERT_EQ(host.links.size(), 1u);
  const Link& link = host.links[0];
  EXPECT_EQ(link.count, 4);
  EXPECT_EQ(link.bytes_per_second, 300e9);
  EXPECT_EQ(link.one_way_ratio, 0.9);
  EXPECT_EQ(link.groups[0].ranks, 2);
  EXPECT_EQ(link.groups[0].bytes_per_second, 193e9);
  EXPECT_EQ(link.ramp.ranks, 2);
  EXPECT_EQ(link.ramp.points[0], (RampPoint{.bytes = Bytes(1 << 20), .bytes_per_second = 20e9}));
  EXPECT_EQ(link.switch_reduction->from_ranks, 3);
  EXPECT_EQ(machines->network.bytes_per_second, 25e9);
  EXPECT_DOUBLE_EQ(machines->network.latency_per_doubling.value(), 100e-6);
}

TEST(ParseClusterJsonTest, RefusesQuantitiesThatCannotBe) {
  EXPECT_EQ(MessageOf("\"25GB/s\"", "\"0GB/s\""), "network.bandwidth: zero is not possible here");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "\"-25GB/s\""),
            "network.bandwidth: \"-25GB/s\" is negative; expected one like \"450GB/s\"");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "\"NaN GB/s\""),
            "network.bandwidth: \"NaN GB/s\" is not a finite number; expected one like \"450GB/s\"");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "NaN"), "not valid JSON");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "25"), "network.bandwidth: the number 25 has no unit");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "\"25\""), "network.bandwidth: \"25\" has no unit; expected one like \"450GB/s\"");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "null"), "network.bandwidth: expected a number with its unit, as a string");
  EXPECT_EQ(MessageOf("\"80GiB\"", "\"1e30PB\""), "device.memory: more than 1e18 bytes");
  EXPECT_EQ(MessageOf("\"193GB/s\"", "\"0B/s\""), "links[0].groups[0].bus_bandwidth: zero is not possible here");
  EXPECT_EQ(MessageOf("\"20GB/s\"", "\"20GB\""),
            "links[0].ramp.points[0].bus_bandwidth: \"20GB\" has an unknown unit; expected one like \"450GB/s\"");
}

TEST(ParseClusterJsonTest, MistakesHaveAPlace) {
  EXPECT_EQ(
      ParseClusterJson(absl::StrReplaceAll(kLab, {{"\"20GB/s\"", "\"20GB\""}})).status().message(),
      "line 10, column 81: links[0].ramp.points[0].bus_bandwidth: \"20GB\" has an unknown unit; expected one like "
      "\"450GB/s\"");
  EXPECT_EQ(ParseClusterJson(absl::StrReplaceAll(kLab, {{"\"network\":", "\"netwrok\":"}})).status().message(),
            "line 12, column 14: cluster: unknown field \"netwrok\"");
}

TEST(ParseClusterJsonTest, RefusesFieldsThatDoNotBelong) {
  EXPECT_EQ(MessageOf("\"network\":", "\"netwrok\":"), "cluster: unknown field \"netwrok\"");
  EXPECT_EQ(MessageOf("\"count\": 4,", ""), "links[0]: the field \"count\" is missing");
  EXPECT_EQ(MessageOf("\"count\": 4,", "\"count\": 4, \"count\": 8,"), "the key \"count\" occurs twice in one object");
  EXPECT_EQ(MessageOf("\"version\": 1", "\"version\": 2"), "cluster.version: this version reads 1, found 2");
  EXPECT_EQ(MessageOf("cleave-cluster", "cleave-plan"),
            "cluster.format: expected \"cleave-cluster\", found \"cleave-plan\"");
  EXPECT_EQ(MessageOf("\"name\": \"lab\"", "\"name\": \"h100x8*2\""),
            "name: `h100x8*2` is a preset; take another name");
  EXPECT_EQ(MessageOf("\"name\": \"lab\"", "\"name\": \"\""), "name: expected a name");
}

TEST(ParseClusterJsonTest, CommentsAreOnWhatIsThere) {
  const auto with_comment = [](const std::string& place) {
    return MessageOf("\"name\": \"lab\"", "\"name\": \"lab\", \"comments\": {\"" + place + "\": \"as measured\"}");
  };
  for (const char* place :
       {"device.peak.f32", "device.caches[0]", "links[0].groups[0].latency", "network", "hosts[1]"}) {
    EXPECT_EQ(with_comment(place), "accepted");
  }
  for (const std::string place :
       {"device.peak.f16", "device.caches[1]", "links[0", "links[].name", "device[0]", "", "."}) {
    EXPECT_EQ(with_comment(place), "comments: there is no \"" + place + "\" in this file");
  }
  EXPECT_EQ(MessageOf("\"name\": \"lab\"", "\"name\": \"lab\", \"comments\": {\"name\": 1}"),
            "comments: expected a text about \"name\"");
  EXPECT_EQ(MessageOf("\"name\": \"lab\"", "\"name\": \"lab\", \"comments\": []"), "comments: expected an object");
}

TEST(ClusterJsonTest, HasNamesAndComments) {
  const Machines lab = *ParseClusterJson(kLab);
  const std::string text = ClusterJson(
      lab, {.hosts = {"node1", "node2"}, .comments = {{"network", "one card a host"}, {"links[0]", "\"quoted\""}}});
  EXPECT_TRUE(absl::StrContains(text, "\"node2\"")) << text;
  EXPECT_TRUE(absl::StrContains(text, "\"one card a host\"")) << text;
  const absl::StatusOr<Machines> again = ParseClusterJson(text);
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ(*again, lab);
}

TEST(ParseClusterJsonTest, RefusesMachinesThatCannotBe) {
  EXPECT_EQ(MessageOf("\"node2\"", "\"node1\""), "hosts: the host \"node1\" is given twice");
  EXPECT_EQ(MessageOf("[\"node1\", \"node2\"]", "[]"), "hosts: expected a list with at least one entry");
  EXPECT_EQ(MessageOf("[\"node1\", \"node2\"]", "[\"node1\"]"),
            "network: there is one host, which has no network to cross");
  EXPECT_EQ(MessageOf("\"count\": 4", "\"count\": 0"), "cluster: the count of link `host` is not greater than zero: 0");
  EXPECT_EQ(MessageOf("\"count\": 4", "\"count\": 9000000000000000000"),
            "cluster: the number of devices is more than 2^20: 9e+18");
  EXPECT_EQ(MessageOf("\"25GB/s\"", "\"900GB/s\""),
            "cluster: link `host` is slower than the one before it; the slowest comes first");
  EXPECT_EQ(MessageOf("\"share\": 0.6", "\"share\": 1.6"),
            "cluster: a matrix efficiency is not a share between 0 and 1: 1.6");
  EXPECT_EQ(MessageOf("\"name\": \"host\"", "\"name\": \"network\""),
            "links[0]: the link between hosts is given as \"network\" of the file");
}

TEST(ParseClusterJsonTest, TakesTheExampleOfItsPage) {
  std::ifstream in("docs/formats/cluster.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const size_t begin = text.find("```json\n"), end = text.find("```\n", begin + 1);
  ASSERT_NE(end, std::string::npos);
  const absl::StatusOr<Machines> machines = ParseClusterJson(text.substr(begin + 8, end - begin - 8));
  ASSERT_TRUE(machines.ok()) << machines.status();
  EXPECT_EQ(machines->devices(), 16);
}

TEST(ClusterJsonTest, ReadsBack) {
  for (const std::string& name : PresetNames()) {
    Machines preset = *FindPreset(name);
    preset.hosts = 3;
    Cluster& host = preset.host;
    host.name = "copy";
    const std::string text = ClusterJson(preset);
    const absl::StatusOr<Machines> machines = ParseClusterJson(text);
    ASSERT_TRUE(machines.ok()) << machines.status() << text;
    EXPECT_EQ(ClusterJson(*machines), text);
    EXPECT_EQ(machines->hosts, 3);
    EXPECT_NEAR(machines->network.bytes_per_second, preset.network.bytes_per_second, 1e-3);
    EXPECT_EQ(machines->network.groups.size(), preset.network.groups.size());
    ASSERT_EQ(machines->host.links.size(), host.links.size());
    for (size_t i = 0; i < host.links.size(); ++i) {
      EXPECT_NEAR(machines->host.links[i].bytes_per_second, host.links[i].bytes_per_second, 1e-3);
      EXPECT_EQ(machines->host.links[i].groups.size(), host.links[i].groups.size());
      EXPECT_EQ(machines->host.links[i].switch_reduction.has_value(), host.links[i].switch_reduction.has_value());
      EXPECT_EQ(machines->host.links[i].ramp.points.size(), host.links[i].ramp.points.size());
    }
    EXPECT_EQ(machines->host.memory_per_device, host.memory_per_device);
    EXPECT_EQ(machines->host.matrix_efficiency.size(), host.matrix_efficiency.size());
  }
}

}  // namespace
}  // namespace cleave::search
