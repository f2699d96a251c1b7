#include "runtime/launch/cores.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Long enough for loops that follow one another, and far shorter than a time slice.
constexpr char kSpins[] = "1000";

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The quota of one group: version 2 of control groups has both numbers in one file, "150000 100000" or "max 100000".
std::optional<double> QuotaOfGroup(const std::string& folder) {
  std::istringstream both(ReadText(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  if (!(both >> quota >> period)) {
    std::istringstream(ReadText(folder + "/cpu.cfs_quota_us")) >> quota;
    std::istringstream(ReadText(folder + "/cpu.cfs_period_us")) >> period;
  }
  return quota > 0 && period > 0 ? std::optional<double>(quota / period) : std::nullopt;
}

// "host quota 1101", without a quota "host - 1101".
std::string TextOf(const RankCores& rank) {
  std::string text = rank.host + " " + (rank.quota.has_value() ? Format("%.6f", *rank.quota) : "-") + " ";
  for (const bool is_mine : rank.cores) text += is_mine ? '1' : '0';
  return text;
}

RankCores FromText(const std::string& text) {
  std::istringstream parts(text);
  RankCores rank;
  std::string quota;
  std::string cores;
  parts >> rank.host >> quota >> cores;
  if (quota != "-") rank.quota = std::strtod(quota.c_str(), nullptr);
  for (const char core : cores) rank.cores.push_back(core == '1');
  return rank;
}

int CountOf(const std::vector<bool>& cores) { return static_cast<int>(std::count(cores.begin(), cores.end(), true)); }

}  // namespace

std::optional<double> QuotaOf(const std::string& groups, const std::string& root) {
  std::optional<double> least;
  const auto look = [&](const std::string& folder) {
    const std::optional<double> quota = QuotaOfGroup(folder);
    if (quota.has_value()) least = std::min(*quota, least.value_or(*quota));
  };
  // "0::/a/b" of version 2, "3:cpu,cpuacct:/a/b" of version 1.
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = line.substr(first + 1, second - first - 1);
    const bool is_cpu = ("," + kinds + ",").find(",cpu,") != std::string::npos;
    if (!kinds.empty() && !is_cpu) continue;
    const std::string mount = kinds.empty() ? root : root + "/cpu";
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/'))) look(mount + path);
    look(mount);
  }
  return least;
}

RankCores OwnCores() {
  RankCores own;
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  own.host = host;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &cores)) continue;
      own.cores.resize(static_cast<size_t>(core) + 1);
      own.cores.back() = true;
    }
  } else {
    // A machine with more cores than fit into such a set.
    own.cores.assign(static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))), true);
  }
  own.quota = QuotaOf(ReadText("/proc/self/cgroup"), "/sys/fs/cgroup");
  return own;
}

int ThreadsOf(const std::vector<RankCores>& ranks, size_t own) {
  std::vector<bool> together;
  int ranks_of_host = 0;
  for (const RankCores& rank : ranks) {
    if (rank.host != ranks[own].host) continue;
    ++ranks_of_host;
    together.resize(std::max(together.size(), rank.cores.size()));
    for (size_t core = 0; core < rank.cores.size(); ++core) together[core] = together[core] || rank.cores[core];
  }
  int threads = std::min(CountOf(ranks[own].cores), CountOf(together) / ranks_of_host);
  if (ranks[own].quota.has_value()) threads = std::min(threads, static_cast<int>(*ranks[own].quota) / ranks_of_host);
  return std::max(1, threads);
}

int ThreadsPerRank(Comm& comm) {
  std::vector<RankCores> ranks;
  for (const std::string& text : comm.GatherText(TextOf(OwnCores()))) ranks.push_back(FromText(text));
  return ThreadsOf(ranks, static_cast<size_t>(comm.rank()));
}

bool HasSpareCore(Comm& comm) { return ThreadsPerRank(comm) > omp_get_max_threads(); }

void SpinBriefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  if (threads != nullptr && std::strcmp(threads, "1") == 0) return;
  setenv("GOMP_SPINCOUNT", kSpins, 1);
  execv("/proc/self/exe", argv);
  // Where that is not possible, the threads spin.
}

}  // namespace cleave::runtime
