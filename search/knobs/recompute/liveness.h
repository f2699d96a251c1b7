// What memory and time a step takes when the backward pass makes some values of the forward pass again. Private to
// search/knobs/recompute.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/shorten/shorten.h"

namespace cleave::search {

// Stages of the forward pass that are made again together: all that compute the same ops, or all that redistribute
// their values.
struct Unit {
  std::vector<int> stages;         // Indexes of Liveness::forward, ascending.
  std::vector<ir::OpId> ops;       // Of the training graph: computed by these stages, or redistributed.
  ir::Retention retention;         // What making the unit again means for them.
  std::vector<ir::OpId> reshapes;  // And parts, of what these stages write. They are computed again with the unit.
  std::vector<int> copies;         // Units that redistribute the values of this one: they are made again with it.
  std::optional<bool> asked = {};  // Whether the user wants it made again; nullopt: he does not say.
};

struct Outcome {
  Seconds seconds{0};  // Of what is made again, in a training step.
  Bytes peak{0};
  double excess = 0;  // The bytes beyond a limit, summed over the stages of the step.
};

class Liveness {
 public:
  // A value that takes memory for a part of the step. Places are stages of the fusion.
  struct Stored {
    static constexpr int kNever = std::numeric_limits<int>::max();

    Bytes size;
    int writer = 0;
    int forward_end = -1;         // Where the forward half of the step reads it last; -1: nowhere.
    int backward_begin = kNever;  // Where the backward half reads it first and last.
    int backward_end = -1;
    int overwrites = -1;  // The value in whose memory it is written.
    int made_by = -1;     // The forward stage that writes it; -1: another stage.
    int64_t times = 1;    // So many equal ones wait for the backward pass as long as this one does.
    // In a pipeline: it is made in a pass, and may wait for a later one, where `times` counts micro-batches.
    bool in_pass = false;
    bool may_wait = false;
  };
  struct ForwardStage {
    int place = 0;
    Seconds seconds{0};  // In all its runs, and those of all equal stages for which it stands.
    // What a program takes for it at least where it is made again: nothing for collectives, which may be sent together;
    // less than nothing for loops, whose values need then be neither written nor read.
    Seconds least{0};
    bool may_join = false;   // A loop, which may then become part of another one.
    std::vector<int> reads;  // Stored values.
    std::vector<int> writes;
    int unit = -1;  // -1: is never made again.
    std::string name;
    ir::TextPlace text = 0;      // Of its last step: equal stages of repeated layers have the same,
    ir::LoopPasses passes = {};  // and these tell them apart.
  };

  // `times`: of ops of the training graph, how many of a larger graph each one stands for, whose step then is what is
  // looked at; empty: itself. The layers that stand for several are next to one another.
  Liveness(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
           const Cluster& cluster, const std::map<ir::OpId, ir::Retention>& asked, const OpTimes& times = {});
  // For tests of the choice: a step of `places` stages.
  Liveness(int places, Bytes always, std::vector<Stored> values, std::vector<ForwardStage> forward,
           std::vector<Unit> units);

  // How many values and stages it looks at for an outcome.
  int64_t size() const { return places_ + static_cast<int64_t>(values_.size() + forward_.size()); }
  const std::vector<Unit>& units() const { return units_; }
  const std::vector<ForwardStage>& forward() const { return forward_; }
  const std::vector<Stored>& values() const { return values_; }

  // By unit: whether the backward pass makes it again. The excess is that over `limit`.
  Outcome Of(const std::vector<bool>& again, Bytes limit) const;

  // Bytes at the places from `begin` to `end`.
  struct Interval {
    Bytes size;
    int begin = 0;
    int end = 0;
  };
  // What it means to make a unit again: it frees at most so much, and takes at least so long.
  struct OpenUnit {
    std::vector<Interval> frees;
    Seconds seconds{0};
  };
  struct Bounds {
    Seconds seconds{0};           // At least.
    Seconds gain{0};              // Of these, what may be saved: 0 or less.
    std::vector<int64_t> live;    // By place: the least bytes where no open unit is made again.
    std::vector<OpenUnit> units;  // By unit; nothing of those that are not open.

    // No peak is lower: at each place all that could free something there would.
    Bytes LeastPeak() const;
  };
  // Whether bounds are of outcomes, or of programs with their steps in this order. A program may need less: what is
  // made again needs no memory within a loop, and what is only made for something else that is made again is gone
  // before the stage that reads that.
  enum class Bounded { kOutcome, kProgram };
  // Of all steps that make `again` again, and of the other units some of `possible`, which includes `again`: the open
  // units.
  Bounds BoundsOf(const std::vector<bool>& again, const std::vector<bool>& possible,
                  Bounded bounded = Bounded::kOutcome) const;
  // Bounds::gain of programs in which any unit may be made again.
  Seconds MostGain() const;
  // Whether some layer stands for several.
  bool StandsForMore() const { return repeated_begin_ > 0; }
  // Whether the values of a stage are those of several layers.
  bool StandsForSeveral(const ForwardStage& stage) const;
  // The units of `again` of which the backward pass needs something.
  std::vector<bool> Needed(const std::vector<bool>& again) const;
  // What a plan says of the ops of these units.
  std::map<ir::OpId, ir::Retention> RetentionsOf(const std::vector<bool>& again) const;

 private:
  struct Needs {
    std::vector<int> begin, end;  // By value: where the backward half needs it.
    std::vector<bool> runs;       // By forward stage: whether it is made again.
  };
  void Prepare();
  // Whether layers make values again from what the layers before them make again for this, which then is there for all
  // of them at the same time.
  bool IsChain(const Needs& needs, const std::vector<bool>& again) const;
  Needs NeedsOf(const std::vector<bool>& again) const;
  static bool IsMadeAgain(int unit, const std::vector<bool>& again) {
    return unit >= 0 && again[static_cast<size_t>(unit)];
  }

  // In a pipeline passes of other micro-batches come between two passes of one: what waits from one for another has its
  // memory from the first of these places to the last one. -1: the program is no pipeline's.
  int passes_begin_ = -1, passes_end_ = -1;
  int repeated_begin_ = 0;  // Where the backward pass comes to the layer that stands for several; 0: there is none.
  int places_ = 0;
  Bytes always_{0};
  std::vector<Stored> values_;
  std::vector<ForwardStage> forward_;
  std::vector<Unit> units_;
  // What each look reads of all values and stages, side by side. Of values: where the backward half reads them, and the
  // unit that makes them; of forward stages: the unit.
  std::vector<int> backward_begin_, backward_end_, unit_of_value_, unit_of_stage_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_LIVENESS_H_
