// Writes the steps of ranks as a timeline in the Trace Event Format, which chrome://tracing and Perfetto show: the
// predicted step of a plan, and the measured steps of a program, with the same names (docs/formats/trace.md).
//
//   TraceEvents events(Timeline::kMeasured, /*rank=*/0);
//   events.Bar(Track::kKernels, "h1.matmul", "products", 0.001, 0.003);
//   events.Bar(Track::kCollectives, "h1.matmul.all_reduce", "collectives", 0.003, 0.004);
//   const int64_t flow = events.BeginFlow(Track::kCollectives, 0.003);
//   events.Bar(Track::kKernels, "h1.relu", "loops", 0.004, 0.005);
//   events.EndFlow(flow, Track::kKernels, 0.004);
//   std::string text = TraceText(Timeline::kMeasured, {}, {events.Text()});
//
// Times are seconds, and are written as whole nanoseconds. The bars of a track do not overlap; what takes no nanosecond
// has none.
#ifndef CLEAVE_RUNTIME_JSON_TRACE_EVENTS_H_
#define CLEAVE_RUNTIME_JSON_TRACE_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/json/json_writer.h"

namespace cleave::runtime {

enum class Timeline { kPredicted, kMeasured };
const char* TimelineName(Timeline timeline);  // "predicted"

// What a rank does at the same time, from the top down. Messages go to other stages of a pipeline.
enum class Track { kSteps, kMicroBatches, kKernels, kCollectives, kMessages, kCopies };

// More events of all ranks are not written: a file of some 30 MB.
constexpr int64_t kMostTraceEvents = int64_t{1} << 18;

// The events of a rank: a process "rank 0, predicted" whose threads are the tracks.
class TraceEvents {
 public:
  TraceEvents(Timeline timeline, int rank);

  void Bar(Track track, const std::string& name, const std::string& category, double begin, double end,
           const JsonObject& arguments = {});
  // Numbers by name, from then on.
  void Count(const std::string& name, double at, const JsonObject& values);
  // An arrow from the bar of a track that runs at this time to another one, whose TraceEvents may be those of another
  // rank of the timeline. Returns its number, of this rank and timeline alone.
  int64_t BeginFlow(Track track, double at);
  void EndFlow(int64_t flow, Track track, double at);

  int64_t count() const { return count_; }
  const std::string& Text() const { return text_; }

 private:
  int Thread(Track track) const { return process_ + 1 + static_cast<int>(track); }
  // The fields that all events have, of this kind: {"ph":"X","pid":10,"tid":13,"ts":1.000
  void Begin(const char* kind, Track track, double at);
  void End(const std::string& name, const std::string& category, const JsonObject* arguments);

  int process_;
  int64_t flows_ = 0;
  int64_t count_ = 0;
  std::string text_;
};

// With what every file of a timeline begins.
std::string TraceBegin(Timeline timeline);

// The file with the events of ranks (TraceEvents::Text), and facts about them.
std::string TraceText(Timeline timeline, const JsonObject& facts, const std::vector<std::string>& ranks);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_JSON_TRACE_EVENTS_H_
