#include "frontend/adapters/adapters.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/transforms/adapt/adapt.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {
namespace {

using Patterns = std::vector<AdaptSetting::Pattern>;

// The first that matches; null where none does.
const AdaptSetting::Pattern* Match(const Patterns& patterns, const std::string& name) {
  const auto found = std::find_if(patterns.begin(), patterns.end(), [&](const AdaptSetting::Pattern& pattern) {
    return MatchesPattern(pattern.text, name);
  });
  return found == patterns.end() ? nullptr : &*found;
}

// Reports each pattern that no op of `ops` matches. `what`: "weight".
void CheckPatterns(const ir::Graph& graph, const Patterns& patterns, const std::vector<ir::OpId>& ops,
                   const std::string& what, Reporter& reporter) {
  std::vector<std::string> names;
  for (const ir::OpId id : ops) names.push_back(graph.op(id).name);
  for (const AdaptSetting::Pattern& pattern : patterns) {
    const auto matches = [&](const std::string& name) { return MatchesPattern(pattern.text, name); };
    if (std::any_of(names.begin(), names.end(), matches)) continue;
    Diagnostic error = Error(Code::kE0529, absl::StrCat("no ", what, " matches `", pattern.text, "`"))
                           .At(pattern.span, "names none")
                           .Note("`*` stands for any text, `?` for any character");
    if (const auto nearest = NearestName(pattern.text, names)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    } else if (!names.empty()) {
      constexpr size_t kNamed = 8;
      const size_t named = std::min(names.size(), kNamed);
      error.notes.push_back(absl::StrCat("there is ", QuotedList(absl::MakeSpan(names).subspan(0, named), "and"),
                                         named < names.size() ? " and others" : ""));
    }
    reporter.Report(std::move(error));
  }
}

// Reports why weights can have no adapter; of those that passes of a loop make alike the first.
void ReportProblems(const AdaptSetting& setting, const Expansion& model, const std::vector<ir::AdaptProblem>& problems,
                    Reporter& reporter) {
  std::map<ir::TextPlace, int64_t> alike;
  for (const ir::AdaptProblem& problem : problems) ++alike[ir::PlaceOf(model.graph.op(problem.weight))];
  for (const ir::AdaptProblem& problem : problems) {
    const ir::Op& weight = model.graph.op(problem.weight);
    const int64_t count = std::exchange(alike[ir::PlaceOf(weight)], 0);
    if (count == 0) continue;
    Diagnostic error = Error(Code::kE0529, absl::StrCat("`", weight.name, "` can have no adapter: it ", problem.why))
                           .At(Match(setting.on, weight.name)->span, "matches it")
                           .At(model.parameters.at(problem.weight), "made here");
    if (count > 1)
      error.notes.push_back(absl::StrCat("the same is true of ", count - 1, " more in other passes of the loop"));
    reporter.Report(std::move(error));
  }
}

// The same demands of the same ops, where they are now.
class Mover {
 public:
  Mover(ir::Adapted adapted, Expansion& model) : adapted_(std::move(adapted)), model_(model) {
    for (const ir::AdaptedProduct& product : adapted_.products) {
      std::vector<ir::OpId>& made = beside_[product.product];
      made.insert(made.end(), product.made.begin(), product.made.end());
    }
  }

  void Run() && {
    MoveOps(model_.pins);
    MoveOps(model_.priorities);
    MoveAndRepeat(model_.retentions);
    MoveAndRepeat(model_.stages);
    for (ir::Region& region : model_.regions) MoveRegion(region);
    std::set<ir::OpId> default_pins;
    for (const ir::OpId op : model_.default_pins) default_pins.insert(adapted_.places[op]);
    model_.default_pins = std::move(default_pins);
    MoveKeys(model_.inputs);
    MoveKeys(model_.parameters);
    MoveKeys(model_.custom_calls);
    MoveKeys(model_.rank_places);
    for (Trainer& trainer : model_.trainers) trainer.loss = adapted_.values[trainer.loss];
    for (const ir::AdaptedWeight& weight : adapted_.weights) {
      const Span place = model_.parameters.at(adapted_.places[weight.weight]);
      for (const ir::OpId parameter : weight.parameters) model_.parameters[parameter] = place;
    }
    model_.graph = std::move(adapted_.graph);
  }

 private:
  template <typename T>
  void MoveOps(std::vector<T>& all) const {
    for (T& one : all) one.op = adapted_.places[one.op];
  }

  // Moves what is demanded of ops, and demands the same of what stands beside them.
  template <typename T>
  void MoveAndRepeat(std::vector<T>& all) const {
    std::vector<T> moved;
    for (T& one : all) {
      const ir::OpId old = one.op;
      one.op = adapted_.places[old];
      moved.push_back(one);
      const auto found = beside_.find(old);
      if (found == beside_.end()) continue;
      for (const ir::OpId made : found->second) {
        moved.push_back(one);
        moved.back().op = made;
      }
    }
    std::stable_sort(moved.begin(), moved.end(), [](const T& a, const T& b) { return a.op < b.op; });
    all = std::move(moved);
  }

  void MoveRegion(ir::Region& region) const {
    std::vector<ir::OpId> ops;
    for (const ir::OpId old : region.ops) {
      ops.push_back(adapted_.places[old]);
      const auto found = beside_.find(old);
      if (found != beside_.end()) ops.insert(ops.end(), found->second.begin(), found->second.end());
    }
    std::sort(ops.begin(), ops.end());
    region.ops = std::move(ops);
  }

  template <typename T>
  void MoveKeys(std::map<ir::OpId, T>& all) const {
    std::map<ir::OpId, T> moved;
    for (auto& [op, value] : all) moved.emplace(adapted_.places[op], std::move(value));
    all = std::move(moved);
  }

  ir::Adapted adapted_;
  Expansion& model_;
  std::map<ir::OpId, std::vector<ir::OpId>> beside_;  // By the op that was there.
};

}  // namespace

std::set<std::string> AddAdapters(const AdaptSetting& setting, Expansion& model, Reporter& reporter) {
  const ir::Graph& graph = model.graph;
  reporter.SetContext(setting.context);
  if (graph.is_manual() && setting.form.has_magnitude) {
    reporter.Report(Error(Code::kE0220, "`dora` in a manual model")
                        .At(setting.span, "gradients leave the norms of its weights out")
                        .Note("the proof of a manual model compares its gradients with differences of the loss")
                        .Help("`lora`"));
  }
  if (graph.is_manual() && setting.frozen.has_value()) {
    reporter.Report(Error(Code::kE0220, "`frozen = i8` in a manual model")
                        .At(setting.span, "its weights lie as the model says")
                        .Help("leave it out"));
  }
  // A vector has no matrix for a factor: patterns that name whole layers pass by their biases and norms.
  std::vector<ir::OpId> candidates, weights, others;
  for (const ir::Op& op : graph.ops) {
    if (!ir::IsTrained(op)) continue;
    const bool can_match = op.type.rank() >= 2;
    if (can_match) candidates.push_back(op.id);
    const bool is_adapted = can_match && Match(setting.on, op.name) != nullptr;
    (is_adapted ? weights : others).push_back(op.id);
  }
  CheckPatterns(graph, setting.on, candidates, "weight", reporter);
  CheckPatterns(graph, setting.also, others, "parameter without an adapter", reporter);
  auto made = ir::Adapt(graph, setting.form, weights);
  if (const auto* problems = std::get_if<std::vector<ir::AdaptProblem>>(&made)) {
    ReportProblems(setting, model, *problems, reporter);
  }
  reporter.SetContext("");
  if (reporter.has_errors()) return {};
  std::set<std::string> frozen;
  for (const ir::OpId weight : weights) frozen.insert(graph.op(weight).name);
  for (const ir::OpId other : others) {
    const std::string& name = graph.op(other).name;
    if (Match(setting.also, name) == nullptr) frozen.insert(name);
  }
  Mover(std::get<ir::Adapted>(std::move(made)), model).Run();
  for (ir::Op& op : model.graph.ops) {
    if (frozen.count(op.name) > 0) op.attributes.Set(ir::attribute::kTrained, false);
  }
  return frozen;
}

}  // namespace cleave::frontend
