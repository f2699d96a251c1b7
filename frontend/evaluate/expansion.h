// The result of expanding a model.
#ifndef CLEAVE_FRONTEND_EVALUATE_EXPANSION_H_
#define CLEAVE_FRONTEND_EVALUATE_EXPANSION_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/evaluate/trainer.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

struct Expansion {
  ir::Graph graph;
  std::vector<ir::Pin> pins;
  std::set<ir::OpId> default_pins = {};  // Ops whose pin the user has not written: it does not keep them.
  std::vector<ir::Priority> priorities;
  std::vector<ir::Region> regions;
  std::vector<ir::RetentionPin> retentions;
  std::vector<ir::StagePin> stages;
  std::map<ir::OpId, Span> inputs;              // In program order; not the sample mask.
  std::map<ir::OpId, Span> parameters;          // Where the user declares each.
  std::map<std::string, Span> npy_places = {};  // Of parameters by name, where each names its file.
  std::map<ir::OpId, CustomCall> custom_calls;
  // For a manual model: where values begin to differ between ranks, or stop differing.
  std::map<ir::OpId, Span> rank_places = {};
  std::optional<Span> loss = {};       // The place of the first.
  std::vector<Trainer> trainers = {};  // Empty: the loss trains all parameters on which it depends.
  std::vector<Span> metrics = {};      // In the order of the graph.
  std::vector<LookByName> looks_by_name = {};
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_EXPANSION_H_
