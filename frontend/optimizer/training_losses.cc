#include "frontend/optimizer/training_losses.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/optimizer/groups.h"

namespace cleave::frontend {
namespace {

bool Describes(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return MatchesPattern(pattern, name); });
}

// Where nothing is trained because of `stop_gradient`.
void WarnOfStopped(const Expansion& model, Reporter& reporter) {
  for (const ir::Op& op : model.graph.ops) {
    if (op.kind != ir::OpKind::kStopGradient) continue;
    reporter.Report(Warning(Code::kW0613, "no parameter is trained")
                        .At(*model.loss, absl::StrCat("no gradient passes `", op.name, "`, line ", op.line)));
    return;
  }
}

// Each pattern describes a parameter through which the loss can become less.
bool CheckPatterns(const Trainer& trainer, const std::vector<std::string>& reached, Reporter& reporter) {
  bool ok = true;
  for (const std::string& pattern : trainer.patterns) {
    const bool matches = std::any_of(reached.begin(), reached.end(),
                                     [&](const std::string& name) { return MatchesPattern(pattern, name); });
    if (matches) continue;
    ok = false;
    Diagnostic error = Error(Code::kE0504, absl::StrCat("this loss trains no parameter that matches `", pattern, "`"))
                           .At(trainer.span, "no gradient of it reaches one");
    if (!reached.empty()) {
      error.notes.push_back(absl::StrCat("it depends on ", FirstNames(reached)));
    }
    reporter.Report(std::move(error));
  }
  return ok;
}

}  // namespace

std::optional<TrainingLosses> FindTrainingLosses(const Expansion& model, Reporter& reporter) {
  const ir::Graph& graph = model.graph;
  if (model.trainers.empty()) {
    std::vector<ir::OpId> trained = ir::TrainedParameters(graph);
    if (trained.empty()) WarnOfStopped(model, reporter);
    return TrainingLosses{.losses = {}, .trained = std::move(trained)};
  }
  TrainingLosses result;
  bool ok = true;
  std::map<ir::OpId, const Trainer*> trainer_of;
  for (const Trainer& trainer : model.trainers) {
    ir::TrainingLoss loss{.loss = graph.op(trainer.loss).name, .parameters = {}};
    std::vector<std::string> reached;
    for (const ir::OpId id : ir::ParametersOf(graph, trainer.loss)) {
      const std::string& name = graph.op(id).name;
      reached.push_back(name);
      if (!Describes(trainer.patterns, name)) continue;
      loss.parameters.push_back(name);
      const auto [other, is_new] = trainer_of.try_emplace(id, &trainer);
      if (is_new || !ok) continue;
      ok = false;
      reporter.Report(Error(Code::kE0504, absl::StrCat("two losses train `", name, "`"))
                          .At(trainer.span, "the second")
                          .At(other->second->span, "the first")
                          .Help("`#[term(trains = \"generator.*\")]` before a loss says which parameters it trains")
                          .Note("losses that train the same parameters have the same `trains`, and are added up"));
    }
    ok = CheckPatterns(trainer, reached, reporter) && ok;
    result.losses.push_back(std::move(loss));
  }
  if (!ok) return std::nullopt;
  for (const auto& [id, trainer] : trainer_of) {
    result.trained.push_back(id);
    if (trainer->turns != Turns()) result.turns[id] = trainer->turns;
  }
  for (const ir::StateUpdate& update : graph.updates) {
    for (const Trainer& trainer : model.trainers) {
      const bool belongs = !trainer.patterns.empty() && Describes(trainer.patterns, graph.op(update.state).name);
      if (belongs && trainer.turns != Turns()) result.turns[update.state] = trainer.turns;
    }
  }
  for (const ir::OpId id : ir::TrainedParameters(graph)) {
    if (trainer_of.count(id) > 0) continue;
    reporter.Report(Warning(Code::kW0613, absl::StrCat("parameter `", graph.op(id).name, "` is not trained"))
                        .At(model.parameters.at(id), "no loss trains it")
                        .Help(absl::StrCat("if that is meant: `groups = { \"", graph.op(id).name, "\": frozen };`")));
  }
  return result;
}

}  // namespace cleave::frontend
