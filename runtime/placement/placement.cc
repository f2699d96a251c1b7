#include "runtime/placement/placement.h"

#include <cstdlib>
#include <utility>

#include "runtime/placement/node_list.h"
#include "runtime/placement/number.h"
#include "runtime/placement/rank_table.h"

namespace cleave::runtime {
namespace {

constexpr int kLargestPort = 65535;
constexpr double kDefaultJoinTimeout = 60;
constexpr size_t kLongestSecret = 1000;

// A variable that is not empty.
std::optional<std::string> Variable(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

Error Wrong(std::string message) { return {ExitCode::kInput, std::move(message)}; }

// A variable that must be there and hold a whole number from `low` to `high`; `partner` is the one that asks for it.
Result<int> NumberVariable(const char* name, const char* partner, int low, int high) {
  const std::optional<std::string> text = Variable(name);
  if (!text.has_value())
    return Wrong(Format("%s is set and %s is not: both say which rank this process is", partner, name));
  const std::optional<int> number = WholeNumber(*text);
  if (!number.has_value() || *number < low || *number > high) {
    return Wrong(Format("%s is `%s`, and must be a whole number from %d to %d", name, text->c_str(), low, high));
  }
  return *number;
}

// A variable that may be missing (-1).
Result<int> OptionalNumber(const char* name) {
  if (!Variable(name).has_value()) return -1;
  return NumberVariable(name, name, 0, 999999999);
}

Result<int> MeetingPort() {
  if (!Variable("CLEAVE_PORT").has_value()) return kDefaultPort;
  return NumberVariable("CLEAVE_PORT", "CLEAVE_PORT", 1, kLargestPort);
}

Result<std::optional<Placement>> FromScheduler() {
  const std::string text = *Variable("CLEAVE_SCHEDULER");
  const std::optional<Address> address = ParseAddress(text);
  if (!address.has_value()) {
    return Wrong(
        Format("CLEAVE_SCHEDULER is `%s`, and must be host:port, such as `10.0.0.1:%d`", text.c_str(), kDefaultPort));
  }
  const Result<int> local = OptionalNumber("CLEAVE_LOCAL_RANK");
  if (!local.ok()) return local.error();
  Placement placement;
  placement.source = Format("the scheduler at %s", ToString(*address).c_str());
  placement.local_rank = local.value();
  placement.meeting = *address;
  placement.has_scheduler = true;
  return std::optional<Placement>(placement);
}

Result<std::optional<Placement>> FromRankTable() {
  const std::string path = *Variable("RANK_TABLE_FILE");
  const Result<RankTable> table = ReadRankTable(path);
  if (!table.ok()) return table.error();
  const std::vector<RankTable::Device>& ranks = table.value().ranks;
  const Result<int> rank = NumberVariable("RANK_ID", "RANK_TABLE_FILE", 0, static_cast<int>(ranks.size()) - 1);
  if (!rank.ok()) return rank.error();
  const Result<int> port = MeetingPort();
  if (!port.ok()) return port.error();
  Placement placement;
  placement.source = Format("the rank table `%s`", path.c_str());
  placement.rank = rank.value();
  placement.ranks = static_cast<int>(ranks.size());
  placement.local_rank = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    placement.hosts.push_back(ranks[i].server);
    const bool is_before_on_same =
        static_cast<int>(i) < rank.value() && ranks[i].server == ranks[static_cast<size_t>(rank.value())].server;
    if (is_before_on_same) ++placement.local_rank;
  }
  placement.meeting = {ranks[0].server, port.value()};
  return std::optional<Placement>(placement);
}

// torchrun's and srun's variables: `names` are those of rank, ranks and local rank.
Result<Placement> FromNumbers(const char* rank_name, const char* ranks_name, const char* local_name) {
  const Result<int> ranks = NumberVariable(ranks_name, rank_name, 1, 1 << 20);
  if (!ranks.ok()) return ranks.error();
  const Result<int> rank = NumberVariable(rank_name, ranks_name, 0, ranks.value() - 1);
  if (!rank.ok()) return rank.error();
  const Result<int> local = OptionalNumber(local_name);
  if (!local.ok()) return local.error();
  Placement placement;
  placement.source = Format("%s", ranks_name);
  placement.rank = rank.value();
  placement.ranks = ranks.value();
  placement.local_rank = local.value();
  return placement;
}

Result<std::optional<Placement>> FromTorchrun() {
  Result<Placement> placement = FromNumbers("RANK", "WORLD_SIZE", "LOCAL_RANK");
  if (!placement.ok()) return placement.error();
  const std::optional<std::string> host = Variable("MASTER_ADDR");
  if (!host.has_value()) return Wrong("RANK and WORLD_SIZE are set and MASTER_ADDR, the host of rank 0, is not");
  const Result<int> port = NumberVariable("MASTER_PORT", "MASTER_ADDR", 1, kLargestPort);
  if (!port.ok()) return port.error();
  placement.value().meeting = {*host, port.value()};
  return std::optional<Placement>(placement.value());
}

Result<std::optional<Placement>> FromSlurm() {
  Result<Placement> placement = FromNumbers("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
  if (!placement.ok()) return placement.error();
  const char* name = "SLURM_STEP_NODELIST";
  if (!Variable(name).has_value()) name = "SLURM_JOB_NODELIST";
  const std::optional<std::string> list = Variable(name);
  if (!list.has_value()) {
    return Wrong("SLURM_PROCID is set and SLURM_STEP_NODELIST, whose first host is that of rank 0, is not");
  }
  const std::optional<std::string> host = FirstNode(*list);
  if (!host.has_value()) {
    return Wrong(Format("%s is `%s`, which is not a list of hosts such as `node[01-04,7]`", name, list->c_str()));
  }
  const Result<int> port = MeetingPort();
  if (!port.ok()) return port.error();
  placement.value().meeting = {*host, port.value()};
  return std::optional<Placement>(placement.value());
}

}  // namespace

std::string ToString(const Address& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return Format(is_ipv6 ? "[%s]:%d" : "%s:%d", address.host.c_str(), address.port);
}

std::optional<Address> ParseAddress(const std::string& text, int least_port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  const std::optional<int> port = WholeNumber(text.substr(colon + 1));
  if (!port.has_value() || *port < least_port || *port > kLargestPort) return std::nullopt;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return std::nullopt;
  }
  if (host.empty()) return std::nullopt;
  return Address{host, *port};
}

Result<std::optional<Placement>> FindPlacement() {
  if (Variable("CLEAVE_SCHEDULER").has_value()) return FromScheduler();
  if (Variable("RANK_TABLE_FILE").has_value()) return FromRankTable();
  if (Variable("RANK_ID").has_value()) return Wrong("RANK_ID is set and RANK_TABLE_FILE, the rank table, is not");
  if (Variable("RANK").has_value() || Variable("WORLD_SIZE").has_value()) return FromTorchrun();
  if (Variable("SLURM_PROCID").has_value()) return FromSlurm();
  return std::optional<Placement>();
}

Result<double> JoinTimeout() {
  const std::optional<std::string> text = Variable("CLEAVE_JOIN_TIMEOUT");
  if (!text.has_value()) return kDefaultJoinTimeout;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !(seconds > 0 && seconds <= 86400)) {
    return Error{
        ExitCode::kUsage,
        Format("CLEAVE_JOIN_TIMEOUT is `%s`, and must be a number of seconds above 0, at most a day", text->c_str())};
  }
  return seconds;
}

Result<std::string> JobSecret() {
  const std::string secret = Variable("CLEAVE_SECRET").value_or("");
  if (secret.size() <= kLongestSecret) return secret;
  return Error{ExitCode::kUsage,
               Format("CLEAVE_SECRET has %zu characters, and must have at most %zu", secret.size(), kLongestSecret)};
}

}  // namespace cleave::runtime
