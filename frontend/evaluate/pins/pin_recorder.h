// Collects the pins, priorities, stages and retentions of a model while it is expanded: each pin has one demand on one
// op, and two that contradict each other are a mistake.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_PIN_RECORDER_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_PIN_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "frontend/evaluate/pins/retentions.h"
#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

class PinRecorder {
 public:
  // Keeps both; `graph` is the one that grows while the model is expanded.
  PinRecorder(const ir::Graph& graph, Reporter& reporter) : graph_(graph), reporter_(reporter) {}
  PinRecorder(const PinRecorder&) = delete;
  PinRecorder& operator=(const PinRecorder&) = delete;

  // Reports a pin that contradicts another one; a repeated pin changes nothing.
  void Record(ir::Pin pin);
  // Records a pin of a region's `params`: there may be no other pin on that parameter.
  void RecordOfRegion(ir::Pin pin);
  // The pin on an op that is not the same as this one; null: there is none.
  const ir::Pin* OtherThan(const ir::Pin& pin) const;
  // Records a replica of a region's result, which ReplaceDefaults can still change.
  void RecordDefault(ir::OpId op, Span span);
  void ReplaceDefaults(const ir::DataParallelPin& demand);
  // The results that RecordDefault has pinned.
  std::set<ir::OpId> Defaults() const;

  void RecordPriority(ir::OpId op, int64_t priority) { priorities_.push_back({op, priority}); }
  // The ops that have a priority already.
  std::set<ir::OpId> Prioritized() const;

  // The first holds: attributes of what is inside of something else are recorded first.
  void RecordStage(ir::StagePin pin) { stages_.emplace(pin.op, pin); }
  std::vector<ir::StagePin> Stages() const;
  bool has_stages() const { return !stages_.empty(); }

  Retentions& retentions() { return retentions_; }

  // `removed`: ops of one element, in whose place `batched` has put others. A pin on one of them is about one element,
  // so it does not cut the elements' dimension.
  void MoveToBatched(const std::vector<ir::Op>& removed, const ir::Vectorized& batched);

  const ir::Graph& graph() const { return graph_; }
  Reporter& reporter() const { return reporter_; }
  const std::vector<ir::Pin>& pins() const { return pins_; }
  const std::vector<ir::Priority>& priorities() const { return priorities_; }

 private:
  void MovePin(size_t index, const ir::Op& op, const ir::Vectorized& batched);
  bool IsTheSameOp(const ir::Op& op, const ir::Vectorized& batched) const;

  const ir::Graph& graph_;
  Reporter& reporter_;
  std::vector<ir::Pin> pins_;
  std::vector<ir::Priority> priorities_;
  std::map<ir::OpId, ir::StagePin> stages_;
  Retentions retentions_;
  std::set<ir::OpId> region_parameters_;  // Those that RecordOfRegion has pinned.
  std::vector<size_t> defaults_;          // Indices of the pins that RecordDefault has made.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_PIN_RECORDER_H_
