// A rank table: it is refused, or it names a device for each rank.
#include "runtime/placement/rank_table.h"

#include <cstdlib>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = cleave::runtime::ParseRankTable(cleave::tests::fuzz::Text(data, size), "table.json");
  if (table.ok() ? table.value().ranks.empty() : table.error().message.empty()) std::abort();
  if (!table.ok()) return 0;
  for (const auto& rank : table.value().ranks) {
    if (rank.server.empty() || rank.device.empty()) std::abort();
  }
  return 0;
}
