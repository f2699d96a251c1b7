#include "tools/calibrate/hosts.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"
#include "runtime/placement/rank_table.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostRanks = 1 << 16;

// Hosts with their numbers of ranks, in order.
absl::StatusOr<codegen::HostsToMeasure> EqualHosts(const std::vector<std::pair<std::string, int64_t>>& hosts) {
  if (hosts.empty()) return absl::InvalidArgumentError("no host is named");
  std::set<std::string> names;
  for (const auto& [name, ranks] : hosts) {
    if (!names.insert(name).second) return absl::InvalidArgumentError(absl::StrCat("host `", name, "` occurs twice"));
    if (ranks != hosts[0].second) {
      return absl::InvalidArgumentError(absl::StrCat("host `", hosts[0].first, "` has ",
                                                     Plural(hosts[0].second, "rank"), " and host `", name, "` ", ranks,
                                                     ": a cluster file describes equal hosts"));
    }
  }
  const auto count = static_cast<int64_t>(hosts.size());
  if (count * hosts[0].second > kMostRanks) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMostRanks, " ranks are named"));
  }
  return codegen::HostsToMeasure{.hosts = count, .ranks_on_host = hosts[0].second};
}

}  // namespace

absl::StatusOr<codegen::HostsToMeasure> ParseHosts(absl::string_view text) {
  std::vector<std::pair<std::string, int64_t>> hosts;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    absl::string_view slots = words.size() > 1 ? words[1] : "slots=1";
    int64_t ranks = 0;
    if (words.size() > 2 || !absl::ConsumePrefix(&slots, "slots=") || !absl::SimpleAtoi(slots, &ranks) || ranks < 1 ||
        ranks > kMostRanks) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected a host as in `node1 slots=4`, found `", line, "`"));
    }
    hosts.emplace_back(words[0], ranks);
  }
  return EqualHosts(hosts);
}

absl::StatusOr<codegen::HostsToMeasure> ReadTableOfHosts(const std::string& path) {
  const runtime::Result<runtime::RankTable> table = runtime::ReadRankTable(path);
  if (!table.ok()) return absl::InvalidArgumentError(table.error().message);
  std::vector<std::pair<std::string, int64_t>> hosts;
  for (const runtime::RankTable::Device& rank : table.value().ranks) {
    if (hosts.empty() || hosts.back().first != rank.server) hosts.emplace_back(rank.server, 0);
    ++hosts.back().second;
  }
  return EqualHosts(hosts);
}

}  // namespace cleave::tools
