#include "runtime/json/trace_events.h"

#include <cinttypes>
#include <cmath>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

constexpr struct {
  Track track;
  const char* name;
} kTracks[] = {{Track::kSteps, "steps"},       {Track::kMicroBatches, "micro-batches"},
               {Track::kKernels, "kernels"},   {Track::kCollectives, "collectives"},
               {Track::kMessages, "messages"}, {Track::kCopies, "copies"}};

constexpr int kNumbersOfProcess = 10;

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

// The format has microseconds.
std::string MicrosecondsText(int64_t nanoseconds) {
  return Format("%" PRId64 ".%03d", nanoseconds / 1000, static_cast<int>(nanoseconds % 1000));
}

}  // namespace

const char* TimelineName(Timeline timeline) { return timeline == Timeline::kPredicted ? "predicted" : "measured"; }

// Both timelines of a rank stand below one another where they are shown together. Perfetto takes the thread with the
// number of its process for the main one, and threads of different processes with one number may become one: so all
// numbers of processes and threads differ.
TraceEvents::TraceEvents(Timeline timeline, int rank)
    : process_(kNumbersOfProcess * (1 + 2 * rank + (timeline == Timeline::kPredicted))) {
  const auto add = [this](const char* what, int thread, const std::string& arguments) {
    text_ += Format("%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{%s}}", text_.empty() ? "" : ",\n",
                    process_, thread, what, arguments.c_str());
  };
  add("process_name", process_, Format("\"name\":\"rank %d, %s\"", rank, TimelineName(timeline)));
  add("process_sort_index", process_, Format("\"sort_index\":%d", process_));
  for (const auto& [track, name] : kTracks) {
    add("thread_name", Thread(track), Format("\"name\":\"%s\"", name));
    add("thread_sort_index", Thread(track), Format("\"sort_index\":%d", Thread(track)));
  }
}

void TraceEvents::Begin(const char* kind, Track track, double at) {
  text_ += Format(",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s", kind, process_, Thread(track),
                  MicrosecondsText(Nanoseconds(at)).c_str());
  ++count_;
}

void TraceEvents::End(const std::string& name, const std::string& category, const JsonObject* arguments) {
  text_ += ",\"name\":\"" + JsonEscaped(name) + "\"";
  if (!category.empty()) text_ += ",\"cat\":\"" + JsonEscaped(category) + "\"";
  if (arguments != nullptr) text_ += ",\"args\":" + arguments->Text();
  text_ += "}";
}

void TraceEvents::Bar(Track track, const std::string& name, const std::string& category, double begin, double end,
                      const JsonObject& arguments) {
  const int64_t length = Nanoseconds(end) - Nanoseconds(begin);
  if (length == 0) return;  // Viewers would put the next bar, which begins at the same time, inside of it.
  Begin("X", track, begin);
  text_ += ",\"dur\":" + MicrosecondsText(length);
  End(name, category, &arguments);
}

void TraceEvents::Count(const std::string& name, double at, const JsonObject& values) {
  Begin("C", Track::kSteps, at);
  End(name, "", &values);
}

int64_t TraceEvents::BeginFlow(Track track, double at) {
  const int64_t flow = (int64_t{process_} << 24) + flows_++;  // Less than 2^53, so that scripts can read it.
  Begin("s", track, at);
  text_ += Format(",\"id\":%" PRId64, flow);
  End("reads", "flow", nullptr);
  return flow;
}

void TraceEvents::EndFlow(int64_t flow, Track track, double at) {
  Begin("f", track, at);
  text_ += Format(",\"bp\":\"e\",\"id\":%" PRId64, flow);
  End("reads", "flow", nullptr);
}

std::string TraceBegin(Timeline timeline) {
  return Format("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":\"cleave-trace\",\"timeline\":\"%s\"",
                TimelineName(timeline));
}

std::string TraceText(Timeline timeline, const JsonObject& facts, const std::vector<std::string>& ranks) {
  std::string text = TraceBegin(timeline) + ",\"facts\":" + facts.Text() + "},\"traceEvents\":[\n";
  for (size_t rank = 0; rank < ranks.size(); ++rank) text += (rank == 0 ? "" : ",\n") + ranks[rank];
  return text + "\n]}\n";
}

}  // namespace cleave::runtime
