#include "runtime/train/profile_trace.h"

#include <algorithm>
#include <utility>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/trace_events.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostPlanBytes = int64_t{256} << 20;

std::string TextOf(const Json& object, const char* member) {
  const Json* const text = object.Find(member);
  return text == nullptr || text->kind != Json::Kind::kString ? "" : text->text;
}

// The micro-batch of each op of a step, -1 where it runs once: the plan says how many there are, and ops of a
// micro-batch run as often. In the order in which a rank comes to them, they are those of the first, the second and so
// on.
std::vector<int64_t> MicroBatchesOf(const MeasuredOps& measured, size_t first, size_t end, int64_t micro_batches) {
  std::vector<int64_t> result(end - first, -1);
  if (micro_batches <= 1) return result;
  using Key = std::pair<const char*, int64_t>;
  const auto key = [&](size_t i) { return Key(measured.ops[i].op.text, measured.ops[i].op.layer); };
  std::map<Key, int64_t> runs, seen;
  for (size_t i = first; i < end; ++i) ++runs[key(i)];
  for (size_t i = first; i < end; ++i) {
    const int64_t all = runs[key(i)];
    if (all % micro_batches == 0) result[i - first] = seen[key(i)]++ / (all / micro_batches);
  }
  return result;
}

}  // namespace

PlannedWork ReadPlannedWork(const std::string& folder) {
  PlannedWork planned;
  const Result<std::vector<uint8_t>> file = ReadFile(folder + "/plan.json", kMostPlanBytes);
  if (!file.ok()) return planned;
  const Result<Json> plan = ParseJson(std::string(file.value().begin(), file.value().end()));
  if (!plan.ok()) return planned;
  const Json* const predicted = plan.value().Find("predicted");
  const Json* const kernels = predicted == nullptr ? nullptr : predicted->Find("kernels");
  if (kernels == nullptr) return planned;
  if (const Result<int64_t> count = IntegerMember(plan.value(), "micro_batches"); count.ok()) {
    planned.micro_batches = count.value();
  }
  for (const Json& kernel : kernels->items) {
    const Json* const ops = kernel.Find("ops");
    if (ops == nullptr) continue;
    for (const Json& op : ops->items) {
      planned.ops.insert({op.text, {TextOf(kernel, "kind"), TextOf(kernel, "what"), TextOf(kernel, "read_by")}});
    }
  }
  return planned;
}

std::string PlaceOfName(const std::string& name) {
  std::string place;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos &&
                           (part.size() == 1 || part[0] != '0');
    place += (begin == 0 ? "" : ".") + (is_number ? "#" : part);
    begin = end + 1;
  }
  return place;
}

std::string EventsOf(int rank, const MeasuredOps& measured, const PlannedWork& planned, double zero) {
  TraceEvents events(Timeline::kMeasured, rank);
  if (!measured.steps.empty() && !measured.memory.empty()) {
    JsonObject bytes;
    bytes.AddInteger("bytes", measured.arena);
    events.Count("allocated", measured.steps.front().begin - zero, bytes);
  }
  for (size_t s = 0; s < measured.steps.size(); ++s) {
    const MeasuredStep& step = measured.steps[s];
    events.Bar(Track::kSteps, Format("step %lld", static_cast<long long>(step.number)), "step", step.begin - zero,
               step.end - zero);
    const size_t end = s + 1 < measured.steps.size() ? measured.steps[s + 1].first_op : measured.ops.size();
    const std::vector<int64_t> micro_batches = MicroBatchesOf(measured, step.first_op, end, planned.micro_batches);
    std::map<std::string, std::pair<Track, double>> awaited;  // What other ranks send, by the place of the reader.
    for (size_t i = step.first_op; i < end; ++i) {
      const MeasuredOp& op = measured.ops[i];
      const std::string name = op.op.ToString();
      const std::string place = PlaceOfName(name);
      const auto known = planned.ops.find(place);
      const bool is_known = known != planned.ops.end();
      const std::string kind = is_known ? known->second.kind : op.communicates ? "collectives" : "ops";
      const bool is_message = is_known && known->second.what == "send";
      const Track track = is_message              ? Track::kMessages
                          : kind == "collectives" ? Track::kCollectives
                          : kind == "copies"      ? Track::kCopies
                                                  : Track::kKernels;
      JsonObject arguments;
      if (is_known && !known->second.what.empty()) arguments.Add("what", known->second.what);
      if (op.line > 0) arguments.Add("place", Format("%s:%d", measured.model_file, op.line));
      if (micro_batches[i - step.first_op] >= 0) arguments.AddInteger("micro_batch", micro_batches[i - step.first_op]);
      events.Bar(track, name, kind, op.begin - zero, op.end - zero, arguments);
      if (const auto flow = awaited.find(place); flow != awaited.end()) {
        events.EndFlow(events.BeginFlow(flow->second.first, flow->second.second), track, op.begin - zero);
        awaited.erase(flow);
      }
      if (is_known && !known->second.read_by.empty()) {
        awaited[known->second.read_by] = {track, op.begin - zero};
      }
    }
    // A bar for what follows one another of a micro-batch.
    for (size_t i = step.first_op; i < end;) {
      const int64_t micro_batch = micro_batches[i - step.first_op];
      size_t next = i;
      while (next < end && micro_batches[next - step.first_op] == micro_batch) ++next;
      if (micro_batch >= 0) {
        events.Bar(Track::kMicroBatches, Format("micro-batch %lld", static_cast<long long>(micro_batch)), "micro-batch",
                   measured.ops[i].begin - zero, measured.ops[next - 1].end - zero);
      }
      i = next;
    }
  }
  for (const MeasuredMemory& memory : measured.memory) {
    JsonObject bytes;
    bytes.AddInteger("bytes", measured.arena + memory.workspace);
    events.Count("allocated", memory.at - zero, bytes);
  }
  return events.Text();
}

}  // namespace cleave::runtime
