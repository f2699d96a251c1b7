// Reading guide: Export::Run is the sequence: the folder of the import (`FindImport`), its config.json with what is
// asked for (`Configure`), what tensors a model of this config.json has (`Expected`), those of the checkpoint, and only
// when both agree files.
#include "tools/export/export.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/file/file.h"
#include "base/source/source.h"
#include "base/text/text.h"
#include "ir/graph/graph.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/safetensors/safetensors.h"
#include "tools/export/config_text.h"
#include "tools/import/config.h"
#include "tools/import/family.h"
#include "tools/import/model.h"
#include "tools/import/origin.h"
#include "tools/import/tensors.h"
#include "tools/pending_folder/pending_folder.h"
#include "tools/weights/mapping.h"
#include "tools/weights/output_words.h"
#include "tools/weights/source.h"
#include "tools/weights/transfer.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kWeightsName[] = "model.safetensors";
constexpr char kShardSize[] = "50GB";  // As save_pretrained of transformers 5 has it.
constexpr int64_t kMostVocabulary = (int64_t{1} << 31) - 1;

struct ExportOptions {
  std::string checkpoint, folder, from, map, error_format;
  OutputWords output;
  std::vector<std::string> settings;
  int64_t vocabulary = 0;
  bool force = false;
};

void AddExportOptions(CLI::App& app, ExportOptions& options) {
  SetValue(
      app.add_option("CHECKPOINT", options.checkpoint,
                     "What to export: a checkpoint or a folder of them (the last is taken), or a .safetensors file "
                     "under the names of the model")
          ->required(),
      "FOLDER|FILE.safetensors");
  SetValue(app.add_option("FOLDER", options.folder, "The folder to write, for transformers and what reads its folders")
               ->required(),
           "FOLDER");
  SetValue(
      app.add_option("--from", options.from,
                     "The folder that `cleave import` wrote (default: the one in which CHECKPOINT lies, or this one)"),
      "FOLDER");
  SetValue(
      app.add_option("--map", options.map, "The names of the weights there (default: the .map file of the import)"),
      "FILE.map");
  AddOutputWords(app, options.output, "", "as in config.json", kShardSize);
  SetValue(app.add_option("--vocabulary", options.vocabulary,
                          "How many symbols the exported model has: the first ones (default: as in config.json)")
               ->check(WholeNumber(1, kMostVocabulary)),
           "N");
  SetValue(app.add_option("--set", options.settings,
                          "Another value for a field of config.json, FIELD=VALUE, where the model was changed; may be "
                          "repeated")
               ->allow_extra_args(false),
           "FIELD=VALUE");
  app.add_flag("--force", options.force, "Replace a folder that an export wrote");
  SetValue(app.add_option("--error-format", options.error_format, "json: one object a line (default: text)"),
           "text|json");
}

// "model.safetensors", "model-00001-of-00002.safetensors", the index, and what an import keeps.
bool IsWrittenHere(const std::string& name) {
  if (std::count(OriginNames().begin(), OriginNames().end(), name) > 0) return true;
  if (name == kWeightsName || name == absl::StrCat(kWeightsName, ".index.json")) return true;
  absl::string_view rest = name;
  const auto skip_number = [&] {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(digits);
    return digits == 5;
  };
  return absl::ConsumePrefix(&rest, "model-") && skip_number() && absl::ConsumePrefix(&rest, "-of-") && skip_number() &&
         rest == ".safetensors";
}

bool IsImport(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kOriginFolder / "config.json", ignored);
}

// From the name of each tensor in the other program to its shape.
using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes ShapesOf(const Transfer& transfer) {
  Shapes shapes;
  for (const Move& move : transfer.moves) {
    for (const OutputTensor& target : move.targets) shapes[target.name] = target.shape;
  }
  return shapes;
}

class Export {
 public:
  Export(const ExportOptions& options, ErrorFormat format, std::ostream& out, std::ostream& err)
      : options_(options), format_(format), out_(out), err_(err) {}

  ExitCode Run() {
    if (!FindImport() || !Configure()) return Report();
    const std::optional<Mapping> mapping = FindMapping();
    const std::optional<Shapes> expected = mapping.has_value() ? Expected() : std::nullopt;
    if (!expected.has_value()) return Report();
    const runtime::Result<WeightSource> source = WeightSource::Open(options_.checkpoint);
    if (!source.ok()) return WrongWeights(source.error());
    const runtime::Result<Transfer> transfer =
        PlanTransfer(source.value().path(), source.value().tensors(), &*mapping, TransferOf(options_.vocabulary));
    if (!transfer.ok()) return WrongWeights(transfer.error());
    Compare(*expected, ShapesOf(transfer.value()));
    return diagnostics_.has_errors() ? Report() : Write(source.value(), transfer.value());
  }

 private:
  ExitCode Report(ExitCode code = ExitCode::kModelWrong) {
    err_ << DiagnosticsText(format_, diagnostics_, sources_);
    return code;
  }

  ExitCode WrongWeights(const runtime::Error& error) {
    diagnostics_.Add(Error(Code::kE0617, error.message));
    return Report(error.code == runtime::ExitCode::kEnvironment ? ExitCode::kEnvironment : ExitCode::kModelWrong);
  }

  // Sets from_: the folder that is named, or CHECKPOINT or what it lies in, or this one. Two of them are a question.
  bool FindImport() {
    const std::string help = "name the folder that `cleave import` wrote: `--from FOLDER`";
    if (!options_.from.empty()) {
      from_ = options_.from;
      if (IsImport(from_)) return true;
      diagnostics_.Add(Error(Code::kE0618, absl::StrCat(QuotedPath(options_.from), " has no `", kOriginFolder,
                                                        "/config.json`, which `cleave import` writes"))
                           .Help(help));
      return false;
    }
    std::error_code ignored;
    const fs::path here = fs::current_path(ignored);
    fs::path around = fs::weakly_canonical(fs::absolute(options_.checkpoint, ignored), ignored);
    while (around.has_relative_path() && !IsImport(around)) around = around.parent_path();
    const bool is_around = IsImport(around), is_here = IsImport(here);
    if (is_around && is_here && !fs::equivalent(around, here, ignored)) {
      diagnostics_.Add(Error(Code::kE0618, absl::StrCat("the weights may be those of ", QuotedPath(around.string()),
                                                        " and of ", QuotedPath(here.string())))
                           .Help(help));
      return false;
    }
    from_ = is_around ? around : here;
    if (is_around || is_here) return true;
    diagnostics_.Add(Error(Code::kE0618, absl::StrCat("no folder of an import is around ",
                                                      QuotedPath(options_.checkpoint), ", nor here"))
                         .Help(help));
    return false;
  }

  std::optional<Mapping> FindMapping() {
    std::string path = options_.map;
    if (path.empty()) {
      std::vector<std::string> found;
      std::error_code error;
      for (fs::directory_iterator entry(from_, error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path().extension() == ".map") found.push_back(entry->path().filename().string());
      }
      std::sort(found.begin(), found.end());
      if (found.size() != 1) {
        const std::string what =
            found.empty() ? "no .map file" : absl::StrCat("the mappings ", QuotedList(found, "and"));
        diagnostics_.Add(Error(Code::kE0618, absl::StrCat(QuotedPath(from_.string()), " has ", what))
                             .Help("say which names the weights have there: `--map FILE.map`"));
        return std::nullopt;
      }
      path = (from_ / found[0]).string();
    }
    runtime::Result<Mapping> mapping = ReadMapping(path);
    if (mapping.ok()) return std::move(mapping.value());
    diagnostics_.Add(Error(Code::kE0618, mapping.error().message));
    return std::nullopt;
  }

  // Reads what the import has kept, and makes the config.json that is written: the type of the values, the class of the
  // model, and what was asked for.
  bool Configure() {
    std::optional<std::vector<OriginFile>> files = ReadOrigin((from_ / kOriginFolder).string(), diagnostics_);
    if (!files.has_value()) return false;
    files_ = *std::move(files);
    CLEAVE_CHECK(!files_.empty());  // FindImport has seen config.json.
    const std::string path = (from_ / kOriginFolder / "config.json").string();
    // Its mistakes are told as they stand in the file.
    std::optional<Config> config = ParseConfig(path, files_[0].text, sources_, diagnostics_);
    if (!config.has_value()) return false;
    family_ = FamilyOf(*config, sources_, diagnostics_);
    if (family_ == nullptr) return false;
    for (const std::string& setting : options_.settings) {
      if (!Set(setting)) return false;
    }
    if (options_.vocabulary > 0 && !Set(absl::StrCat("vocab_size=", options_.vocabulary))) return false;
    if (files_[0].text != sources_.file(config->file).text()) {
      config = ParseConfig(path + ", changed", files_[0].text, sources_, diagnostics_);
      if (!config.has_value()) return false;
    }
    // What the import knew nothing of, and let pass, passes here.
    const std::vector<std::string> unknown = UnknownFields(*family_, *config);
    std::optional<TemplateValues> values =
        ReadConfig(*family_, *config, {unknown.begin(), unknown.end()}, sources_, diagnostics_);
    if (!values.has_value()) return false;
    values_ = WithWhatFollows(*family_, *std::move(values));
    ReplaceClass(config->json);
    ReplaceType(config->json);
    return true;
  }

  bool Replace(const std::string& path, const std::string& value) {
    std::optional<std::string> text = WithField(files_[0].text, path, value);
    if (text.has_value()) files_[0].text = *std::move(text);
    return text.has_value();
  }

  bool Set(const std::string& setting) {
    const size_t equals = setting.find('=');
    const std::string field = setting.substr(0, equals);
    if (!IsKnownField(*family_, field) || field == "model_type") {
      diagnostics_.Add(Error(Code::kE0616, absl::StrCat("`--set ", setting, "` names no field of config.json that ",
                                                        family_->title, " has")));
      return false;
    }
    std::string value = setting.substr(equals + 1);
    if (!runtime::ParseJson(value).ok()) value = absl::StrCat("\"", runtime::JsonEscaped(value), "\"");
    if (Replace(field, value)) return true;
    diagnostics_.Add(Error(Code::kE0616, absl::StrCat("config.json has no object for the field `", field, "`")));
    return false;
  }

  // The class of transformers whose weights these are.
  const std::string& ModelClass() const {
    const auto rule = std::find_if(family_->rules.begin(), family_->rules.end(),
                                   [](const FieldRule& each) { return each.fields[0] == "architectures"; });
    CLEAVE_CHECK(rule != family_->rules.end() && !rule->words.empty()) << family_->name;
    return rule->words[0];
  }

  void ReplaceClass(const runtime::Json& config) {
    const runtime::Json* const architectures = config.Find("architectures");
    const std::string& model = ModelClass();
    const bool is_said = architectures != nullptr && architectures->items.size() == 1;
    if (!is_said || architectures->items[0].text != model) {
      Replace("architectures", absl::StrCat("[\"", model, "\"]"));
    }
  }

  // `--dtype`, or the type that config.json says, under each of the two names that it may have.
  void ReplaceType(const runtime::Json& config) {
    const std::map<std::string, WeightType> types = {
        {"float32", WeightType::kF32}, {"bfloat16", WeightType::kBf16}, {"float16", WeightType::kF16}};
    std::vector<std::string> names;
    for (const char* const name : {"torch_dtype", "dtype"}) {
      const runtime::Json* const field = config.Find(name);
      const auto found = field == nullptr ? types.end() : types.find(field->text);
      if (found == types.end()) continue;
      names.push_back(name);
      output_.type = found->second;
    }
    if (names.empty()) names = {"torch_dtype"};
    output_.type = WeightTypeNamed(options_.output.type).value_or(output_.type);
    for (const auto& [text, type] : types) {
      for (const std::string& name : type == output_.type ? names : std::vector<std::string>()) {
        Replace(name, absl::StrCat("\"", text, "\""));
      }
    }
  }

  TransferOptions TransferOf(int64_t vocabulary) const {
    return {.direction = Direction::kExport, .heads = HeadsOf(values_), .vocabulary = vocabulary};
  }

  // The tensors of a model that has this config.json: what the family's mapping makes of the parameters of its model.
  std::optional<Shapes> Expected() {
    const std::optional<std::string> model = LaidOutModel(*family_, values_, sources_, diagnostics_);
    const std::optional<ir::Graph> graph = model.has_value() ? GraphOf(*model, diagnostics_) : std::nullopt;
    if (!graph.has_value()) return std::nullopt;
    std::vector<WeightTensor> parameters;
    for (const ir::Op& op : graph->ops) {
      if (op.kind != ir::OpKind::kParameter) continue;
      WeightTensor parameter = {.name = op.name, .type = "F32"};
      parameter.shape.assign(op.type.shape.begin(), op.type.shape.end());
      parameters.push_back(std::move(parameter));
    }
    const runtime::Result<Mapping> mapping = ParseMapping(family_->mapping, MapText(*family_, values_));
    CLEAVE_CHECK(mapping.ok()) << mapping.error().message;
    const runtime::Result<Transfer> transfer = PlanTransfer("config.json", parameters, &mapping.value(), TransferOf(0));
    if (transfer.ok()) return ShapesOf(transfer.value());
    diagnostics_.Add(Error(Code::kE0616, transfer.error().message));
    return std::nullopt;
  }

  void Compare(const Shapes& expected, const Shapes& given) {
    std::vector<std::string> missing, wrong, unwanted;
    for (const auto& [name, shape] : expected) {
      const auto found = given.find(name);
      if (found == given.end()) {
        missing.push_back(absl::StrCat("`", name, "` ", ShapeText(shape)));
      } else if (found->second != shape) {
        wrong.push_back(
            absl::StrCat("`", name, "` is ", ShapeText(found->second), ", and by config.json ", ShapeText(shape)));
      }
    }
    for (const auto& [name, shape] : given) {
      if (expected.count(name) == 0) unwanted.push_back(absl::StrCat("`", ShownName(name), "` ", ShapeText(shape)));
    }
    const std::string help =
        "for a model that was changed say what config.json should say: `--set FIELD=VALUE`, or `--vocabulary N`";
    AddTensorErrors("config.json asks for other shapes of ", wrong, help, diagnostics_);
    AddTensorErrors("the weights lack what config.json asks for: ", missing, help, diagnostics_);
    AddTensorErrors("the weights have what the model of config.json has not: ", unwanted, help, diagnostics_);
  }

  ExitCode NotWritten(const runtime::Error& error) {
    switch (error.code) {
      case runtime::ExitCode::kUsage:
        diagnostics_.Add(Error(Code::kE0601, error.message).Help("name another folder, or one that does not exist"));
        return Report(ExitCode::kEnvironment);
      case runtime::ExitCode::kEnvironment:
        diagnostics_.Add(Error(Code::kE0602, error.message));
        return Report(ExitCode::kEnvironment);
      default:
        return WrongWeights(error);
    }
  }

  ExitCode Write(const WeightSource& source, const Transfer& transfer) {
    std::error_code ignored;
    for (const fs::path& kept : {from_, from_ / kOriginFolder}) {
      if (!fs::equivalent(options_.folder, kept, ignored)) continue;
      return NotWritten({runtime::ExitCode::kUsage,
                         absl::StrCat(QuotedPath(options_.folder), " is the folder by which is exported")});
    }
    runtime::Result<PendingFolder> folder = PendingFolder::Create(options_.folder, IsWrittenHere, options_.force);
    if (!folder.ok()) return NotWritten(folder.error());
    const fs::path path = folder.value().path();
    const std::string size = options_.output.shard_size.empty() ? kShardSize : options_.output.shard_size;
    output_.shard_bytes = BytesOfSize(size).value_or(0);
    if (auto error = RunTransfer(source, transfer, (path / kWeightsName).string(), output_)) return NotWritten(*error);
    for (const OriginFile& file : files_) {
      if (auto error = WriteText((path / file.name).string(), file.text)) return NotWritten(*error);
    }
    std::vector<std::string> names;
    for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
      names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    if (auto error = folder.value().Rename()) return NotWritten(*error);
    int64_t tensors = 0, values = 0;
    for (const auto& [name, shape] : ShapesOf(transfer)) {
      ++tensors;
      values += ValueCount(shape);
    }
    out_ << family_->title << " of " << ShownName(source.path()) << ": " << Plural(tensors, "tensor") << ", "
         << FormatCount(values) << " values, " << FormatCount(values * BytesOf(output_.type)) << " bytes in "
         << WeightTypeName(output_.type) << "\n";
    for (const std::string& name : names) out_ << "wrote " << (fs::path(options_.folder) / name).string() << "\n";
    return ExitCode::kDone;
  }

  const ExportOptions& options_;
  const ErrorFormat format_;
  std::ostream& out_;
  std::ostream& err_;
  SourceSet sources_;
  Diagnostics diagnostics_;
  fs::path from_;
  std::vector<OriginFile> files_;  // As they are written; config.json is the first.
  const Family* family_ = nullptr;
  TemplateValues values_;
  OutputOptions output_;
};

}  // namespace

void DescribeExport(CLI::App& app) { AddExportOptions(app, *new ExportOptions); }

ExitCode RunExport(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                   std::ostream& out, std::ostream& err) {
  ExportOptions options;
  CLI::App app(summary, name);
  AddExportOptions(app, options);
  const ErrorFormat format = FormatAskedFor(words);
  if (const auto exit = Parse(app, words, format)) return Print(*exit, out, err);
  for (const std::string& setting : options.settings) {
    if (setting.find('=') != std::string::npos) continue;
    return Print(UsageError(format, absl::StrCat("`--set ", setting, "` is not FIELD=VALUE")), out, err);
  }
  return Export(options, format, out, err).Run();
}

}  // namespace cleave::tools
