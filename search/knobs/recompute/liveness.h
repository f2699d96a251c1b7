// The live bytes and the time of a training step in which the backward pass makes some forward values again. Private to
// search/knobs/recompute.
//
// `stage` in names of this crate is a fused step (ir::FusedStage), not a stage of a pipeline; a `place` is the index of
// a fused step in ir::Fusion::stages.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/units/units.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/shorten/shorten.h"

namespace cleave::search {

// Fused steps of the forward pass that are made again together: all that compute the same ops, or all that redistribute
// their values.
struct Unit {
  std::vector<int> stages;         // Indexes of Liveness::forward, ascending.
  std::vector<ir::OpId> ops;       // Computed by these fused steps, or redistributed.
  ir::Retention retention;         // Of `ops`, where the unit is made again.
  std::vector<ir::OpId> reshapes;  // And parts of the results, computed again with the unit.
  std::vector<int> copies;         // Units that redistribute its values, made again with it.
  std::optional<bool> asked = {};  // nullopt: the user does not decide.
};

struct Outcome {
  Seconds seconds{0};  // Of recomputation, in a training step.
  Bytes peak{0};
  double excess = 0;  // Bytes above the limit, summed over all places.
};

class Liveness {
 public:
  // A value that takes memory for a part of the step.
  struct Stored {
    static constexpr int kNever = std::numeric_limits<int>::max();

    Bytes size;
    int writer = 0;
    int forward_end = -1;         // The last place that reads it in the forward half; -1: none.
    int backward_begin = kNever;  // The first and last place that read it in the backward half.
    int backward_end = -1;
    int overwrites = -1;  // The value in whose memory it is written; -1: none.
    int made_by = -1;     // The ForwardStage that writes it; -1: none.
    int64_t times = 1;    // How many equal values wait for the backward pass with it.
    // In a pipeline: whether a pass makes it, and whether it may wait for a later one; `times` then counts
    // micro-batches.
    bool in_pass = false;
    bool may_wait = false;
  };
  struct ForwardStage {
    int place = 0;
    Seconds seconds{0};  // Of all its runs, and those of all for which it stands.
    // A lower bound of the time that making it again adds: 0 for collectives, which may be sent with others; negative
    // for loops, because a backward kernel that recomputes their values saves reading and writing them.
    Seconds least{0};
    bool may_join = false;   // A loop, which may be fused into a backward one.
    std::vector<int> reads;  // Stored values.
    std::vector<int> writes;
    int unit = -1;  // -1: is never made again.
    std::string name;
    ir::TextPlace text = 0;      // Of its last step: the same in equal layers,
    ir::LoopPasses passes = {};  // which these tell apart.
  };

  // `times`: by op, how many ops of a larger graph it stands for; bytes and times are then those of the larger graph's
  // step. Empty: 1. The layers that stand for several are neighbours.
  Liveness(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
           const Cluster& cluster, const std::map<ir::OpId, ir::Retention>& asked, const OpTimes& times = {});
  // For tests: a step with `places` places.
  Liveness(int places, Bytes always, std::vector<Stored> values, std::vector<ForwardStage> forward,
           std::vector<Unit> units);

  // How many values and fused steps Of() looks at.
  int64_t size() const { return places_ + static_cast<int64_t>(values_.size() + forward_.size()); }
  const std::vector<Unit>& units() const { return units_; }
  const std::vector<ForwardStage>& forward() const { return forward_; }
  const std::vector<Stored>& values() const { return values_; }

  // `again`: by unit, whether the backward pass makes it again. The excess is over `limit`.
  Outcome Of(const std::vector<bool>& again, Bytes limit) const;

  // Bytes that are live from place `begin` to `end`.
  struct Interval {
    Bytes size;
    int begin = 0;
    int end = 0;
  };
  // An upper bound of what making a unit again frees, and a lower bound of its time.
  struct OpenUnit {
    std::vector<Interval> frees;
    Seconds seconds{0};
  };
  struct Bounds {
    Seconds seconds{0};           // Lower bound.
    Seconds gain{0};              // The part of it that is saved time: 0 or less.
    std::vector<int64_t> live;    // By place: the least bytes if no open unit is made again.
    std::vector<OpenUnit> units;  // By unit; empty for those that are not open.

    // A lower bound of any peak: at each place every open unit frees what it can.
    Bytes LeastPeak() const;
  };
  // What is bounded: Outcomes, or programs with their steps in this order. A program may need less: a value made again
  // within a loop needs no memory, and one that only serves to make another again is freed before that one is read.
  enum class Bounded { kOutcome, kProgram };
  // Bounds of all training steps that make the units `again` again, and any of `possible` (a superset); the open units
  // are the difference.
  Bounds BoundsOf(const std::vector<bool>& again, const std::vector<bool>& possible,
                  Bounded bounded = Bounded::kOutcome) const;
  // Bounds::gain of programs in which any unit may be made again.
  Seconds MostGain() const;
  // Whether some layer stands for more than one.
  bool StandsForMore() const { return repeated_begin_ > 0; }
  // Whether the values of `stage` are those of several layers.
  bool StandsForSeveral(const ForwardStage& stage) const;
  // The units of `again` that the backward pass needs.
  std::vector<bool> Needed(const std::vector<bool>& again) const;
  // The retentions of the ops of these units, for a plan.
  std::map<ir::OpId, ir::Retention> RetentionsOf(const std::vector<bool>& again) const;

 private:
  struct Needs {
    std::vector<int> begin, end;  // By value: the places at which the backward half needs it.
    std::vector<bool> runs;       // By forward stage: whether it is made again.
    std::vector<int> changed;     // Values for which this may differ from what it is where nothing is made again.
  };
  void Prepare();
  // Whether layers make values again from what earlier layers make again only for them, so that all of it is live at
  // once.
  bool IsChain(const Needs& needs, const std::vector<bool>& again) const;
  Needs NeedsOf(const std::vector<bool>& again) const;
  // The last place of the first memory of a value.
  int EndOf(size_t v, const Needs& needs, const std::vector<bool>& again) const;
  // Adds the bytes that a value holds from place to place, `sign` times.
  void Hold(size_t v, const Needs& needs, const std::vector<bool>& again, bool is_chain, int64_t sign,
            std::vector<int64_t>& change) const;
  // By place, and one more: how the bytes of all values change.
  std::vector<int64_t> ChangeOf(const Needs& needs, const std::vector<bool>& again, bool is_chain) const;
  static bool IsMadeAgain(int unit, const std::vector<bool>& again) {
    return unit >= 0 && again[static_cast<size_t>(unit)];
  }

  // In a pipeline passes of other micro-batches come between two passes of one, so what waits between passes is live
  // from the first of these places to the last. -1: no pipeline.
  int passes_begin_ = -1, passes_end_ = -1;
  int repeated_begin_ = 0;  // The place where the backward pass reaches the layer that stands for several; 0: none.
  int places_ = 0;
  Bytes always_{0};
  std::vector<Stored> values_;
  std::vector<ForwardStage> forward_;
  std::vector<Unit> units_;
  // Copies of what Of() reads, in arrays of their own for speed.
  std::vector<int> backward_begin_, backward_end_, unit_of_value_, unit_of_stage_;
  std::vector<absl::InlinedVector<int, 1>> overwriters_;  // By value: those that are written in its memory.
  // Where nothing is made again: Of() looks only at values that differ.
  std::vector<bool> nothing_;
  Needs kept_;
  std::vector<int64_t> kept_change_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_
