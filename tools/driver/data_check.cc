#include "tools/driver/data_check.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/text.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/limit.h"
#include "ir/graph/ops/parameter_file.h"
#include "ir/graph/training/samples.h"
#include "runtime/checkpoint/stored_parameters.h"
#include "runtime/data/csv.h"
#include "runtime/data/data.h"
#include "runtime/data/digits.h"
#include "runtime/data/image_folders.h"
#include "runtime/data/mixture.h"
#include "runtime/data/mnist.h"
#include "runtime/data/npy.h"
#include "runtime/data/synthetic.h"
#include "runtime/data/tensor_files.h"
#include "runtime/data/token_files.h"
#include "runtime/data/tokens.h"
#include "runtime/file/file.h"
#include "runtime/npy/npy.h"

namespace cleave::tools {
namespace {

constexpr int64_t kDigits = 10;
constexpr char kReadAtStart[] = "the program reads it at its start: paths start from the folder of the model file";

class DataCheck {
 public:
  DataCheck(const frontend::Module& module, bool makes_program, Diagnostics& diagnostics)
      : module_(module),
        makes_program_(makes_program),
        diagnostics_(diagnostics),
        folder_(std::filesystem::path(module.graph.file).parent_path()) {}

  bool Run() {
    for (const ir::Op& op : module_.graph.ops) {
      if (op.kind == ir::OpKind::kParameter && op.attributes.Get(ir::attribute::kInit) == "npy") CheckParameter(op);
      if (op.kind == ir::OpKind::kInput && op.attributes.Has(ir::attribute::kFile)) CheckInput(op);
    }
    if (!module_.training.params.empty()) CheckStoredParameters();
    const ir::DataSource& data = module_.training.data;
    // A program that generates reads prompts.
    if (module_.training.mode == ir::Mode::kGenerate) return !failed_;
    if (data.kind == "npy") CheckArrays();
    if (makes_program_ && data.kind == "digits") CheckClasses();
    const bool has_pieces = !data.columns.empty() || !data.parts.empty();
    if (makes_program_ && (data.kind == "mnist" || data.kind == "tokens" || data.kind == "images" || has_pieces)) {
      CheckOpens();
    }
    if (makes_program_) CheckMade();
    CheckEvaluation();
    return !failed_;
  }

 private:
  void Add(Diagnostic diagnostic, const std::string& tensor) {
    failed_ = failed_ || diagnostic.severity == Severity::kError;
    const auto place = module_.npy_places.find(tensor);
    if (place != module_.npy_places.end()) diagnostic.labels.push_back({place->second, "named here"});
    diagnostics_.Add(std::move(diagnostic));
  }

  // The file for `tensor`; nullopt after reporting why there is none.
  std::optional<runtime::NpyFile> Open(const std::string& path, const std::string& tensor) {
    const std::string place = Place(path);
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored)) {
      Add(Warning(Code::kW0617, absl::StrCat("there is no file `", place, "`")).Note(kReadAtStart), tensor);
      return std::nullopt;
    }
    runtime::Result<runtime::NpyFile> file = runtime::NpyFile::Open(place);
    if (file.ok()) return std::move(file.value());
    Add(Error(Code::kE0513, file.error().message), tensor);
    return std::nullopt;
  }

  void CheckParameter(const ir::Op& op) {
    const std::optional<runtime::NpyFile> file = Open(ir::ParameterFileOf(op.name, op.attributes), op.name);
    if (!file) return;
    const bool is_float = op.type.dtype == ir::DType::kF32;
    const std::string what = absl::StrCat(is_float ? "parameter `" : "state `", op.name, "`");
    auto error = file->CheckFits(what, is_float, op.type.shape);
    if (!error && !is_float) error = file->CheckValues(/*limit=*/0);
    if (error) Add(Error(Code::kE0514, error->message), op.name);
  }

  // An input with a file of its own.
  void CheckInput(const ir::Op& op) {
    const std::string path = ir::ParameterFileOf(op.name, op.attributes);
    if (!Open(path, op.name).has_value()) return;
    runtime::ModelInput input = InputOf(op);
    const bool is_read_once = ir::ReadingOf(op.attributes) == ir::InputReading::kOnce;
    input.file = is_read_once ? runtime::OnceFromNpy(Place(path)) : runtime::EachStepFromNpy(Place(path));
    const auto records = input.file.open(input);
    if (!records.ok()) Add(Error(Code::kE0514, records.error().message), op.name);
  }

  void AddAtParams(Diagnostic diagnostic) {
    failed_ = failed_ || diagnostic.severity == Severity::kError;
    diagnostics_.Add(std::move(diagnostic).At(module_.params_place, "named here"));
  }

  // A program prints all mistakes in its files, each as an error.
  static Diagnostic ErrorOf(Code code, const runtime::Error& error) {
    std::vector<std::string> mistakes = absl::StrSplit(error.message, "\nerror: ");
    Diagnostic diagnostic = Error(code, std::move(mistakes.front()));
    diagnostic.notes.assign(mistakes.begin() + 1, mistakes.end());
    return diagnostic;
  }

  void CheckStoredParameters() {
    const std::string place = Place(module_.training.params);
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored)) {
      AddAtParams(Warning(Code::kW0617, absl::StrCat("there is no `", place, "`")).Note(kReadAtStart));
      return;
    }
    const auto stored = runtime::StoredParameters::Open(runtime::StoredParametersPath(place));
    if (!stored.ok()) return AddAtParams(ErrorOf(Code::kE0513, stored.error()));
    std::vector<runtime::StateTensor> parameters;
    for (const ir::Op& op : module_.graph.ops) {
      if (op.kind != ir::OpKind::kParameter) continue;
      const bool is_local = op.attributes.IsSet(ir::attribute::kLocal);
      parameters.push_back({.name = op.name, .layout = {.shape = op.type.shape, .is_local = is_local}});
      if (op.type.dtype == ir::DType::kI32) parameters.back().values = runtime::NoIntegers();
    }
    const runtime::Mesh ranks = {{"ranks", ir::RankCount(module_.graph.rank_axes)}};
    const auto matched = stored.value().Match(parameters, ranks);
    if (!matched.ok()) return AddAtParams(ErrorOf(Code::kE0514, matched.error()));
    CheckSame(place, matched.value());
  }

  // Training begins with the parameters that are expected, and no others (runtime/train/train.cc).
  void CheckSame(const std::string& place, const runtime::MatchedParameters& matched) {
    if (module_.training.params_are_partial || module_.training.mode != ir::Mode::kTrain) return;
    std::set<std::string> expected;
    for (const ir::Op& op : module_.graph.ops) {
      const bool begins_anew = !module_.training.adapters.empty() && !op.attributes.IsSet(ir::attribute::kInParams);
      if (op.kind == ir::OpKind::kParameter && !begins_anew && ir::ParameterFileOf(op.name, op.attributes).empty())
        expected.insert(op.name);
    }
    std::vector<std::string> missing;
    for (const std::string& name : matched.missing) {
      if (expected.count(name) > 0) missing.push_back(name);
    }
    if (missing.empty() && matched.unknown.empty()) return;
    Diagnostic error = Error(Code::kE0514, absl::StrCat("`", place, "` has other tensors than the model"));
    if (!missing.empty()) error.notes.push_back(absl::StrCat("not there: ", QuotedList(missing, "and")));
    if (!matched.unknown.empty()) {
      error.notes.push_back(absl::StrCat("there, but not in the model: ", QuotedList(matched.unknown, "and")));
    }
    AddAtParams(std::move(error).Help("`params = partial(\"…\")` takes what is there"));
  }

  void AddAtData(Diagnostic diagnostic) {
    failed_ = failed_ || diagnostic.severity == Severity::kError;
    diagnostics_.Add(std::move(diagnostic).At(module_.data_place, "named here"));
  }

  std::string Place(const std::string& path) const { return (folder_ / path).lexically_normal().string(); }

  static std::vector<float> FloatsOf(const ir::DataSource& data, const char* name) {
    const auto found = data.lists.find(name);
    if (found == data.lists.end()) return {};
    return {found->second.begin(), found->second.end()};
  }

  // The data as the program has it; but for samples that functions of the model make as many others stand, for no
  // sample is read here.
  runtime::DataSpec SpecOf(const ir::DataSource& data) const {
    const auto number = [&](const char* name) {
      const auto found = data.numbers.find(name);
      return found == data.numbers.end() ? 0 : static_cast<int64_t>(found->second);
    };
    if (data.kind == "mix") {
      std::vector<runtime::DataSpec> parts;
      for (const ir::DataSource& part : data.parts) parts.push_back(SpecOf(part));
      return runtime::Mix(std::move(parts), data.lists.at("weights"));
    }
    if (const std::optional<ir::MadeSamples> made = ir::MadeSamplesOf(data)) {
      return data.kind == "digits" ? runtime::Digits(made->train, made->test)
                                   : runtime::Synthetic(made->train, made->test);
    }
    const std::string place = Place(data.path);
    std::vector<runtime::InputFile> files;
    for (const auto& [part, path] : data.files) files.push_back({part, Place(path)});
    if (data.kind == "mnist") return runtime::Mnist(place);
    if (data.kind == "npy") return runtime::Npy(files);
    if (data.kind == "tokens" && files.empty()) return runtime::Tokens(place);
    if (data.kind == "tokens") return runtime::TokenFiles(files, static_cast<int>(number("bits")));
    if (data.kind == "images") {
      const runtime::ImageReading reading = {.shorter_side = number("resize"),
                                             .crop = static_cast<runtime::ImageCrop>(number("crop")),
                                             .flip = number("flip") == 1,
                                             .mean = FloatsOf(data, "mean"),
                                             .deviation = FloatsOf(data, "std")};
      return runtime::ImageFolders(files, reading, number("skip_bad"));
    }
    std::vector<runtime::InputColumns> columns;
    for (const auto& [input, names] : data.columns) columns.push_back({input, names});
    if (data.kind == "safetensors") return runtime::TensorFiles(files, std::move(columns));
    return runtime::Csv(files, std::move(columns), number("skip_bad"));
  }

  // A path of the data at which nothing is.
  std::optional<std::string> MissingOf(const ir::DataSource& data) const {
    for (const ir::DataSource& part : data.parts) {
      if (auto missing = MissingOf(part)) return missing;
    }
    std::vector<std::string> paths;
    if (!data.path.empty()) paths.push_back(data.path);
    for (const auto& [part, path] : data.files) paths.push_back(path);
    for (const std::string& path : paths) {
      const auto found = runtime::FilesOf(Place(path));
      std::error_code ignored;
      if (!found.ok() || !std::filesystem::exists(found.value().front(), ignored)) return Place(path);
    }
    return std::nullopt;
  }

  // The data is opened as the program opens it, which finds all that may be wrong with it.
  void CheckOpens() {
    const ir::DataSource& data = module_.training.data;
    if (const std::optional<std::string> missing = MissingOf(data)) {
      return AddAtData(Warning(Code::kW0617, absl::StrCat("there is no `", *missing, "`")).Note(kReadAtStart));
    }
    runtime::DataSpec spec = SpecOf(data);
    spec.shows_progress = true;
    if (Trains()) spec.validation = module_.training.validation;
    const auto open = [&] {
      return runtime::Batches::Open(spec, Inputs(), static_cast<uint64_t>(module_.training.seed));
    };
    const auto opened = open();
    if (opened.ok()) {
      evaluated_ = opened.value()->samples(opened.value()->evaluated());
      return;
    }
    // Whether it is the data or how it is divided.
    const bool is_divided = std::exchange(spec.validation, 0) > 0;
    if (!is_divided || !open().ok()) return AddAtData(ErrorOf(Code::kE0512, opened.error()));
    failed_ = true;
    diagnostics_.Add(Error(Code::kE0515, opened.error().message).At(module_.validation_place, "set here"));
  }

  runtime::ModelInput InputOf(const ir::Op& op) const {
    const runtime::Region whole = runtime::WholeRegion(op.type.shape);
    if (op.type.dtype == ir::DType::kF32) return {op.name, whole, static_cast<float*>(nullptr)};
    const ir::IntegerLimit integers = ir::LimitOf(module_.graph, op.id);
    return {op.name, whole, static_cast<int32_t*>(nullptr), integers.limit, integers.besides};
  }

  // Those of samples.
  std::vector<runtime::ModelInput> Inputs() const {
    std::vector<runtime::ModelInput> inputs;
    for (const ir::Op& op : module_.graph.ops) {
      if (ir::IsSamples(op.kind, op.attributes)) inputs.push_back(InputOf(op));
    }
    return inputs;
  }

  // A program trains on whole batches only.
  void CheckMade() {
    const ir::DataSource& data = module_.training.data;
    const std::optional<ir::MadeSamples> made = ir::MadeSamplesOf(data);
    if (!made.has_value()) return;
    if (made->train >= Batch()) return CheckDivided(made->train);
    AddAtData(Error(Code::kE0515, absl::StrCat("`", data.kind, "` has ", Plural(made->train, "training sample"),
                                               ", fewer than one batch of ", Batch()))
                  .Help(absl::StrCat("`data = ", data.kind, "(train = ", Batch(), ")`, or a smaller batch")));
  }

  bool Trains() const { return module_.training.mode == ir::Mode::kTrain; }
  int64_t Batch() const { return Inputs().front().region.shape[0]; }

  // What is left for training and what is set aside must each have a batch.
  void CheckDivided(int64_t samples) {
    const double share = module_.training.validation;
    if (share == 0 || !Trains()) return;
    const int64_t validation = runtime::ValidationSamples(share, samples);
    const bool is_validation = validation < Batch();
    const int64_t few = is_validation ? validation : samples - validation;
    if (few >= Batch()) return;
    failed_ = true;
    diagnostics_.Add(
        Error(Code::kE0515, absl::StrCat(Plural(few, is_validation ? "validation sample" : "training sample"),
                                         is_validation ? "" : " left", ", fewer than one batch of ", Batch()))
            .At(module_.validation_place, "set here")
            .Note(absl::StrCat("the data has ", Plural(samples, "training sample"), ", of which ", validation,
                               " are set aside")));
  }

  // Where evaluations are asked for, there must be a batch of samples for them.
  void CheckEvaluation() {
    const ir::Training& training = module_.training;
    const bool is_asked_for = training.evaluate_every > 0 || !training.best.measure.empty();
    if (!Trains() || !is_asked_for || training.validation > 0 || failed_) return;
    const std::optional<ir::MadeSamples> made = ir::MadeSamplesOf(training.data);
    if (made.has_value()) evaluated_ = made->test;
    if (training.data.kind == "npy") evaluated_ = 0;
    if (!evaluated_.has_value() || *evaluated_ >= Batch()) return;
    failed_ = true;
    diagnostics_.Add(
        Error(Code::kE0516, absl::StrCat("evaluation of `", training.data.kind, "`, which has ",
                                         *evaluated_ == 0 ? "no test part" : Plural(*evaluated_, "test sample")))
            .At(module_.evaluation_place, absl::StrCat("takes whole batches of ", Batch()))
            .Help("`validation = 0.1;` sets a share of the training samples aside"));
  }

  void CheckClasses() {
    for (const ir::Op& op : module_.graph.ops) {
      if (!ir::IsSamples(op.kind, op.attributes) || op.type.dtype != ir::DType::kI32) continue;
      const int64_t classes = ir::LimitOf(module_.graph, op.id).limit;
      if (classes == 0 || classes >= kDigits) continue;
      AddAtData(Error(Code::kE0512, absl::StrCat("input `", op.name, "` has labels of ", classes,
                                                 " classes; `digits` has ", kDigits)));
    }
  }

  void CheckArrays() {
    std::vector<runtime::NpyFile> files;
    int64_t batch = 0;
    for (const auto& [name, path] : module_.training.data.files) {
      std::optional<runtime::NpyFile> file = Open(path, name);
      const std::optional<ir::OpId> input = module_.graph.Find(name);
      if (!file || !input) continue;
      const ir::TensorType& type = module_.graph.op(*input).type;
      batch = type.shape[0];
      const auto error =
          file->CheckFitsBatches(absl::StrCat("input `", name, "`"), type.dtype == ir::DType::kF32, type.shape);
      if (error) {
        Add(Error(Code::kE0514, error->message), name);
      } else {
        files.push_back(*std::move(file));
      }
    }
    if (failed_ || files.empty()) return;
    const std::string& first = module_.training.data.files[0].first;
    const int64_t samples = files[0].header().shape[0];
    if (const auto error = runtime::CheckSampleCounts(files)) {
      Add(Error(Code::kE0515, error->message), first);
    } else if (samples < batch) {
      Add(Error(Code::kE0515, absl::StrCat("`", files[0].path(), "` has ", Plural(samples, "sample"),
                                           ", fewer than one batch of ", batch)),
          first);
    } else {
      CheckDivided(samples);
    }
  }

  const frontend::Module& module_;
  const bool makes_program_;
  Diagnostics& diagnostics_;
  const std::filesystem::path folder_;
  bool failed_ = false;
  std::optional<int64_t> evaluated_;  // Samples that evaluations while training goes on are about, where that is known.
};

}  // namespace

bool CheckData(const frontend::Module& module, bool makes_program, Diagnostics& diagnostics) {
  return DataCheck(module, makes_program, diagnostics).Run();
}

}  // namespace cleave::tools
