#include "search/memory/offload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status/status_macros.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"

namespace cleave::search {
namespace {

using ir::Retention;

bool IsInBackwardHalf(const ir::Step& step) {
  return step.phase == ir::Phase::kBackward || step.phase == ir::Phase::kUpdate;
}

// The values of the forward pass that wait for the backward pass in a program that keeps all that `asked` offloads.
// Where a reshape waits, what it reshapes is said to wait too if it is offloaded.
class Waiting {
 public:
  Waiting(const ir::Program& program, const ir::FuseOptions& fuse, const IdVector<ir::OpId, ir::OpPlan>& asked)
      : program_(program),
        storage_(ir::PlanStorage(program, ir::Fuse(program, fuse))),
        writers_(program.values.size(), nullptr) {
    for (const ir::Step& step : program.steps) {
      for (const ir::ValueId value : ir::Writes(step)) writers_[value] = &step;
      if (!IsInBackwardHalf(step)) continue;
      for (const ir::ValueId value : ir::Reads(step)) {
        if (!IsInBackwardHalf(*writers_[value])) Add(value, asked);
      }
    }
    for (const ir::BufferRequest& request : storage_.requests) {
      if (request.always_live) always_live_.insert(request.value);
    }
    for (const ir::ValueId value : values_) {
      if (storage_.root[value].has_value()) sharers_[*storage_.root[value]].insert(program.value(value).origin);
    }
  }

  // What the plan should do with an op's value instead of offloading it; kOffload where that is right.
  Retention Better(ir::OpId op, const IdVector<ir::OpId, ir::OpPlan>& ops) const {
    for (const ir::ValueId value : values_) {
      if (program_.value(value).origin != op || !TakesMemory(value, ops)) continue;
      if (!ir::IsAlias(*writers_[value])) return Retention::kOffload;
      const ir::OpId source = program_.value(ir::Reads(*writers_[value]).front()).origin;
      return ops[source].retention == Retention::kOffload ? Retention::kRecompute : Retention::kOffload;
    }
    return Retention::kKeep;
  }

 private:
  void Add(ir::ValueId value, const IdVector<ir::OpId, ir::OpPlan>& asked) {
    values_.insert(value);
    if (!ir::IsAlias(*writers_[value])) return;
    const ir::ValueId source = ir::Reads(*writers_[value]).front();
    if (asked[program_.value(source).origin].retention == Retention::kOffload) Add(source, asked);
  }

  // Whether a buffer would be free if the value did not wait in it.
  bool TakesMemory(ir::ValueId value, const IdVector<ir::OpId, ir::OpPlan>& ops) const {
    const std::optional<ir::ValueId> root = storage_.root[value];
    if (!root.has_value() || always_live_.count(*root) > 0) return false;
    if (writers_[value]->repeat == ir::Repeat::kOnceBefore) return false;
    const std::set<ir::OpId>& sharers = sharers_.at(*root);
    return std::none_of(sharers.begin(), sharers.end(),
                        [&](ir::OpId op) { return ops[op].retention == Retention::kKeep; });
  }

  const ir::Program& program_;
  const ir::Storage storage_;
  IdVector<ir::ValueId, const ir::Step*> writers_;
  std::set<ir::ValueId> values_;
  std::set<ir::ValueId> always_live_;
  std::map<ir::ValueId, std::set<ir::OpId>> sharers_;  // By root: the ops whose values wait there.
};

}  // namespace

absl::Status DropIdleOffloads(const ir::FuseOptions& fuse, ir::Distributed& distributed) {
  ir::Plan kept = distributed.plan;
  std::vector<ir::OpId> offloaded;
  for (const ir::Op& op : distributed.graph.ops) {
    if (kept.ops[op.id].retention != Retention::kOffload) continue;
    kept.ops[op.id].retention = Retention::kKeep;
    offloaded.push_back(op.id);
  }
  if (offloaded.empty()) return absl::OkStatus();
  CLEAVE_ASSIGN_OR_RETURN(const ir::Program program, ir::Partition(distributed.graph, kept));
  const IdVector<ir::OpId, ir::OpPlan> asked = distributed.plan.ops;
  const Waiting waiting(program, fuse, asked);
  for (const ir::OpId op : offloaded) distributed.plan.ops[op].retention = waiting.Better(op, asked);
  return absl::OkStatus();
}

}  // namespace cleave::search
