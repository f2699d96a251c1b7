// Reading guide: Import::Run is the sequence: config.json, the model's text and what the compiler says of it, the plan
// of the weights' transfer, and only then files.
#include "tools/import/import.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/diagnostic/diagnostic.h"
#include "base/file/file.h"
#include "base/source/source.h"
#include "base/text/text.h"
#include "tools/import/config.h"
#include "tools/import/family.h"
#include "tools/import/generation.h"
#include "tools/import/model.h"
#include "tools/import/origin.h"
#include "tools/import/tensors.h"
#include "tools/weights/mapping.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"
#include "tools/weights/transfer.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kWeights[] = "weights.safetensors";

struct ImportOptions {
  std::string folder, out, name, error_format;
  std::vector<std::string> ignored;
  bool chat = false;
  bool no_pack = false;
  bool dpo = false;
  bool force = false;
};

void AddOptions(CLI::App& app, ImportOptions& options) {
  SetValue(app.add_option("FOLDER", options.folder, "A folder of Hugging Face: config.json and its .safetensors files")
               ->required(),
           "FOLDER");
  SetValue(app.add_option("--out", options.out, "Where to write (default: a folder here that is called NAME)"),
           "FOLDER");
  SetValue(app.add_option("--name", options.name, "What to call the model's file (default: as FOLDER is called)"),
           "NAME");
  SetValue(app.add_option("--ignore", options.ignored,
                          "A field of config.json that is not known and changes nothing; may be repeated")
               ->allow_extra_args(false),
           "FIELD");
  CLI::Option* const chat = app.add_flag("--chat", options.chat,
                                         "The model learns from conversations: what `cleave data chat` makes of them");
  app.add_flag("--no-pack", options.no_pack, "With --chat: one conversation a row (default: as many as fit)")
      ->needs(chat);
  app.add_flag("--dpo", options.dpo,
               "The model learns which of two answers is preferred: what `cleave data pairs` makes of them")
      ->excludes(chat);
  app.add_flag("--force", options.force, "Replace files that exist");
  SetValue(app.add_option("--error-format", options.error_format, "json: one object a line (default: text)"),
           "text|json");
}

// A name for files and programs, of letters, digits and `_`.
std::string FileNameOf(const std::string& text, const std::string& family) {
  std::string name;
  for (const char c : text.substr(0, 60)) name += absl::ascii_isalnum(c) ? absl::ascii_tolower(c) : '_';
  const bool has_letter = std::any_of(name.begin(), name.end(), absl::ascii_isalpha);
  if (!has_letter) return family;
  return absl::ascii_isdigit(name[0]) ? absl::StrCat(family, "_", name) : name;
}

// A word of a shell.
std::string ShellWord(const std::string& text) {
  const auto is_plain = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("/._-+=:@%", c); };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) absl::StrAppend(&word, c == '\'' ? "'\\''" : std::string(1, c));
  return word + "'";
}

class Import {
 public:
  Import(const ImportOptions& options, ErrorFormat format, std::ostream& out, std::ostream& err)
      : options_(options), format_(format), out_(out), err_(err) {}

  ExitCode Run() {
    const std::optional<Config> config = LoadConfig(options_.folder, sources_, diagnostics_);
    if (!config.has_value()) return Report();
    family_ = FamilyOf(*config, sources_, diagnostics_);
    if (family_ == nullptr) return Report();
    std::optional<TemplateValues> values =
        ReadConfig(*family_, *config, {options_.ignored.begin(), options_.ignored.end()}, sources_, diagnostics_);
    if (!values.has_value()) return Report();
    values_ = *std::move(values);
    std::optional<std::vector<OriginFile>> origin = ReadOrigin(options_.folder, diagnostics_);
    if (!origin.has_value()) return Report();
    origin_ = *std::move(origin);
    const std::optional<Generation> generation = ReadGeneration(origin_, diagnostics_);
    if (!generation.has_value()) return Report();
    if ((options_.chat || options_.dpo) && Holds(values_, "data")) {
      diagnostics_.Add(
          Error(Code::kE0616, absl::StrCat("a ", family_->title, " model does not answer"))
              .Note(absl::StrCat("`--", options_.dpo ? "dpo" : "chat", "` is for models that go on with a text")));
      return Report();
    }
    Complete(*generation);
    const std::optional<std::string> model = LaidOutModel(*family_, values_, sources_, diagnostics_);
    if (!model.has_value()) return Report();
    std::optional<ir::Graph> graph = GraphOf(*model, diagnostics_);
    if (!graph.has_value()) return Report();
    graph_ = *std::move(graph);
    return Move(*model);
  }

 private:
  ExitCode Report(ExitCode code = ExitCode::kModelWrong) {
    err_ << DiagnosticsText(format_, diagnostics_, sources_);
    return code;
  }

  // Values that do not stand in config.json.
  void Complete(const Generation& generation) {
    fs::path folder = fs::absolute(options_.folder).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    name_ = options_.name.empty() ? FileNameOf(folder.filename().string(), family_->name) : options_.name;
    out_folder_ = options_.out.empty() ? name_ : options_.out;
    const bool is_packed = options_.chat && !options_.no_pack;
    values_["chat"] = options_.chat ? "true" : "";
    values_["pairs"] = options_.dpo ? "true" : "";
    values_["packed"] = is_packed ? "true" : "";
    values_["no_pack"] = is_packed ? "" : " --no-pack";
    values_ = WithWhatFollows(*family_, std::move(values_));
    values_["file"] = name_;
    values_["source"] = ShellWord(folder.string());
    values_["tokenizer"] = FindFile(origin_, "tokenizer.json") != nullptr ? "true" : "";
    for (const std::string& word : generation.flags) absl::StrAppend(&values_["generation"], " ", ShellWord(word));
    values_["generation"];
    values_["not_done"] = absl::StrJoin(generation.not_done, ", ");
  }

  // Of what an import keeps as it is.
  std::string OriginPathOf(const std::string& file) const { return PathOf(absl::StrCat(kOriginFolder, "/", file)); }

  std::string PathOf(const std::string& file) const { return (fs::path(out_folder_) / file).string(); }

  // What to do about a folder that has weights of another kind.
  std::string HelpWithoutWeights() const {
    for (const char* const file : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
      std::error_code ignored;
      if (!fs::exists(fs::path(options_.folder) / file, ignored)) continue;
      return absl::StrCat("`", file,
                          "` can hold any program, and is not read: load the folder in transformers, and "
                          "`save_pretrained` it as safetensors");
    }
    return "";
  }

  ExitCode WrongWeights(const runtime::Error& error, const std::string& help = "") {
    Diagnostic wrong = Error(Code::kE0617, error.message);
    if (!help.empty()) wrong.help.push_back(help);
    diagnostics_.Add(std::move(wrong));
    return Report(error.code == runtime::ExitCode::kEnvironment ? ExitCode::kEnvironment : ExitCode::kModelWrong);
  }

  ExitCode Move(const std::string& model) {
    const std::string map = MapText(*family_, values_);
    const runtime::Result<Mapping> mapping = ParseMapping(absl::StrCat("`", name_, ".map`"), map);
    CLEAVE_CHECK(mapping.ok()) << mapping.error().message;
    const runtime::Result<WeightSource> source = WeightSource::Open(options_.folder);
    if (!source.ok()) return WrongWeights(source.error(), HelpWithoutWeights());
    const int64_t heads = HeadsOf(values_);
    const runtime::Result<Transfer> transfer =
        PlanTransfer(source.value().path(), source.value().tensors(), &mapping.value(),
                     {.direction = Direction::kImport, .heads = heads});
    if (!transfer.ok()) return WrongWeights(transfer.error());
    CheckTensors(graph_, mapping.value(), transfer.value(), diagnostics_);
    if (diagnostics_.has_errors()) return Report();
    values_["export_heads"] = mapping.value().HasQkv() ? absl::StrCat(" --heads ", heads) : "";
    const std::vector<std::pair<std::string, std::string>> texts = {
        {name_ + ".model", model}, {name_ + ".map", map}, {"README.md", ReadmeText(values_)}};
    return Write(source.value(), transfer.value(), texts);
  }

  ExitCode IsThere(const std::string& message, const std::string& help) {
    diagnostics_.Add(Error(Code::kE0601, message).Help(help));
    return Report(ExitCode::kEnvironment);
  }

  ExitCode CannotWrite(const std::string& message) {
    diagnostics_.Add(Error(Code::kE0602, message));
    return Report(ExitCode::kEnvironment);
  }

  // What another import has left here, and this folder does not have, goes away.
  std::optional<runtime::Error> WriteOrigin() const {
    std::error_code error;
    const std::string folder = PathOf(kOriginFolder);
    fs::create_directories(folder, error);
    if (error) {
      return runtime::Error{runtime::ExitCode::kEnvironment,
                            absl::StrCat("cannot make ", QuotedPath(folder), ": ", error.message())};
    }
    for (const std::string& name : OriginNames()) {
      const OriginFile* const file = FindFile(origin_, name);
      if (file == nullptr) {
        fs::remove(OriginPathOf(name), error);
      } else if (auto failed = WriteText(OriginPathOf(name), file->text)) {
        return failed;
      }
    }
    return std::nullopt;
  }

  ExitCode Write(const WeightSource& source, const Transfer& transfer,
                 const std::vector<std::pair<std::string, std::string>>& texts) {
    std::error_code error;
    fs::create_directories(out_folder_, error);
    if (error) return CannotWrite(absl::StrCat("cannot make ", QuotedPath(out_folder_), ": ", error.message()));
    if (fs::equivalent(out_folder_, options_.folder, error)) {
      return IsThere(absl::StrCat(QuotedPath(out_folder_), " is the folder that is imported"),
                     "name another folder with `--out`");
    }
    std::vector<std::string> files = {kWeights};
    for (const auto& [file, text] : texts) files.push_back(file);
    for (const std::string& file : OriginNames()) files.push_back(absl::StrCat(kOriginFolder, "/", file));
    for (const std::string& file : files) {
      if (options_.force || !fs::exists(PathOf(file), error)) continue;
      return IsThere(absl::StrCat(QuotedPath(PathOf(file)), " exists"),
                     "name another folder with `--out`, or replace what is there with `--force`");
    }
    if (auto failed = RunTransfer(source, transfer, PathOf(kWeights), {.is_replaced = options_.force}))
      return WrongWeights(*failed);
    if (auto failed = WriteOrigin()) return CannotWrite(failed->message);
    for (const auto& [file, text] : texts) {
      if (auto failed = WriteText(PathOf(file), text)) return CannotWrite(failed->message);
    }
    int64_t values = 0;
    for (const cleave::tools::Move& move : transfer.moves) values += ValueCount(move.shape);
    out_ << family_->title << ": " << Plural(static_cast<int64_t>(transfer.moves.size()), "tensor") << ", "
         << FormatCount(values) << " values\n";
    for (const auto& [file, text] : texts) out_ << "wrote " << PathOf(file) << "\n";
    std::vector<std::string> kept;
    for (const OriginFile& file : origin_) kept.push_back(file.name);
    out_ << "wrote " << PathOf(kWeights) << "\nkept " << QuotedList(kept, "and") << " in " << PathOf(kOriginFolder)
         << "\n"
         << PathOf("README.md") << " has the next commands\n";
    return ExitCode::kDone;
  }

  const ImportOptions& options_;
  const ErrorFormat format_;
  std::ostream& out_;
  std::ostream& err_;
  SourceSet sources_;
  Diagnostics diagnostics_;
  const Family* family_ = nullptr;
  TemplateValues values_;
  std::vector<OriginFile> origin_;
  std::string name_, out_folder_;
  ir::Graph graph_;
};

}  // namespace

void DescribeImport(CLI::App& app) { AddOptions(app, *new ImportOptions); }

ExitCode RunImport(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                   std::ostream& out, std::ostream& err) {
  ImportOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  const ErrorFormat format = FormatAskedFor(words);
  if (const auto exit = Parse(app, words, format)) return Print(*exit, out, err);
  const auto is_of_name = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  if (!std::all_of(options.name.begin(), options.name.end(), is_of_name)) {
    return Print(UsageError(format, absl::StrCat("`--name` is ", QuotedPath(options.name),
                                                 ", and letters, digits and `_` make a name")),
                 out, err);
  }
  return Import(options, format, out, err).Run();
}

}  // namespace cleave::tools
