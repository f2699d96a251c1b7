#include "ir/program/lower/offload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status/status_macros.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"

namespace cleave::ir {
namespace {

bool IsInBackwardHalf(const Step& step) { return step.phase == Phase::kBackward || step.phase == Phase::kUpdate; }

// The values of the forward pass that wait for the backward pass in a program that keeps all that `asked` offloads.
// Where a reshape waits, what it reshapes is said to wait too if it is offloaded.
class Waiting {
 public:
  Waiting(const Program& program, const FuseOptions& fuse, const IdVector<OpId, OpPlan>& asked)
      : program_(program),
        storage_(PlanStorage(program, Fuse(program, fuse))),
        writers_(program.values.size(), nullptr) {
    for (const Step& step : program.steps) {
      for (const ValueId value : Writes(step)) writers_[value] = &step;
      if (!IsInBackwardHalf(step)) continue;
      for (const ValueId value : Reads(step)) {
        if (!IsInBackwardHalf(*writers_[value])) Add(value, asked);
      }
    }
    for (const BufferRequest& request : storage_.requests) {
      if (request.always_live) always_live_.insert(request.value);
    }
    for (const ValueId value : values_) {
      if (storage_.root[value].has_value()) sharers_[*storage_.root[value]].insert(program.value(value).origin);
    }
  }

  // What the plan should do with an op's value instead of offloading it; kOffload where that is right.
  Retention Better(OpId op, const IdVector<OpId, OpPlan>& ops) const {
    for (const ValueId value : values_) {
      if (program_.value(value).origin != op || !TakesMemory(value, ops)) continue;
      if (!IsAlias(*writers_[value])) return Retention::kOffload;
      const OpId source = program_.value(Reads(*writers_[value]).front()).origin;
      return ops[source].retention == Retention::kOffload ? Retention::kRecompute : Retention::kOffload;
    }
    return Retention::kKeep;
  }

 private:
  void Add(ValueId value, const IdVector<OpId, OpPlan>& asked) {
    values_.insert(value);
    if (!IsAlias(*writers_[value])) return;
    const ValueId source = Reads(*writers_[value]).front();
    if (asked[program_.value(source).origin].retention == Retention::kOffload) Add(source, asked);
  }

  // Whether a buffer would be free if the value did not wait in it.
  bool TakesMemory(ValueId value, const IdVector<OpId, OpPlan>& ops) const {
    const std::optional<ValueId> root = storage_.root[value];
    if (!root.has_value() || always_live_.count(*root) > 0) return false;
    if (writers_[value]->repeat == Repeat::kOnceBefore) return false;
    const std::set<OpId>& sharers = sharers_.at(*root);
    return std::none_of(sharers.begin(), sharers.end(), [&](OpId op) { return ops[op].retention == Retention::kKeep; });
  }

  const Program& program_;
  const Storage storage_;
  IdVector<ValueId, const Step*> writers_;
  std::set<ValueId> values_;
  std::set<ValueId> always_live_;
  std::map<ValueId, std::set<OpId>> sharers_;  // By root: the ops whose values wait there.
};

}  // namespace

absl::Status DropIdleOffloads(const FuseOptions& fuse, const CollectivePrice& price, Distributed& distributed) {
  Plan kept = distributed.plan;
  std::vector<OpId> offloaded;
  for (const Op& op : distributed.graph.ops) {
    if (kept.ops[op.id].retention != Retention::kOffload) continue;
    kept.ops[op.id].retention = Retention::kKeep;
    offloaded.push_back(op.id);
  }
  if (offloaded.empty()) return absl::OkStatus();
  CLEAVE_ASSIGN_OR_RETURN(const Program program, Partition(distributed.graph, kept, {.price = price}));
  const IdVector<OpId, OpPlan> asked = distributed.plan.ops;
  const Waiting waiting(program, fuse, asked);
  for (const OpId op : offloaded) distributed.plan.ops[op].retention = waiting.Better(op, asked);
  return absl::OkStatus();
}

}  // namespace cleave::ir
