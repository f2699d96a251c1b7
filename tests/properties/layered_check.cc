#include "tests/properties/layered_check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "codegen/codegen.h"
#include "codegen/fixtures/fast_make.h"
#include "dsl/parse/parse.h"
#include "tests/support/command.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"
#include "tools/weights/source.h"

namespace cleave::tests::properties {
namespace {

namespace fs = std::filesystem;

using Overrides = std::vector<std::pair<std::string, std::string>>;

// As shares of what is predicted. Libraries need less for some images than is known.
constexpr double kMostMemory = 1.02, kLeastMemory = 0.9;

// How a program is compiled.
struct Setup {
  int64_t devices = 1;
  bool is_cuda = false;
  Overrides overrides = {};
  bool repeats_layers = false;
};

// What a program has trained.
struct Trained {
  std::vector<double> losses;
  double peak_bytes = 0;                              // Of the rank with most.
  std::map<std::string, std::vector<float>> tensors;  // Of its last checkpoint.
};

std::string ErrorCode(const tools::Report& report) {
  for (const Diagnostic& diagnostic : report.diagnostics.items()) {
    if (diagnostic.severity == Severity::kError) return std::string(CodeName(diagnostic.code));
  }
  return "";
}

// A file that has this text already stays, so that make need not build it again.
void WriteChanged(const std::string& path, const codegen::GeneratedFile& file) {
  if (std::ifstream old(path); old) {
    std::stringstream text;
    text << old.rdbuf();
    if (text.str() == file.text) return;
  }
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << file.text;
  if (file.executable) fs::permissions(path, fs::perms::owner_all);
}

// Writes the program's files; the outcome says why there are none. `predicted`: its peak of memory, where it is asked
// for.
std::optional<LayeredOutcome> Generate(const std::string& text, const Setup& setup, const std::string& folder,
                                       double* predicted = nullptr) {
  tools::CompileOptions options;
  options.model = folder + "/layered.model";
  options.devices = setup.devices;
  options.target = setup.is_cuda ? "cuda" : "cpu";
  options.launch = "local";
  options.overrides = setup.overrides;
  // GPUs would compute most of these models faster without one another.
  if (setup.is_cuda) options.overrides.emplace_back("leave_idle", "false");
  tools::Report report;
  const FileId file = report.sources.Add(options.model, text);
  const std::optional<dsl::syntax::File> syntax = dsl::Parse(file, report.sources, report.diagnostics);
  std::optional<tools::UnderstoodModel> understood;
  if (syntax.has_value()) understood = tools::Understand(options, *syntax, report);
  std::optional<tools::CompiledModel> compiled;
  if (understood.has_value()) compiled = tools::CompileModel(options, *std::move(understood), report);
  if (!compiled.has_value()) {
    if (!report.bug.empty()) return LayeredOutcome{.refused = "", .failure = report.bug};
    const std::string code = ErrorCode(report);
    // Only what settings ask for may be refused.
    if (setup.overrides.empty() || code < "E03") {
      return LayeredOutcome{.refused = "", .failure = tools::ReportText(report, tools::ErrorFormat::kText)};
    }
    return LayeredOutcome{.refused = code, .failure = ""};
  }
  if (predicted != nullptr) *predicted = static_cast<double>(compiled->split.memory.use.prediction.peak.value());
  const auto generate = setup.is_cuda ? codegen::GenerateCuda : codegen::GenerateCpu;
  const auto files = generate(
      {.graph = compiled->split.distributed.graph,
       .program = compiled->split.program,
       .memory = compiled->split.memory,
       .training = compiled->model.module.training,
       .parts = compiled->split.parts},
      {.rank = std::nullopt, .launch = {.way = "local", .rank_table = ""}, .repeats_layers = setup.repeats_layers});
  if (!files.ok()) return LayeredOutcome{.refused = "", .failure = absl::StrCat("codegen: ", files.status().message())};
  for (const codegen::GeneratedFile& generated : *files) {
    WriteChanged(absl::StrCat(folder, "/", generated.path), generated);
  }
  return std::nullopt;
}

std::string LastLines(const std::string& text) {
  constexpr size_t kMost = 1500;
  return text.size() <= kMost ? text : text.substr(text.size() - kMost);
}

// Builds and starts the program of a folder. Returns what went wrong.
std::string Run(const std::string& folder, bool is_cuda, Trained& trained) {
  fs::remove_all(folder + "/checkpoints");
  fs::remove(folder + "/metrics.jsonl");
  const std::string make =
      absl::StrCat(is_cuda ? codegen::FastMakeWithStandIn() : codegen::FastMake(), " COMM=local program_local");
  const CommandResult built = RunCommand({"sh", "-c", make}, folder);
  if (built.exit_code != 0) return absl::StrCat("does not build: ", LastLines(built.out + built.err));
  const CommandResult ran = RunCommand({"timeout", "60", "./program_local"}, folder, {"OMP_NUM_THREADS=1"});
  if (ran.exit_code == 124) return absl::StrCat("hangs: ", LastLines(ran.out + ran.err));
  if (ran.exit_code != 0) return absl::StrCat("ends with ", ran.exit_code, ": ", LastLines(ran.out + ran.err));
  std::ifstream lines(folder + "/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const absl::StatusOr<Json> step = ParseStrictJson(line);
    if (step.ok() && step->contains("loss")) trained.losses.push_back(step->at("loss").get<double>());
  }
  std::ifstream report(folder + "/run.json");
  std::stringstream record;
  record << report.rdbuf();
  const absl::StatusOr<Json> run = ParseStrictJson(record.str());
  if (!run.ok()) return absl::StrCat("has no report: ", run.status().message());
  for (const Json& rank : run->at("peak_memory_bytes")) {
    trained.peak_bytes = std::max(trained.peak_bytes, rank.get<double>());
  }
  const auto source = tools::WeightSource::Open(folder + "/checkpoints");
  if (!source.ok()) return absl::StrCat("has no checkpoint: ", source.error().message);
  for (const tools::WeightTensor& tensor : source.value().tensors()) {
    if (!tools::IsReadAsFloat(tensor)) continue;
    if (const auto error = source.value().Read(tensor, trained.tensors[tensor.name])) return error->message;
  }
  return "";
}

// How far two trainings are apart, as shares: of the losses, and of the largest value of a tensor. Infinite where they
// have not the same steps and tensors.
struct Distance {
  double losses = 0;
  double tensors = 0;
  std::string where;  // It is largest, in words.
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How far two numbers are apart; infinite where one of them is not finite.
double Apart(double a, double b) {
  const double difference = std::abs(a - b);
  return std::isfinite(difference) ? difference : kInfinity;
}

Distance Between(const Trained& trained, const Trained& reference) {
  if (trained.losses.size() != reference.losses.size()) return {.losses = kInfinity, .tensors = 0, .where = "steps"};
  Distance distance;
  for (size_t i = 0; i < reference.losses.size(); ++i) {
    const double apart = Apart(trained.losses[i], reference.losses[i]) / std::max(std::abs(reference.losses[i]), 1e-3);
    distance.losses = std::max(distance.losses, apart);
  }
  distance.where = absl::StrCat("losses ", absl::StrJoin(trained.losses, ", "), " instead of ",
                                absl::StrJoin(reference.losses, ", "));
  for (const auto& [name, values] : reference.tensors) {
    const auto found = trained.tensors.find(name);
    if (found == trained.tensors.end() || found->second.size() != values.size()) {
      return {.losses = distance.losses, .tensors = kInfinity, .where = absl::StrCat("`", name, "` is not there")};
    }
    double largest = 1e-2, apart = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(values[i])));
      apart = std::max(apart, Apart(static_cast<double>(values[i]), static_cast<double>(found->second[i])));
    }
    if (apart / largest > distance.tensors) {
      distance.tensors = apart / largest;
      absl::StrAppend(&distance.where, "; `", name, "` ", apart, " apart");
    }
  }
  if (trained.tensors.size() != reference.tensors.size()) distance.tensors = kInfinity;
  return distance;
}

bool IsWithin(const Distance& distance, double losses, double tensors) {
  return distance.losses <= losses && distance.tensors <= tensors;
}

// The model with each layer's input larger by a millionth, as an example of what rounding may become.
std::string Moved(std::string text) {
  const std::string loop = "    for i in 0..";
  const size_t body = text.find('\n', text.find(loop)) + 1;
  return text.insert(body, "        x = x * 1.000001;\n");
}

// An outcome as a line of text, and back: it comes from another process.
std::string Written(const LayeredOutcome& outcome) { return absl::StrCat(outcome.refused, "\n", outcome.failure); }
LayeredOutcome ReadOutcome(const std::string& path) {
  std::ifstream file(path);
  LayeredOutcome outcome;
  if (!std::getline(file, outcome.refused)) return {.refused = "", .failure = "the compiler crashed"};
  std::stringstream rest;
  rest << file.rdbuf();
  outcome.failure = rest.str();
  return outcome;
}

}  // namespace

LayeredOutcome CheckLayered(const LayeredModel& model, const std::string& folder, LayeredDepth depth) {
  const std::string reference_folder = folder + "/reference", own_folder = folder + (model.is_cuda ? "/cuda" : "/cpu");
  for (const std::string& each : {reference_folder, own_folder}) fs::create_directories(each);
  const Setup setup = {.devices = model.devices, .is_cuda = model.is_cuda, .overrides = model.settings};
  double predicted = 0;
  if (auto outcome = Generate(model.text, setup, own_folder, &predicted)) return *outcome;
  if (depth == LayeredDepth::kProgram) return {};
  if (auto outcome = Generate(model.text, {.repeats_layers = true}, reference_folder)) return *outcome;
  Trained reference, own;
  if (std::string wrong = Run(reference_folder, false, reference); !wrong.empty()) {
    // The loss of such a model is not finite, which says nothing.
    const bool diverged = absl::StartsWith(wrong, "ends with 6:") && absl::StrContains(wrong, "the loss is ");
    if (diverged) return {.refused = "diverged", .failure = ""};
    return {.refused = "", .failure = absl::StrCat("the reference ", wrong)};
  }
  if (std::string wrong = Run(own_folder, model.is_cuda, own); !wrong.empty()) {
    return {.refused = "", .failure = absl::StrCat("the program ", wrong)};
  }
  // Others copy images that lie in blocks (docs/memory.md).
  const bool is_predicted = !model.is_cuda && __builtin_cpu_supports("avx512f") != 0;
  if (const double ratio = own.peak_bytes / predicted;
      is_predicted && !(ratio >= kLeastMemory && ratio <= kMostMemory)) {
    return {.refused = "",
            .failure = absl::StrCat("takes ", own.peak_bytes, " bytes, and ", predicted, " are predicted")};
  }
  if (model.is_bf16 || model.amplifies) {
    // Few digits are those of the reference, but all are those of the same program that repeats its layers.
    Setup repeating = setup;
    repeating.repeats_layers = true;
    Trained repeated;
    if (auto outcome = Generate(model.text, repeating, own_folder)) return *outcome;
    if (std::string wrong = Run(own_folder, model.is_cuda, repeated); !wrong.empty()) {
      return {.refused = "", .failure = absl::StrCat("the program that repeats its layers ", wrong)};
    }
    const Distance distance = Between(own, repeated);
    if (!IsWithin(distance, 0, 0)) {
      return {.refused = "", .failure = absl::StrCat("layers that are repeated train otherwise: ", distance.where)};
    }
  }
  const Distance distance = Between(own, reference);
  const double losses = model.is_bf16 ? 0.3 : 1e-4;
  const double tensors = model.is_bf16 ? kInfinity : model.amplifies ? 0.5 : 1e-3;
  if (IsWithin(distance, losses, tensors)) return {};
  // Training itself may amplify rounding.
  constexpr double kMostAmplified = 10;
  Trained moved;
  if (auto outcome = Generate(Moved(model.text), {.repeats_layers = true}, reference_folder)) return *outcome;
  if (std::string wrong = Run(reference_folder, false, moved); !wrong.empty()) {
    return {.refused = "", .failure = absl::StrCat("the moved reference ", wrong)};
  }
  const Distance control = Between(moved, reference);
  if (IsWithin(distance, losses + kMostAmplified * control.losses, tensors + kMostAmplified * control.tensors))
    return {};
  return {.refused = "",
          .failure =
              absl::StrCat(distance.where, "; rounding alone: losses ", control.losses, ", tensors ", control.tensors)};
}

std::string LayeredReport::Text() const {
  std::string text = absl::StrCat(equal, " models are right, ", failures.size(), " failures");
  for (const auto& [code, count] : refused) absl::StrAppend(&text, ", ", count, " refused with ", code);
  return text;
}

LayeredReport CheckLayered(uint64_t first_seed, int64_t count, const std::string& folder, LayeredDepth depth) {
  LayeredReport report;
  const std::string result = folder + "/outcome";
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    const LayeredModel model = MakeLayeredModel(seed);
    const auto is_stages = [](const auto& setting) { return setting.first == "stages"; };
    if (depth == LayeredDepth::kProgram && std::none_of(model.settings.begin(), model.settings.end(), is_stages))
      continue;
    fs::remove(result);
    const pid_t child = fork();
    if (child == 0) {
      const LayeredOutcome outcome = CheckLayered(model, folder, depth);
      std::ofstream(result) << Written(outcome);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const LayeredOutcome outcome = ReadOutcome(result);
    if (!outcome.failure.empty()) {
      report.failures.push_back(
          absl::StrCat("seed ", seed, ": ", outcome.failure, "\n", model.Command(), "\n", model.text));
      std::cout << report.failures.back() << std::endl;
    } else if (!outcome.refused.empty()) {
      ++report.refused[outcome.refused];
    } else {
      ++report.equal;
    }
    constexpr uint64_t kShown = 100;
    if ((seed - first_seed + 1) % kShown == 0) std::cout << report.Text() << std::endl;
  }
  return report;
}

}  // namespace cleave::tests::properties
