#include "runtime/train/measured.h"

#include <cinttypes>
#include <cstdlib>
#include <string>

#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"
#include "runtime/error/warning.h"

namespace cleave::runtime {

void MeasureRun(Comm& comm, const TrainingProgram& program, ExitCode code, int64_t copy_bytes, int64_t data_bytes,
                RunRecord& record) {
  double sent = 0;
  for (const Traffic& traffic : comm.traffic()) sent += traffic.sent_bytes;
  const int64_t memory = program.ArenaBytes() + WorkspaceBytes().peak + (TensorsAreOnHost() ? copy_bytes : 0);
  const int64_t on_host = program.HostBytes() + (TensorsAreOnHost() ? 0 : copy_bytes);
  record.exit = static_cast<int>(code);
  record.traffic = comm.traffic();
  record.fallbacks = Fallbacks();
  // The host cannot measure how long a GPU communicates, because it only asks for the work.
  record.communication_is_timed = TensorsAreOnHost();
  if (!record.communication_is_timed) {
    record.communication_seconds = 0;
    for (Traffic& traffic : record.traffic) traffic.seconds = 0;
  }
  const std::string mine = Format("%" PRId64 " %" PRId64 " %" PRId64 " %.17g", memory, on_host, data_bytes, sent);
  for (const std::string& text : comm.GatherText(mine)) {
    char* end = nullptr;
    record.peak_memory_bytes.push_back(std::strtoll(text.c_str(), &end, 10));
    record.host_memory_bytes.push_back(std::strtoll(end, &end, 10));
    record.data_bytes.push_back(std::strtoll(end, &end, 10));
    record.sent_bytes.push_back(std::strtod(end, nullptr));
  }
}

}  // namespace cleave::runtime
