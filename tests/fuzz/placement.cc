// The environment of a rank, a variable a line: it is refused, or it says which of how many ranks this one is.
#include "runtime/placement/placement.h"

#include <cstdlib>

#include "tests/fuzz/input.h"

namespace {

// Not RANK_TABLE_FILE: whatever path it names would be read.
constexpr const char* kVariables[] = {"CLEAVE_JOIN_TIMEOUT", "CLEAVE_LOCAL_RANK",  "CLEAVE_PORT",  "CLEAVE_SCHEDULER",
                                      "LOCAL_RANK",          "MASTER_ADDR",        "MASTER_PORT",  "RANK",
                                      "SLURM_JOB_NODELIST",  "SLURM_LOCALID",      "SLURM_NTASKS", "SLURM_PROCID",
                                      "WORLD_SIZE",          "SLURM_STEP_NODELIST"};

void SetVariables(const std::string& text) {
  for (const char* const name : kVariables) unsetenv(name);
  for (const std::string& line : cleave::tests::fuzz::Split(text, '\n')) {
    const size_t equals = line.find('=');
    for (const char* const name : kVariables) {
      if (line.substr(0, equals) == name && equals != std::string::npos) setenv(name, line.c_str() + equals + 1, 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  SetVariables(cleave::tests::fuzz::Text(data, size));
  JoinTimeout();
  const auto placement = FindPlacement();
  if (!placement.ok()) {
    if (placement.error().message.empty()) std::abort();
    return 0;
  }
  if (!placement.value().has_value()) return 0;
  const Placement& found = *placement.value();
  if (found.rank.has_value() && (*found.rank < 0 || *found.rank >= found.ranks.value())) std::abort();
  const auto address = ParseAddress(ToString(found.meeting));
  if (found.has_scheduler && (!address.has_value() || address->port != found.meeting.port)) std::abort();
  return 0;
}
