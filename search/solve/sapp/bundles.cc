#include "search/solve/sapp/bundles.h"

#include <algorithm>
#include <map>

#include "base/disjoint_sets/disjoint_sets.h"

namespace cleave::search {

Bundles FindBundles(const GraphFacts& facts) {
  const ir::Graph& graph = *facts.graph;
  DisjointSets<ir::OpId> bundled(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kLight) continue;
    for (ir::OpId input : op.inputs) {
      if (facts.roles[input] == Role::kLight) bundled.Join(op.id, input);
    }
  }
  Bundles result{.bundles = {}, .bundle_of = IdVector<ir::OpId, int>(graph.ops.size(), -1)};
  std::map<ir::OpId, int> index;
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kLight) continue;
    const auto [found, is_new] = index.emplace(bundled.Of(op.id), static_cast<int>(result.bundles.size()));
    if (is_new) result.bundles.emplace_back();
    result.bundles[static_cast<size_t>(found->second)].push_back(op.id);
    result.bundle_of[op.id] = found->second;
  }
  return result;
}

void MoveAxis(Assignment& assignment, const Bundles& bundles, ir::OpId start, int strategy, ir::AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  const int bundle = bundles.bundle_of[start];
  std::vector<uint8_t> seen(facts.graph->ops.size(), 0);
  std::vector<IndexedChange> moved;
  const auto visit = [&](ir::OpId op, int slot, LayoutIndex layout) {
    if (bundles.bundle_of[op] != bundle || seen[static_cast<size_t>(op.value())]) return;
    seen[static_cast<size_t>(op.value())] = 1;
    moved.push_back({op, assignment.fixed(op) ? assignment.index(op) : assignment.CutLike(op, slot, layout, axis)});
  };
  seen[static_cast<size_t>(start.value())] = 1;
  moved.push_back({start, assignment.fixed(start) ? assignment.index(start) : strategy});
  for (size_t next = 0; next < moved.size(); ++next) {
    const auto [op, own] = moved[next];
    for (const Read& read : facts.reads[op]) visit(read.reader, read.input, assignment.output_index(op, own));
    const std::vector<ir::OpId>& inputs = facts.op(op).inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      visit(inputs[i], -1, assignment.input_index(op, own, static_cast<int>(i)));
  }
  assignment.Apply(moved);
}

void FollowDown(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  std::vector<int> done;
  for (const Read& read : facts.reads[product]) {
    const int bundle = bundles.bundle_of[read.reader];
    if (bundle < 0 || std::find(done.begin(), done.end(), bundle) != done.end()) continue;
    done.push_back(bundle);
    const int start = assignment.CutLike(read.reader, read.input, assignment.seen_index(product), axis);
    MoveAxis(assignment, bundles, read.reader, start, axis);
  }
}

void FollowUp(Assignment& assignment, const Bundles& bundles, ir::OpId product, ir::AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  std::vector<int> done;
  const std::vector<ir::OpId>& inputs = facts.op(product).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int bundle = bundles.bundle_of[inputs[i]];
    if (bundle < 0 || std::find(done.begin(), done.end(), bundle) != done.end()) continue;
    done.push_back(bundle);
    const LayoutIndex wanted = assignment.input_index(product, assignment.index(product), static_cast<int>(i));
    MoveAxis(assignment, bundles, inputs[i], assignment.CutLike(inputs[i], -1, wanted, axis), axis);
  }
}

}  // namespace cleave::search
