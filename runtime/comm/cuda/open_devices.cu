#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/comm/cuda/open_devices.h"
#include "runtime/device/device.h"

namespace cleave::runtime {
namespace {

std::vector<std::string> GatherTexts(Comm::Impl& job, const std::string& mine) {
  if (job.transport == nullptr || job.groups[0].group.size == 1) return {mine};
  std::vector<std::string> texts;
  job.Check(job.transport->GatherText(mine, texts, job.groups[0].group), CollectiveKind::kAllGather);
  return texts;
}

DeviceRequest RequestOf(Comm::Impl& job, bool shared) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::vector<std::string> hosts = GatherTexts(job, name);
  const auto me = hosts.begin() + job.rank;
  DeviceRequest request;
  request.local_rank = static_cast<int>(std::count(hosts.begin(), me, *me));
  request.ranks_on_host = static_cast<int>(std::count(hosts.begin(), hosts.end(), *me));
  request.shared = shared;
  return request;
}

// An identity is an ID, a space, and what a user calls the GPU.
std::optional<Error> FindSharedDevice(const std::vector<std::string>& identities) {
  for (size_t rank = 0; rank < identities.size(); ++rank) {
    const size_t first =
        static_cast<size_t>(std::find(identities.begin(), identities.end(), identities[rank]) - identities.begin());
    if (first == rank) continue;
    const std::string& identity = identities[rank];
    return Error{ExitCode::kEnvironment,
                 Format("ranks %zu and %zu would share %s: a rank needs a GPU of its own (`make COMM=local` builds a "
                        "program whose ranks share one)",
                        first, rank, identity.substr(identity.find(' ') + 1).c_str())};
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> GatherResults(Comm::Impl& job, const Result<std::string>& mine) {
  // The first character says whether a text is a value or an error.
  const std::vector<std::string> texts =
      GatherTexts(job, mine.ok() ? "+" + mine.value()
                                 : Format("-%d %s", static_cast<int>(mine.error().code), mine.error().message.c_str()));
  const bool same = std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return text == texts[0]; });
  std::vector<std::string> values;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string& text = texts[rank];
    if (text[0] == '+') {
      values.push_back(text.substr(1));
      continue;
    }
    const std::string message = text.substr(text.find(' ') + 1);
    return Error{static_cast<ExitCode>(std::atoi(text.c_str() + 1)),
                 same ? message : Format("rank %zu: %s", rank, message.c_str())};
  }
  return values;
}

std::optional<Error> OpenDevices(Comm::Impl& job, bool shared) {
  const std::optional<Error> error = OpenDevice(RequestOf(job, shared));
  const Result<std::vector<std::string>> identities =
      GatherResults(job, error.has_value() ? Result<std::string>(*error) : Result<std::string>(DeviceIdentity()));
  if (!identities.ok()) return identities.error();
  return shared ? std::nullopt : FindSharedDevice(identities.value());
}

}  // namespace cleave::runtime
