#include "runtime/train/phase.h"

namespace cleave::runtime {
namespace {

using Traffics = std::array<Traffic, kCollectiveKinds>;

Traffics Difference(const Traffics& after, const Traffics& before) {
  Traffics difference = after;
  for (size_t kind = 0; kind < difference.size(); ++kind) {
    difference[kind].count -= before[kind].count;
    difference[kind].bytes -= before[kind].bytes;
    difference[kind].sent_bytes -= before[kind].sent_bytes;
    difference[kind].seconds -= before[kind].seconds;
  }
  return difference;
}

}  // namespace

void Phase::Call(const std::function<void()>& work) {
  if (!messages_.has_value()) messages_ = comm_.Rehearse(work);
  comm_.BeginMessages(*messages_);
  work();
  comm_.EndMessages();
}

void Phase::Run(const std::function<void()>& work) {
  if (!recordable_) return Call(work);
  if (!messages_.has_value()) messages_ = comm_.Rehearse(work);
  comm_.BeginMessages(*messages_);
  const Traffics before = comm_.traffic();
  const auto whole = [&] {
    work();
    comm_.EndMessages();
  };
  switch (recorded_.Run(whole)) {
    case Ran::kCalled:
      return;
    case Ran::kRecorded:
      traffic_ = Difference(comm_.traffic(), before);
      return;
    case Ran::kReplayed:
      comm_.CountReplay(traffic_);
      watch_.Start(name_, 0);
      return;
  }
}

}  // namespace cleave::runtime
