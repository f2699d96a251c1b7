#include "runtime/train/redistributions.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/file/file.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostListBytes = int64_t{64} << 20;

bool IsAskedFor() {
  const char* log = std::getenv("CLEAVE_LOG");
  return log != nullptr && std::string(log) == "reshard";
}

int64_t BytesOf(const Comm& comm) {
  int64_t bytes = 0;
  for (const Traffic& traffic : comm.traffic()) bytes += traffic.bytes;
  return bytes;
}

}  // namespace

std::string WithMeasured(const std::string& list, const std::map<std::string, Measured>& measured) {
  std::string text;
  std::map<std::string, Measured> uncounted = measured;
  int64_t total_runs = 0, total_bytes = 0;
  for (size_t next = 0; next < list.size();) {
    const size_t end_of_line = std::min(list.find('\n', next), list.size());
    const std::string line = list.substr(next, end_of_line - next);
    next = end_of_line + 1;
    if (line.rfind("total: ", 0) == 0) {
      text += line + Format("; measured %" PRId64 " B in %" PRId64 " runs\n", total_bytes, total_runs);
      continue;
    }
    // "tensor: from -> to; operation; operation; phase, place"
    for (size_t begin = 0; begin < line.size();) {
      const size_t end = std::min(line.find("; ", begin), line.size());
      const std::string part = line.substr(begin, end - begin);
      const size_t name = part.rfind(" B as ");
      text += (begin > 0 ? "; " : "") + part;
      if (name != std::string::npos) {
        const std::string op = part.substr(name + 6);
        const auto found = measured.find(op);
        const Measured what = found == measured.end() ? Measured() : found->second;
        text +=
            Format(", measured %" PRId64 " x %" PRId64 " B", what.runs, what.runs == 0 ? 0 : what.bytes / what.runs);
        // A merged collective is listed in several lines.
        if (uncounted.erase(op) > 0) {
          total_runs += what.runs;
          total_bytes += what.bytes;
        }
      }
      begin = end + 2;
    }
    text += "\n";
  }
  return text;
}

RedistributionLog::RedistributionLog(const Comm& comm, Watch& watch, std::string folder)
    : comm_(comm), watch_(watch), folder_(std::move(folder)), on_(IsAskedFor() && comm.rank() == 0) {
  if (!on_) return;
  bytes_ = BytesOf(comm_);
  watch_.TellOf(this);
}

RedistributionLog::~RedistributionLog() {
  if (on_) watch_.TellOf(nullptr);
}

void RedistributionLog::EndOf(OpName op, int) {
  const int64_t bytes = BytesOf(comm_);
  Measured& measured = measured_[op.ToString()];
  ++measured.runs;
  measured.bytes += bytes - std::exchange(bytes_, bytes);
}

void RedistributionLog::Print() {
  if (!on_) return;
  on_ = false;
  watch_.TellOf(nullptr);
  const std::string path = folder_ + "/" + kRedistributionsFile;
  const Result<std::vector<uint8_t>> list = ReadFile(path, kMostListBytes);
  if (list.ok()) {
    const std::string text(list.value().begin(), list.value().end());
    std::printf("redistributions of a step, measured on rank 0:\n%s", WithMeasured(text, measured_).c_str());
  } else {
    std::fprintf(stderr, "warning: CLEAVE_LOG=reshard: %s; a compile writes it\n", list.error().message.c_str());
  }
  std::fflush(stdout);
}

}  // namespace cleave::runtime
