#include "tests/properties/run_batch.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "codegen/codegen.h"
#include "codegen/fixtures/fast_make.h"
#include "ir/graph/scalar/scalar.h"
#include "ir/graph/training/training.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/proof/check/conditioning.h"
#include "ir/proof/interpret/interpret.h"
#include "tests/properties/run_driver.h"
#include "tests/support/command.h"

namespace cleave::tests::properties {
namespace {

constexpr int kSteps = 2;
constexpr double kRounding = 1e-6;  // Of an f32 operation, with some room.
constexpr double kRoundingOfBf16 = 1.0 / 256;
constexpr double kTolerance32 = 1e-4;
constexpr double kMostMovement = 1e-3;  // An element that rounding errors move by more than this cannot be compared.
constexpr double kMostMovementInBf16 = 0.1;
constexpr int kDraws = 4;  // Of rounding errors.

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

bool HasText(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

// A tensor that one device makes, and how far rounding moves each element, relative to the largest, or absolute
// below 1.
struct Expected {
  ir::Tensor tensor;
  double scale = 1;
  std::vector<double> movement;
};

using ExpectedStep = std::map<std::string, Expected>;  // By the names that the driver prints.

// One case of a batch.
struct Member {
  uint64_t seed = 0;
  std::string name;  // "case_3"
  PlannedGraph sample;
  ir::SourceValues sources;
  std::vector<ExpectedStep> steps;
};

// The values that the driver prints, by name.
std::map<std::string, ir::OpId> PrintedValues(const ir::Graph& graph) {
  std::map<std::string, ir::OpId> printed = {{"loss", *graph.loss}};
  for (size_t i = 0; i < graph.metrics.size(); ++i) printed[absl::StrCat("metric_", i)] = graph.metrics[i].value;
  for (const ir::StateUpdate& update : graph.updates) {
    const ir::Op& state = graph.op(update.state);
    if (state.kind == ir::OpKind::kParameter) printed[state.name] = update.value;
  }
  return printed;
}

// Each state takes its new value.
void UpdateStates(const ir::Graph& graph, const IdVector<ir::OpId, ir::Tensor>& values, ir::SourceValues& sources) {
  for (const ir::StateUpdate& update : graph.updates) sources[update.state] = values[update.value];
}

// Whether a value is too large for f32: what a program computes from it is infinite or no number.
bool Overflows(const IdVector<ir::OpId, ir::Tensor>& values) {
  return std::any_of(values.begin(), values.end(), [](const ir::Tensor& tensor) {
    return std::any_of(tensor.values.begin(), tensor.values.end(),
                       [](double value) { return std::abs(value) > std::numeric_limits<float>::max(); });
  });
}

void AddMovement(const ir::Tensor& moved, Expected& expected) {
  for (size_t i = 0; i < moved.values.size(); ++i) {
    const double calm = expected.tensor.values[i];
    double& movement = expected.movement[i];
    if (std::isfinite(calm) != std::isfinite(moved.values[i])) movement = INFINITY;
    if (std::isfinite(calm)) movement = std::max(movement, std::abs(calm - moved.values[i]) / expected.scale);
  }
}

// Runs the interpreter's steps, and repeats them several times with rounding errors like those of f32, which the states
// carry from step to step.
void Interpret(Member& member) {
  const ir::Graph& graph = member.sample.graph;
  const std::map<std::string, ir::OpId> printed = PrintedValues(graph);
  ir::SourceValues sources = member.sources;
  std::vector<ir::SourceValues> disturbed(kDraws, member.sources);
  std::mt19937_64 random(member.seed);
  bool overflows = false;
  for (int step = 1; step <= kSteps; ++step) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, step);
    UpdateStates(graph, values, sources);
    overflows |= Overflows(values);
    ExpectedStep& expected = member.steps.emplace_back();
    for (const auto& [name, id] : printed) {
      double scale = 1;
      for (double value : values[id].values) scale = std::max(scale, std::abs(value));
      expected[name] = {.tensor = values[id],
                        .scale = scale,
                        .movement = std::vector<double>(values[id].values.size(), overflows ? INFINITY : 0)};
    }
    for (ir::SourceValues& moving : disturbed) {
      const IdVector<ir::OpId, ir::Tensor> moved =
          ir::InterpretDisturbed(kRounding, graph, moving, step, random, kRoundingOfBf16);
      UpdateStates(graph, moved, moving);
      for (const auto& [name, id] : printed) AddMovement(moved[id], expected[name]);
    }
  }
}

// With all digits.
std::string NumbersText(const std::vector<double>& numbers) {
  return absl::StrJoin(numbers, " ",
                       [](std::string* out, double number) { absl::StrAppendFormat(out, "%.17g", number); });
}

std::string SourcesText(const Member& member) {
  std::string text;
  for (const auto& [id, tensor] : member.sources) {
    const ir::Op& op = member.sample.graph.op(id);
    const std::string name = op.kind == ir::OpKind::kInput ? op.attributes.Get(ir::attribute::kData) : op.name;
    absl::StrAppend(&text, name, " ", tensor.values.size(), " ", NumbersText(tensor.values), "\n");
  }
  return text;
}

// The sources of the program: f32 parameters and inputs, samples that count or do not, and the optimizer's initial
// state.
ir::SourceValues ProgramSources(const ir::Graph& graph) {
  ir::SourceValues sources = ir::RandomSources(graph, /*seed=*/1);
  for (auto& [id, tensor] : sources) {
    const ir::Op& op = graph.op(id);
    for (double& value : tensor.values) {
      if (op.name == "sample_mask") value = value > 0 ? 1 : 0;
      value = op.kind == ir::OpKind::kState ? 0 : static_cast<double>(static_cast<float>(value));
    }
  }
  return sources;
}

// Compares the lines that one rank has printed.
void CompareRank(const Member& member, const std::string& folder, int rank, double most_movement, BatchReport& report) {
  std::ifstream file(absl::StrCat(folder, "/", member.name, ".out.", rank));
  std::set<std::string> seen;
  int step = 0;
  std::string name;
  size_t element = 0;
  std::string printed;
  while (file >> step >> name >> element >> printed) {
    const ExpectedStep& values = member.steps[static_cast<size_t>(step) - 1];
    const auto found = values.find(name);
    if (found == values.end()) continue;  // This parameter is not trained.
    seen.insert(absl::StrCat(step, name));
    const Expected& expected = found->second;
    const double movement = expected.movement[element];
    if (movement > most_movement) {
      ++report.left_out;
      continue;
    }
    ++report.compared;
    const double actual = std::strtod(printed.c_str(), nullptr);
    const double wanted = expected.tensor.values[element];
    const double tolerance = (kTolerance32 + 10 * movement) * expected.scale;
    const bool same = actual == wanted || (std::isnan(actual) && std::isnan(wanted));
    if (same || std::abs(actual - wanted) <= tolerance) continue;
    report.failures.push_back(absl::StrCat("seed ", member.seed, ": step ", step, ", rank ", rank, ", `", name,
                                           "` element ", element, " is ", printed, ", the interpreter has ", wanted,
                                           ", tolerance ", tolerance));
    return;
  }
  if (seen.count(absl::StrCat(kSteps, "loss")) == 0) {
    report.failures.push_back(absl::StrCat("seed ", member.seed, ": rank ", rank, " did not finish"));
  }
}

std::string MeshText(const ir::Mesh& mesh) {
  return absl::StrCat("{",
                      absl::StrJoin(mesh.axes(), ", ",
                                    [](std::string* out, const ir::MeshAxis& axis) {
                                      absl::StrAppend(out, "{\"", axis.name, "\", ", axis.size, "}");
                                    }),
                      "}");
}

// The folders of the runtime that have been written: all cases use one set of objects.
std::string RuntimeFolders(const std::string& folder) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/runtime")) {
    if (entry.path().extension() == ".cc") {
      folders.insert(std::filesystem::relative(entry.path().parent_path(), folder).string());
    }
  }
  return absl::StrJoin(folders, " ");
}

// The header through which a program includes the runtime has the lines that this program needs. Programs that are
// compiled together need the lines of all.
constexpr char kRuntimeHeader[] = "runtime/runtime.h";

void AddIncludes(const std::string& header, std::set<std::string>& includes) {
  for (const absl::string_view line : absl::StrSplit(header, '\n')) {
    if (absl::StartsWith(line, "#include")) includes.insert(std::string(line));
  }
}

// The settings that the program's text needs: a learning rate with the number that flags change. It is no rate of the
// graph, so that the program computes those itself and takes none of the driver's.
ir::Training TrainingOf(const ir::Graph& graph) {
  ir::Training training;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kStepScalar) continue;
    for (const ir::Scalar& node : ir::NodesOf(*ir::ParseScalar(op.attributes.Get(ir::attribute::kFormula)))) {
      const bool is_named = node.Is(ir::Primitive::kNumber) && !node.name().empty();
      if (is_named) training.learning_rate = ir::ScalarText(ir::Scalar(0.0) + node);
    }
  }
  return training;
}

// Generates the case's program into the folder, and adds what it includes of the runtime; false for a case that cannot
// be generated.
bool Generate(const Member& member, const std::string& folder, std::set<std::string>& includes, BatchReport& report) {
  const absl::StatusOr<Compiled> compiled = Compile(member.sample);
  absl::Status status = compiled.status();
  if (compiled.ok()) {
    const auto files =
        codegen::GenerateCpu({compiled->distributed.graph, compiled->program,
                              ir::PlanMemory(compiled->distributed.graph, compiled->program, codegen::FusedByCpu()),
                              TrainingOf(compiled->distributed.graph)});
    status = files.status();
    for (const codegen::GeneratedFile& file : files.ok() ? *files : std::vector<codegen::GeneratedFile>{}) {
      if (file.path == kRuntimeHeader) {
        AddIncludes(file.text, includes);
        continue;
      }
      const bool is_program = file.path == "program.cc";
      const std::string path = absl::StrCat(folder, "/", is_program ? member.name + ".cc" : file.path);
      if (!HasText(path, file.text)) Write(path, file.text);
    }
  }
  if (!status.ok()) report.failures.push_back(absl::StrCat("seed ", member.seed, ": ", status.message()));
  return status.ok();
}

std::string DriverText(const std::vector<Member>& members, const ir::Mesh& mesh) {
  std::string programs, runs;
  for (const Member& member : members) {
    absl::StrAppend(&programs, "#define main Main\nnamespace ", member.name, " {\n#include \"", member.name,
                    ".cc\"\n}\n#undef main\n");
    absl::StrAppend(&runs, "  Run<", member.name, "::RandomModel>(\"", member.name, "\", ",
                    member.sample.graph.metrics.size(), ", mesh, *comm.value(), watch);\n");
  }
  return absl::StrReplaceAll(kDriver, {{"@PROGRAMS@", programs},
                                       {"@MESH@", MeshText(mesh)},
                                       {"@RATE@", ir::Training().learning_rate},
                                       {"@RUNS@", runs}});
}

}  // namespace

void BatchReport::Add(const BatchReport& other) {
  compared += other.compared;
  left_out += other.left_out;
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

std::string BatchReport::Summary() const {
  return absl::StrCat(compared, " numbers compared, ", left_out, " depend on rounding");
}

BatchReport RunBatch(const std::string& folder, const ir::Mesh& mesh, const std::vector<uint64_t>& seeds,
                     const CaseOptions& options) {
  std::vector<BatchCase> cases;
  CaseOptions on_cpu = options;
  on_cpu.offloads = false;
  for (const uint64_t seed : seeds) cases.push_back({.seed = seed, .sample = RandomCaseOn(mesh, seed, on_cpu)});
  return RunBatch(folder, mesh, std::move(cases), options.precision);
}

BatchReport RunBatch(const std::string& folder, const ir::Mesh& mesh, std::vector<BatchCase> cases,
                     ir::Precision precision) {
  const double most_movement = precision == ir::Precision::kBf16 ? kMostMovementInBf16 : kMostMovement;
  BatchReport report;
  std::vector<Member> members;
  std::set<std::string> includes;
  for (BatchCase& one : cases) {
    Member member{.seed = one.seed,
                  .name = absl::StrCat("case_", members.size()),
                  .sample = std::move(one.sample),
                  .sources = {},
                  .steps = {}};
    member.sources = ProgramSources(member.sample.graph);
    if (!Generate(member, folder, includes, report)) continue;
    Interpret(member);
    Write(absl::StrCat(folder, "/", member.name, ".sources"), SourcesText(member));
    members.push_back(std::move(member));
  }
  Write(absl::StrCat(folder, "/", kRuntimeHeader), absl::StrCat("#pragma once\n", absl::StrJoin(includes, "\n"), "\n"));
  Write(folder + "/driver.cc", DriverText(members, mesh));
  const std::string build = absl::StrCat("cd '", folder, "' && rm -f *.out.* && ", codegen::FastMake(),
                                         " MAIN=driver.cc FOLDERS='", RuntimeFolders(folder), "'");
  const std::string run = absl::StrCat(
      "cd '", folder, "' && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 ",
      "OMPI_MCA_rmaps_base_oversubscribe=1 mpirun --bind-to none --oversubscribe -n ", mesh.rank_count(), " ./program");
  for (const std::string& command : {build, run}) {
    const CommandResult result = RunCommand({"sh", "-c", command});
    if (result.exit_code == 0) continue;
    report.failures.push_back(absl::StrCat("batch of seed ", members.empty() ? 0 : members.front().seed, ": ", command,
                                           "\n", result.out, result.err));
    return report;
  }
  for (const Member& member : members) {
    for (int rank = 0; rank < mesh.rank_count(); ++rank) CompareRank(member, folder, rank, most_movement, report);
  }
  return report;
}

}  // namespace cleave::tests::properties
