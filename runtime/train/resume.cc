#include "runtime/train/resume.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "runtime/launch/launch.h"
#include "runtime/train/best.h"

namespace cleave::runtime {
namespace {

constexpr char kValidation[] = "validation";

}  // namespace

bool HasCheckpoint(Comm& comm, const std::string& folder) {
  return !FromFirst(comm, comm.rank() == 0 && !CheckpointsIn(folder).empty() ? "yes" : "").empty();
}

std::optional<uint64_t> ResumedSeed(Comm& comm, const std::string& folder) {
  std::string mine;
  for (const std::string& own : comm.rank() == 0 ? CheckpointsIn(folder) : std::vector<std::string>()) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(own);
    if (!checkpoint.ok()) continue;
    mine = std::to_string(checkpoint.value().facts().seed);
    break;
  }
  const std::string seed = FromFirst(comm, mine);
  return seed.empty() ? std::nullopt : std::optional<uint64_t>(std::strtoull(seed.c_str(), nullptr, 10));
}

Result<CheckpointFacts> Resume(Comm& comm, const std::string& folder, const std::vector<StateTensor>& state) {
  // What rank 0 sees.
  std::string mine;
  for (const std::string& own : CheckpointsIn(folder)) mine += own + "\n";
  const std::string folders = FromFirst(comm, mine);
  if (folders.empty()) {
    return Error{ExitCode::kInput,
                 Format("no checkpoint is in `%s`: training begins without `--resume`", folder.c_str())};
  }
  std::string stories;
  for (size_t begin = 0, end; begin < folders.size(); begin = end + 1) {
    end = folders.find('\n', begin);
    const std::string own = folders.substr(begin, end - begin);
    const Result<Checkpoint> checkpoint = Checkpoint::Open(own);
    if (auto error = Agree(comm, checkpoint.ok() ? std::nullopt : std::optional<Error>(checkpoint.error()))) {
      stories += (stories.empty() ? "" : "\nerror: ") + error->message;
      continue;
    }
    if (auto error = Agree(comm, checkpoint.value().CheckFits(state, comm.mesh()))) return *error;
    if (auto error = Agree(comm, checkpoint.value().Load(state, comm.mesh(), comm.rank()))) {
      stories += (stories.empty() ? "" : "\nerror: ") + error->message;
      continue;
    }
    if (!stories.empty() && comm.rank() == 0) {
      std::fprintf(stderr, "warning: %s\nwarning: `%s`, the last good checkpoint, is used\n", stories.c_str(),
                   own.c_str());
    }
    return checkpoint.value().facts();
  }
  return Error{ExitCode::kInput, stories};
}

std::optional<Error> ClaimFolder(Comm& comm, Report& report, const std::string& folder,
                                 std::optional<int64_t> resumed_at, const std::optional<BestSoFar>& best) {
  if (comm.rank() > 0) return Agree(comm, std::nullopt);
  if (std::optional<Error> error = report.Take(folder)) return Agree(comm, error);
  RemoveUnfinished(folder);
  std::optional<Error> error;
  for (const int64_t step : CheckpointSteps(folder)) {
    if (resumed_at.has_value() && step <= *resumed_at) continue;
    if (!resumed_at.has_value()) {
      error = Error{ExitCode::kUsage,
                    Format("`%s` has checkpoints of earlier training, up to step %" PRId64
                           ": `--resume` goes on from it; to begin anew, name another folder with `--checkpoints`, or "
                           "remove this one",
                           folder.c_str(), step)};
      break;
    }
    if (!error.has_value()) error = SetAside(folder, step);
    if (!error.has_value()) report.Line(Format("`%s` is set aside", CheckpointFolder(folder, step).c_str()));
  }
  if (!error.has_value()) error = LinkBest(folder, best.has_value() ? best->step : LinkedBest(folder));
  return Agree(comm, error);
}

CheckpointFacts FactsOf(const TrainingSettings& settings, const Batches& batches, uint64_t seed) {
  CheckpointFacts facts = {.model = settings.model_name, .step = 0, .seed = seed};
  facts.settings = {{"batch", std::to_string(batches.batch())},
                    {"learning rate", settings.schedule},
                    {"seed", std::to_string(seed)},
                    {"shuffle", settings.data.shuffle ? "true" : "false"},
                    {"training samples", std::to_string(batches.train_samples())}};
  std::string weights;
  for (const double weight : settings.data.weights) weights += Format("%s%g", weights.empty() ? "" : ", ", weight);
  if (!weights.empty()) facts.settings.emplace_back("weights of `mix`", weights);
  if (!settings.adapters.empty()) facts.settings.emplace_back("adapters", settings.adapters);
  if (settings.data.validation > 0) facts.settings.emplace_back(kValidation, Format("%g", settings.data.validation));
  if (!settings.best.measure.empty()) facts.settings.emplace_back("best", CriterionText(settings.best));
  for (const NamedNumber& number : settings.numbers) {
    if (number.name != "lr") facts.settings.emplace_back(number.name, Format("%.9g", *number.place));
  }
  return facts;
}

bool EvaluatesTheSame(const CheckpointFacts& then, const CheckpointFacts& facts) {
  const auto validation = [](const CheckpointFacts& of) {
    for (const auto& [name, value] : of.settings) {
      if (name == kValidation) return value;
    }
    return std::string();
  };
  return validation(then) == validation(facts);
}

std::string ResumedText(const CheckpointFacts& then, const CheckpointFacts& facts) {
  std::string text = Format("goes on after step %" PRId64, then.step);
  for (const auto& [name, value] : facts.settings) {
    for (const auto& [old_name, old] : then.settings) {
      if (old_name == name && old != value)
        text += Format("; %s was %s, is %s", name.c_str(), old.c_str(), value.c_str());
    }
  }
  return text;
}

}  // namespace cleave::runtime
