#include "tools/weights/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "tools/weights/adapters.h"
#include "tools/weights/compare.h"
#include "tools/weights/config_beside.h"
#include "tools/weights/mapping.h"
#include "tools/weights/output_words.h"
#include "tools/weights/source.h"
#include "tools/weights/table.h"
#include "tools/weights/transfer.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

struct WeightsOptions {
  std::string action, source, target;
  std::string map, base;
  OutputWords output;
  double tolerance = 0;
  int64_t heads = 0, vocabulary = 0;
  bool with_optimizer = false, force = false, adapter = false, partial = false;
};

constexpr int64_t kMostHeads = int64_t{1} << 20;
constexpr int64_t kMostSymbols = int64_t{1} << 40;

void AddWeightsOptions(CLI::App& app, WeightsOptions& options) {
  SetValue(app.add_option("ACTION", options.action, "What to do with the weights")->required(),
           "list|diff|export|import|merge");
  const std::string source = "FILE.safetensors|FILE.json|FOLDER";
  SetValue(
      app.add_option("SOURCE", options.source,
                     "A checkpoint or a folder of them (the last is taken), a .safetensors file, a folder or index of "
                     "several, or a folder of .npy files; import: also a folder in which PEFT has saved an adapter")
          ->required(),
      source);
  SetValue(app.add_option(
               "TARGET", options.target,
               "export, import, merge: a .safetensors file, or a folder for .npy files; diff: what to compare with"),
           source);
  SetValue(app.add_option("--map", options.map,
                          "export, import: the other program's names and order of values (default: they are the same)"),
           absl::StrCat(absl::StrJoin(MappingNames(), "|"), "|FILE.map"));
  SetValue(app.add_option("--heads", options.heads,
                          "export, import: how many heads attention has, for mappings with `qkv` (import: default from "
                          "config.json beside the source)")
               ->check(WholeNumber(1, kMostHeads)),
           "N");
  SetValue(app.add_option("--vocabulary", options.vocabulary,
                          "export: how many rows to keep of tensors whose rows count symbols (default: all)")
               ->check(WholeNumber(1, kMostSymbols)),
           "N");
  AddOutputWords(app, options.output, "export: ", "f32", "one file");
  app.add_flag("--with-optimizer", options.with_optimizer, "export: the optimizer's state of a checkpoint too");
  app.add_flag("--adapter", options.adapter, "export: the adapters of a checkpoint alone, into a folder as PEFT's");
  SetValue(app.add_option("--base", options.base,
                          "import of an adapter: the weights that it changes, which are written along"),
           source);
  app.add_flag("--partial", options.partial,
               "import: also where tensors of the mapping are missing, or tensors are not in it");
  app.add_flag("--force", options.force, "export, import, merge: replace files that exist");
  const auto is_tolerance = [](const std::string& text) -> std::string {
    double value = 0;
    if (absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0) return "";
    return absl::StrCat("`", text, "` is not a number of at least 0");
  };
  SetValue(app.add_option("--tolerance", options.tolerance, "diff: how much values may differ (default: 0)")
               ->check(CLI::Validator(is_tolerance, "")),
           "T");
  app.footer(
      "Exit code of diff 0: no value differs by more than the tolerance, 1: some do, or names or shapes differ.");
}

// What an action does not take, or lacks; empty: nothing.
std::string MistakeIn(const CLI::App& app, const WeightsOptions& options) {
  const std::string& action = options.action;
  const std::vector<std::pair<std::string, std::string>> takes = {
      {"--map", "export import"}, {"--heads", "export import"},
      {"--vocabulary", "export"}, {"--dtype", "export"},
      {"--shard-size", "export"}, {"--with-optimizer", "export"},
      {"--partial", "import"},    {"--force", "export import merge"},
      {"--tolerance", "diff"},    {"--adapter", "export"},
      {"--base", "import"}};
  for (const auto& [option, actions] : takes) {
    if (app.count(option) > 0 && !absl::StrContains(actions, action)) {
      return absl::StrCat("`", action, "` takes no `", option, "`");
    }
  }
  const bool is_of_adapter = action == "import" && IsPeftFolder(options.source);
  if (!options.base.empty() && !is_of_adapter) return "`--base` is for an adapter: SOURCE has no adapter_config.json";
  for (const char* const option : {"--vocabulary", "--with-optimizer", "--dtype", "--shard-size"}) {
    if (options.adapter && app.count(option) > 0)
      return absl::StrCat("`--adapter` and `", option, "` exclude each other");
  }
  if (action == "list") return options.target.empty() ? "" : absl::StrCat("unexpected `", options.target, "`");
  return options.target.empty() ? absl::StrCat("`", action, "` needs a TARGET") : "";
}

ExitCode PrintError(const Error& error, std::ostream& err) {
  err << "error: " << error.message << "\n";
  switch (error.code) {
    case runtime::ExitCode::kUsage:
      return ExitCode::kUsage;
    case runtime::ExitCode::kEnvironment:
      return ExitCode::kEnvironment;
    default:
      return ExitCode::kModelWrong;
  }
}

std::string FactsText(const runtime::Checkpoint& checkpoint) {
  const runtime::CheckpointFacts& facts = checkpoint.facts();
  std::vector<std::string> axes, settings;
  for (const runtime::MeshAxis& axis : checkpoint.mesh()) {
    axes.push_back(absl::StrCat(ShownName(axis.name), " = ", axis.size));
  }
  for (const auto& [name, value] : facts.settings) {
    settings.push_back(absl::StrCat(ShownName(name), " = ", ShownName(value)));
  }
  return absl::StrCat("model ", ShownName(facts.model), ", step ", facts.step, ", seed ", facts.seed, "\nwritten by ",
                      Plural(runtime::MeshSize(checkpoint.mesh()), "rank"),
                      axes.empty() ? "" : absl::StrCat(": ", absl::StrJoin(axes, ", ")), "\n",
                      settings.empty() ? "" : absl::StrCat("settings: ", absl::StrJoin(settings, ", "), "\n"));
}

std::string ListText(const WeightSource& source) {
  std::string text = absl::StrCat(ShownName(source.path()), "\n");
  if (source.checkpoint() != nullptr) absl::StrAppend(&text, FactsText(*source.checkpoint()));
  TextTable table({"tensor", "type", "shape", "bytes"});
  int64_t values = 0, bytes = 0, states = 0, state_bytes = 0;
  for (const WeightTensor& tensor : source.tensors()) {
    table.Add({ShownName(tensor.name), tensor.type, ShapeText(tensor.shape), FormatCount(tensor.bytes)});
    values += ValueCount(tensor.shape);
    bytes += tensor.bytes;
    if (tensor.parameter.empty()) continue;
    ++states;
    state_bytes += tensor.bytes;
  }
  absl::StrAppend(&text, table.Text(), Plural(static_cast<int64_t>(source.tensors().size()), "tensor"), ", ",
                  FormatCount(values), " values, ", FormatCount(bytes), " bytes");
  if (states > 0) {
    absl::StrAppend(&text, ", of which ", Plural(states, "tensor"), " and ", FormatCount(state_bytes),
                    " bytes are the optimizer's state");
  }
  return absl::StrCat(text, "\n");
}

// How many heads a config.json says that there are, and in which field; 0: it does not.
std::pair<const char*, int64_t> HeadsOf(const runtime::Json& config) {
  for (const char* const name : kHeadFields) {
    const Result<int64_t> heads = runtime::IntegerMember(config, name);
    if (heads.ok() && heads.value() > 0 && heads.value() <= kMostHeads) return {name, heads.value()};
  }
  return {"", 0};
}

// The mapping that is asked for, if one is.
Result<std::optional<Mapping>> MappingOf(const WeightsOptions& options) {
  if (options.map.empty()) return std::optional<Mapping>();
  Result<Mapping> read = ReadMapping(options.map);
  if (!read.ok()) return read.error();
  return std::optional<Mapping>(std::move(read.value()));
}

// What is done with adapters alone; nullopt for anything else.
std::optional<Result<std::string>> ActOnAdapters(const WeightsOptions& options) {
  const bool is_import = options.action == "import" && IsPeftFolder(options.source);
  if (!is_import && !options.adapter && options.action != "merge") return std::nullopt;
  const Result<std::optional<Mapping>> mapping = MappingOf(options);
  if (!mapping.ok()) return Result<std::string>(mapping.error());
  const AdapterTransfer transfer = {.mapping = mapping.value().has_value() ? &*mapping.value() : nullptr,
                                    .heads = options.heads,
                                    .replaced = options.force};
  const std::string& opened = is_import ? options.base : options.source;
  if (is_import && opened.empty()) return ImportAdapters(options.source, nullptr, options.target, transfer);
  const Result<WeightSource> source = WeightSource::Open(opened);
  if (!source.ok()) return Result<std::string>(source.error());
  if (is_import) return ImportAdapters(options.source, &source.value(), options.target, transfer);
  if (options.adapter) return ExportAdapters(source.value(), options.target, transfer);
  return MergeAdapters(source.value(), options.target, options.force);
}

// One tensor of each kind of name: layers differ in numbers alone.
std::vector<WeightTensor> OfEachKind(const std::vector<WeightTensor>& tensors) {
  std::vector<WeightTensor> kinds;
  std::set<std::string> seen;
  for (const WeightTensor& tensor : tensors) {
    std::string kind;
    for (const char c : tensor.name) {
      const bool is_digit = absl::ascii_isdigit(c);
      if (!is_digit || kind.empty() || kind.back() != '#') kind += is_digit ? '#' : c;
    }
    if (seen.insert(std::move(kind)).second) kinds.push_back(tensor);
  }
  return kinds;
}

// Of the cases of a mapping that has a name the one that leaves the least out, and of equal ones that with the fewest
// conditions. Whether tables are tied says config.json, if it does.
Result<Mapping> MappingFor(const std::string& name, const WeightSource& source, const TransferOptions& options,
                           const runtime::Json& config) {
  const std::vector<std::string> known = MappingConditions(name);
  const runtime::Json* const tied = config.Find("tie_word_embeddings");
  const std::vector<WeightTensor> kinds = OfEachKind(source.tensors());
  std::pair<size_t, size_t> best = {std::numeric_limits<size_t>::max(), 0};
  std::vector<std::string> chosen;
  for (uint64_t choice = 0; choice < uint64_t{1} << known.size(); ++choice) {
    std::vector<std::string> conditions;
    bool is_possible = true;
    for (size_t i = 0; i < known.size(); ++i) {
      const bool holds = (choice >> i & 1) != 0;
      if (holds) conditions.push_back(known[i]);
      is_possible &= known[i] != "tied" || tied == nullptr || tied->kind != runtime::Json::Kind::kBool ||
                     (tied->text == "true") == holds;
    }
    if (!is_possible) continue;
    const Result<Mapping> mapping = ReadMapping(name, conditions);
    if (!mapping.ok()) continue;
    const Result<Transfer> transfer = PlanTransfer(source.path(), kinds, &mapping.value(), options);
    if (!transfer.ok()) continue;
    const std::pair<size_t, size_t> score = {transfer.value().unused_lines + transfer.value().unmatched.size(),
                                             conditions.size()};
    if (score >= best) continue;
    best = score;
    chosen = std::move(conditions);
  }
  return ReadMapping(name, chosen);
}

std::optional<Error> Move(const WeightSource& source, const WeightsOptions& options, std::ostream& out) {
  const bool is_import = options.action == "import";
  const runtime::Json config = is_import ? ConfigBeside(source.path()) : runtime::Json();
  const auto [field, heads] = HeadsOf(config);
  if (options.heads > 0 && heads > 0 && options.heads != heads) {
    return Error{runtime::ExitCode::kInput, absl::StrCat("`--heads ", options.heads, "`, and config.json beside `",
                                                         ShownName(source.path()), "` says `", field, "` ", heads)};
  }
  const TransferOptions how = {.direction = is_import ? Direction::kImport : Direction::kExport,
                               .heads = options.heads > 0 ? options.heads : heads,
                               .vocabulary = options.vocabulary,
                               .has_states = options.with_optimizer};
  std::optional<Mapping> mapping;
  if (!options.map.empty()) {
    Result<Mapping> read = MappingFor(options.map, source, how, config);
    if (!read.ok()) return read.error();
    mapping = std::move(read.value());
  }
  const Result<Transfer> transfer =
      PlanTransfer(source.path(), source.tensors(), mapping.has_value() ? &*mapping : nullptr, how);
  if (!transfer.ok()) return transfer.error();
  if (is_import && !options.partial) {
    const std::string incomplete = IncompleteText(source.path(), transfer.value());
    if (!incomplete.empty()) return Error{runtime::ExitCode::kInput, incomplete};
  }
  const OutputOptions output = {.type = WeightTypeNamed(options.output.type).value_or(WeightType::kF32),
                                .shard_bytes = BytesOfSize(options.output.shard_size).value_or(0),
                                .is_replaced = options.force};
  if (auto error = RunTransfer(source, transfer.value(), options.target, output)) return error;
  out << TransferText(transfer.value(), output.type);
  return std::nullopt;
}

ExitCode Act(const WeightsOptions& options, std::ostream& out, std::ostream& err) {
  if (const auto done = ActOnAdapters(options)) {
    if (!done->ok()) return PrintError(done->error(), err);
    out << done->value();
    return ExitCode::kDone;
  }
  const Result<WeightSource> source = WeightSource::Open(options.source);
  if (!source.ok()) return PrintError(source.error(), err);
  if (options.action == "list") {
    out << ListText(source.value());
    return ExitCode::kDone;
  }
  if (options.action != "diff") {
    const std::optional<Error> error = Move(source.value(), options, out);
    return error.has_value() ? PrintError(*error, err) : ExitCode::kDone;
  }
  const Result<WeightSource> other = WeightSource::Open(options.target);
  if (!other.ok()) return PrintError(other.error(), err);
  const Result<WeightComparison> comparison = CompareWeights(source.value(), other.value(), options.tolerance);
  if (!comparison.ok()) return PrintError(comparison.error(), err);
  out << comparison.value().text;
  return comparison.value().is_within ? ExitCode::kDone : ExitCode::kDiffers;
}

}  // namespace

void DescribeWeights(CLI::App& app) { AddWeightsOptions(app, *new WeightsOptions); }

ExitCode RunWeights(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                    std::ostream& out, std::ostream& err) {
  WeightsOptions options;
  CLI::App app(summary, name);
  AddWeightsOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit, out, err);
  const std::string mistake = MistakeIn(app, options);
  if (!mistake.empty()) return Print(UsageError(ErrorFormat::kText, mistake), out, err);
  return Act(options, out, err);
}

}  // namespace cleave::tools
