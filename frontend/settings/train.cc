#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/settings/choice.h"
#include "frontend/settings/named_call.h"
#include "frontend/settings/settings.h"
#include "ir/graph/training/samples.h"

namespace cleave::frontend {
namespace {

class TrainReader {
 public:
  TrainReader(Evaluator& evaluator, Reporter& reporter, TrainPlaces places)
      : evaluator_(evaluator), reporter_(reporter), places_(places) {}

  void Read(const SettingText& text) {
    const std::string& name = text.setting.name.text;
    const dsl::syntax::Expression& value = text.setting.value;
    if (name == "data") {
      places_.data = value.span;
      places_.npy.clear();
      ReadData(value, text.path_prefix);
    }
    if (name == "params") {
      places_.params = value.span;
      ReadParams(value, text.path_prefix);
    }
    if (name == "epochs") ReadCount(value, name, 1, training_.epochs);
    if (name == "steps") ReadInt(value, name, 0, training_.steps);
    if (name == "log") ReadLog(value);
    if (name == "log_every") ReadInt(value, name, 1, training_.log_every);
    if (name == "checkpoint") ReadCheckpoint(value);
    if (name == "validation") ReadValidation(value);
    if (name == "eval_every") {
      if (!best_.has_value()) places_.evaluation = value.span;
      ReadInt(value, name, 0, training_.evaluate_every);
    }
    if (name == "best") {
      places_.evaluation = value.span;
      best_ = {value.span, text.context};
      ReadBest(value);
    }
    if (name == "patience") {
      patience_ = {value.span, text.context};
      ReadInt(value, name, 1, training_.patience);
    }
    if (name == "keep") ReadInt(value, name, 1, training_.keep_checkpoints);
    if (name == "seed") ReadInt(value, name, 0, training_.seed);
    if (name == "shuffle") ReadBool(evaluator_, reporter_, name, value, training_.shuffle);
    if (name == "precision") {
      places_.precision = value.span;
      ReadChoice<ir::Precision>(reporter_, name, value, training_.precision,
                                {{"f32", ir::Precision::kF32},
                                 {"tf32", ir::Precision::kTf32},
                                 {"bf16", ir::Precision::kBf16},
                                 {"f16", ir::Precision::kF16},
                                 {"fp8", ir::Precision::kFp8}});
    }
    if (name == "keep_bf16") {
      kept_ = {value.span, text.context};
      ReadKeptWeights(value);
    }
  }

  // Settings that need others.
  void CheckTogether() {
    if (best_.has_value() && training_.checkpoint_every == 0) {
      ReportMissing(*best_, Error(Code::kE0517, "`best` without checkpoints")
                                .At(best_->span, "nothing is saved that could be kept")
                                .Help("`checkpoint = every(500);`, so that training can go on from there too"));
    }
    if (patience_.has_value() && !best_.has_value()) {
      ReportMissing(*patience_, Error(Code::kE0517, "`patience` without `best`")
                                    .At(patience_->span, "no evaluation is better than others")
                                    .Help("`best = min(loss);`"));
    }
    if (kept_.has_value() && training_.precision != ir::Precision::kFp8) {
      ReportMissing(*kept_, Error(Code::kE0517, "`keep_bf16` without fp8")
                                .At(kept_->span, "no product is in fp8")
                                .Help("`precision = fp8;`"));
    }
  }

  ir::Training training() const { return training_; }

 private:
  // Where a setting is given.
  struct Given {
    Span span;
    std::string context;
  };

  void ReportMissing(const Given& given, Diagnostic error) {
    reporter_.SetContext(given.context);
    reporter_.Report(std::move(error));
    reporter_.SetContext("");
  }

  void Impossible(Span span, std::string message, std::string label) {
    reporter_.Report(Error(Code::kE0508, std::move(message)).At(span, std::move(label)));
  }

  void ReadInt(const dsl::syntax::Expression& value, const std::string& what, int64_t low, int64_t& result) {
    const std::optional<int64_t> number = evaluator_.EvaluateInt(value, absl::StrCat("`", what, "`"));
    if (!number) return;
    if (*number < low) {
      Impossible(value.span, absl::StrCat("`", what, "` must be at least ", low), absl::StrCat("this is ", *number));
      return;
    }
    result = *number;
  }

  // Reads a number of epochs or of samples that are made: few enough to be counted together, and for an order of the
  // samples to be kept in memory.
  void ReadCount(const dsl::syntax::Expression& value, const std::string& what, int64_t low, int64_t& result) {
    constexpr int64_t kMost = 1'000'000'000;
    int64_t count = low;
    ReadInt(value, what, low, count);
    if (count <= kMost) {
      result = count;
    } else {
      Impossible(value.span, absl::StrCat("`", what, "` must be at most ", FormatCount(kMost)),
                 absl::StrCat("this is ", count));
    }
  }

  void ReadLog(const dsl::syntax::Expression& value) {
    static const auto& kFormats = *new std::map<std::string, ir::LogFormat>{{"cleave", ir::LogFormat::kCleave},
                                                                            {"mindspore", ir::LogFormat::kMindSpore}};
    const Value text = evaluator_.EvaluateStatic(value);
    if (text.is_poison()) return;
    const auto* name = std::get_if<std::string>(&text.kind);
    const auto format = name ? kFormats.find(*name) : kFormats.end();
    if (format == kFormats.end()) {
      Impossible(value.span, "`log` is \"cleave\" or \"mindspore\"",
                 absl::StrCat("this is ", ValueText(text, evaluator_.graph())));
      return;
    }
    training_.log = format->second;
  }

  void ReadInt(const dsl::syntax::Argument* argument, const std::string& what, int64_t low, int64_t& result) {
    if (argument != nullptr) ReadInt(*argument->value, what, low, result);
  }

  void ReadCheckpoint(const dsl::syntax::Expression& value) {
    static const auto& kIntervals =
        *new std::vector<Signature>{{.callee = "every", .arguments = {{"steps", "steps: int", true}}}};
    const auto call = ReadCall(value, "interval of checkpoints", kIntervals, reporter_);
    if (call) ReadInt(call->arguments[0], "steps", 1, training_.checkpoint_every);
  }

  // `"model.safetensors"`, `partial("model.safetensors")`
  void ReadParams(const dsl::syntax::Expression& value, const std::string& path_prefix) {
    static const auto& kForms =
        *new std::vector<Signature>{{.callee = "partial", .arguments = {{"path", "path: string", true}}}};
    training_.params_are_partial = std::holds_alternative<dsl::syntax::Call>(value.kind);
    const dsl::syntax::Expression* place = &value;
    if (training_.params_are_partial) {
      const auto call = ReadCall(value, "form of `params`", kForms, reporter_);
      if (!call) return;
      place = &*call->arguments[0]->value;
    }
    if (auto path = ReadPath(*place, "params", path_prefix)) training_.params = *std::move(path);
  }

  // `"*.down.weight"`, `("*.down.weight", "x.0.*")`: each matches a parameter.
  void ReadKeptWeights(const dsl::syntax::Expression& expression) {
    const Value value = evaluator_.EvaluateStatic(expression);
    if (value.is_poison()) return;
    const std::optional<std::vector<std::string>> patterns = StringsOf(value);
    if (!patterns.has_value()) {
      return Impossible(expression.span, "`keep_bf16` takes a pattern of weights' names, or several in a tuple",
                        absl::StrCat("this is ", DescribeType(value, evaluator_.graph())));
    }
    training_.kept_weights = *patterns;
    if (reporter_.has_errors()) return;  // A parameter may be missing because of another mistake.
    std::vector<std::string> names;
    for (const ir::Op& op : evaluator_.graph().ops) {
      if (op.kind == ir::OpKind::kParameter) names.push_back(op.name);
    }
    for (const std::string& pattern : *patterns) {
      if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return MatchesPattern(pattern, name); }))
        continue;
      Diagnostic error = Error(Code::kE0508, absl::StrCat("no parameter matches `", pattern, "` of `keep_bf16`"))
                             .At(expression.span, "names none")
                             .Note("`*` stands for any text, `?` for any character");
      if (auto nearest = NearestName(pattern, names)) {
        error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
      }
      reporter_.Report(std::move(error));
    }
  }

  // A share of the training samples.
  void ReadValidation(const dsl::syntax::Expression& value) {
    places_.validation = value.span;
    const std::optional<double> share = evaluator_.EvaluateNumber(value, "`validation`");
    if (!share) return;
    if (*share >= 0 && *share < 1) {
      training_.validation = *share;
    } else {
      Impossible(value.span, "`validation` must be at least 0 and less than 1: it is a share of the training samples",
                 absl::StrCat("this is ", FormatDouble(*share)));
    }
  }

  // `min(loss)`, `max(accuracy)`
  void ReadBest(const dsl::syntax::Expression& value) {
    static const auto& kCriteria =
        *new std::vector<Signature>{{.callee = "min", .arguments = {{"measure", "measure: NAME", true}}},
                                    {.callee = "max", .arguments = {{"measure", "measure: NAME", true}}}};
    const auto call = ReadCall(value, "criterion", kCriteria, reporter_);
    if (!call) return;
    const dsl::syntax::Expression& measure = *call->arguments[0]->value;
    const auto* name = std::get_if<dsl::syntax::Name>(&measure.kind);
    const auto* string = std::get_if<dsl::syntax::StringLiteral>(&measure.kind);
    const std::string given = name != nullptr     ? name->text
                              : string != nullptr ? absl::StrCat("\"", string->value, "\"")
                                                  : "";
    std::vector<std::string> known = {"loss"};
    for (const ir::Metric& metric : evaluator_.graph().metrics) {
      // A table is neither more nor less than another.
      if (evaluator_.graph().op(metric.value).type.rank() > 0) continue;
      // `loss.kl` is no word of the language.
      const bool is_word = metric.name.find('.') == std::string::npos;
      known.push_back(is_word ? metric.name : absl::StrCat("\"", metric.name, "\""));
    }
    if (std::find(known.begin(), known.end(), given) != known.end()) {
      training_.best = {.measure = name != nullptr ? name->text : string->value, .is_least = call->name == "min"};
      return;
    }
    if (reporter_.has_errors()) return;  // A metric may be missing because of another mistake.
    Diagnostic error = Error(Code::kE0508, "`best` takes the least or the greatest of a measure of the model")
                           .At(measure.span, absl::StrCat("expected ", QuotedList(known, "or")));
    if (auto nearest = NearestName(given, known)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    reporter_.Report(std::move(error));
  }

  static const dsl::syntax::Call* CallOf(const dsl::syntax::Expression& value, const std::string& name) {
    const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
    const auto* callee = call ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
    return callee != nullptr && callee->text == name ? call : nullptr;
  }

  // A path for `source`. A path from the command line is relative to the folder of the command; one in the file stays
  // relative to the file.
  std::optional<std::string> ReadPath(const dsl::syntax::Expression& expression, const std::string& source,
                                      const std::string& path_prefix) {
    const Value path = evaluator_.EvaluateStatic(expression);
    if (path.is_poison()) return std::nullopt;
    const auto* text = std::get_if<std::string>(&path.kind);
    if (text == nullptr || text->empty()) {
      Impossible(expression.span, absl::StrCat("the path of `", source, "` is a string that is not empty"),
                 absl::StrCat("this is ", text ? "empty" : DescribeType(path, evaluator_.graph())));
      return std::nullopt;
    }
    if (path_prefix.empty()) return *text;
    return std::filesystem::absolute(std::filesystem::path(path_prefix) / *text).lexically_normal().string();
  }

  // `npy(image = "x.npy", label = "y.npy")`
  void ReadNpy(const dsl::syntax::Call& call, Span span, const std::string& path_prefix) {
    ir::DataSource data;
    data.kind = "npy";
    std::map<std::string, Span> places;
    for (const dsl::syntax::Argument& argument : call.arguments) {
      if (!argument.name) {
        Impossible(argument.span, "a file of `npy` belongs to an input", "without the name of one");
        return;
      }
      const auto [first, inserted] = places.try_emplace(argument.name->text, argument.span);
      if (!inserted) return ReportTwice(argument.name->text, argument.span, first->second);
      const std::optional<std::string> path = ReadPath(*argument.value, "npy", path_prefix);
      if (!path) return;
      data.files.emplace_back(argument.name->text, *path);
    }
    if (data.files.empty()) return Impossible(span, "`npy` without files", "expected a file for each input");
    for (const auto& [name, place] : places) places_.npy[name] = place;
    training_.data = std::move(data);
  }

  // `csv("iris.csv", x = ("length", "width"), label = "species", skip_bad = 2, test = "test.csv")`, and the same of
  // safetensors, where an input has one tensor and nothing is skipped.
  void ReadTable(const std::string& kind, const dsl::syntax::Call& call, Span span, const std::string& path_prefix) {
    const std::string source = absl::StrCat("`", kind, "`");
    const char* const what = kind == "csv" ? "column" : "tensor";
    ir::DataSource data;
    data.kind = kind;
    std::map<std::string, Span> places;
    for (const dsl::syntax::Argument& argument : call.arguments) {
      if (!argument.name && &argument != &call.arguments.front()) {
        return Impossible(argument.span, absl::StrCat("a ", what, " of ", source, " belongs to an input"),
                          "without the name of one");
      }
      const std::string name = argument.name ? argument.name->text : "path";
      const auto [first, inserted] = places.try_emplace(name, argument.span);
      if (!inserted) return ReportTwice(name, argument.span, first->second);
      if (name == "path" || name == "test") {
        const auto paths = ReadPaths(*argument.value, kind, path_prefix);
        if (!paths.has_value()) return;
        for (const std::string& path : *paths) data.files.emplace_back(name == "test" ? "test" : "train", path);
      } else if (name == "skip_bad" && kind == "csv") {
        int64_t most = 0;
        ReadInt(*argument.value, name, 0, most);
        data.numbers[name] = static_cast<double>(most);
      } else {
        std::optional<std::vector<std::string>> columns = ReadColumns(kind, *argument.value);
        if (!columns.has_value()) return;
        data.columns.emplace_back(name, *std::move(columns));
      }
    }
    if (places.count("path") == 0) return Impossible(span, source + " without a file", "expected its path first");
    if (data.columns.empty()) {
      return Impossible(span, absl::StrCat(source, " without a ", what), "expected one for each input");
    }
    data.path = data.files.front().second;
    for (const auto& [name, columns] : data.columns) places_.npy[name] = places.at(name);
    training_.data = std::move(data);
  }

  void ReportTwice(const std::string& name, Span second, Span first) {
    reporter_.Report(Error(Code::kE0203, absl::StrCat("`", name, "` is given twice"))
                         .At(second, "again here")
                         .At(first, "first here"));
  }

  // The name of a tensor or a column, or those of several columns in a tuple; `"*"`, which stands for all others, is
  // alone.
  std::optional<std::vector<std::string>> ReadColumns(const std::string& kind,
                                                      const dsl::syntax::Expression& expression) {
    const Value value = evaluator_.EvaluateStatic(expression);
    if (value.is_poison()) return std::nullopt;
    std::optional<std::vector<std::string>> columns = StringsOf(value);
    const bool is_alone = columns.has_value() && columns->size() == 1;
    const bool has_all = columns.has_value() && std::find(columns->begin(), columns->end(), "*") != columns->end();
    if (is_alone || (columns.has_value() && kind == "csv" && !has_all)) return columns;
    Impossible(expression.span,
               kind == "csv"
                   ? "an input of `csv` takes the name of a column, those of several in a tuple, or \"*\" alone"
                   : absl::StrCat("an input of `", kind, "` takes the name of a tensor"),
               absl::StrCat("this is ", DescribeType(value, evaluator_.graph())));
    return std::nullopt;
  }

  // Those of a tuple, or the expression alone.
  static std::vector<const dsl::syntax::Expression*> ElementsOf(const dsl::syntax::Expression& expression) {
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind);
    if (tuple == nullptr) return {&expression};
    std::vector<const dsl::syntax::Expression*> elements;
    for (const dsl::syntax::Argument& element : tuple->elements) elements.push_back(&*element.value);
    return elements;
  }

  // A number, or several in a tuple.
  std::vector<double> ReadNumbers(const dsl::syntax::Expression& expression, const std::string& what) {
    std::vector<double> numbers;
    for (const dsl::syntax::Expression* element : ElementsOf(expression)) {
      numbers.push_back(evaluator_.EvaluateNumber(*element, absl::StrCat("`", what, "`")).value_or(1));
    }
    return numbers;
  }

  // A path, or several in a tuple.
  std::optional<std::vector<std::string>> ReadPaths(const dsl::syntax::Expression& expression,
                                                    const std::string& source, const std::string& path_prefix) {
    std::vector<std::string> paths;
    for (const dsl::syntax::Expression* element : ElementsOf(expression)) {
      std::optional<std::string> path = ReadPath(*element, source, path_prefix);
      if (!path.has_value()) return std::nullopt;
      paths.push_back(*std::move(path));
    }
    return paths;
  }

  // `tokens("text")`: the bytes of a text. `tokens("train_*.bin", dtype = u16, test = "val.bin")`: files of numbers.
  void ReadTokens(const std::vector<const dsl::syntax::Argument*>& arguments, const std::string& path_prefix) {
    const dsl::syntax::Argument* const dtype = arguments[1];
    const dsl::syntax::Argument* const test = arguments[2];
    const auto paths = ReadPaths(*arguments[0]->value, "tokens", path_prefix);
    if (!paths || paths->empty()) return;
    const bool has_numbers = dtype != nullptr || std::any_of(paths->begin(), paths->end(), [](const std::string& path) {
                               return std::filesystem::path(path).extension() == ".bin";
                             });
    ir::DataSource data{.kind = "tokens", .path = paths->front(), .numbers = {}};
    if (has_numbers) {
      for (const std::string& path : *paths) data.files.emplace_back("train", path);
      if (dtype != nullptr) {
        double bits = 0;
        ReadChoice<double>(reporter_, "dtype", *dtype->value, bits, {{"u8", 8}, {"u16", 16}, {"u32", 32}});
        data.numbers["bits"] = bits;
      }
      if (test != nullptr) {
        const auto tests = ReadPaths(*test->value, "tokens", path_prefix);
        if (!tests) return;
        for (const std::string& path : *tests) data.files.emplace_back("test", path);
      }
    } else if (test != nullptr || paths->size() > 1) {
      reporter_.Report(Error(Code::kE0508, "the bytes of a text are read from one file, whose end is the test part")
                           .At(test != nullptr ? test->span : arguments[0]->span, "another file")
                           .Help("for files of numbers: `dtype = u16`"));
      return;
    }
    training_.data = std::move(data);
  }

  // `images("train", test = "val", resize = 256, crop = random, flip = true, mean = (…), std = (…), skip_bad = 5)`
  void ReadImages(const std::vector<const dsl::syntax::Argument*>& arguments, const std::string& path_prefix) {
    ir::DataSource data;
    data.kind = "images";
    for (const auto& [argument, part] : {std::pair(arguments[0], "train"), std::pair(arguments[1], "test")}) {
      if (argument == nullptr) continue;
      std::optional<std::string> path = ReadPath(*argument->value, data.kind, path_prefix);
      if (!path.has_value()) return;
      if (path->size() > 1 && path->back() == '/') path->pop_back();
      data.files.emplace_back(part, *std::move(path));
    }
    data.path = data.files.front().second;
    for (const auto& [argument, name] : {std::pair(arguments[2], "resize"), std::pair(arguments[7], "skip_bad")}) {
      if (argument == nullptr) continue;
      int64_t number = 0;
      ReadInt(argument, name, argument == arguments[2] ? 1 : 0, number);
      data.numbers[name] = static_cast<double>(number);
    }
    if (arguments[3] != nullptr) {
      ReadChoice<double>(reporter_, "crop", *arguments[3]->value, data.numbers["crop"],
                         {{"center", 0}, {"random", 1}, {"scaled", 2}});
    }
    if (arguments[4] != nullptr) {
      bool flips = false;
      ReadBool(evaluator_, reporter_, "flip", *arguments[4]->value, flips);
      data.numbers["flip"] = flips ? 1 : 0;
    }
    for (const auto& [argument, name] : {std::pair(arguments[5], "mean"), std::pair(arguments[6], "std")}) {
      if (argument == nullptr) continue;
      const bool is_std = argument == arguments[6];
      data.lists[name] = ReadNumbers(*argument->value, name);
      for (const double number : data.lists[name]) {
        if (std::isfinite(number) && (!is_std || number > 0)) continue;
        return Impossible(argument->value->span,
                          absl::StrCat("`", name, "` takes finite numbers", is_std ? " greater than 0" : ""),
                          absl::StrCat("this has ", FormatDouble(number)));
      }
    }
    training_.data = std::move(data);
  }

  // `mix(tokens("a.bin"), tokens("b.bin"), weights = (0.7, 0.3))`
  void ReadMixture(const dsl::syntax::Call& call, Span span, const std::string& path_prefix) {
    ir::DataSource data;
    data.kind = "mix";
    const dsl::syntax::Argument* weights = nullptr;
    for (const dsl::syntax::Argument& argument : call.arguments) {
      if (argument.name && argument.name->text == "weights") {
        if (weights != nullptr) return ReportTwice("weights", argument.span, weights->span);
        weights = &argument;
        continue;
      }
      if (CallOf(*argument.value, "mix") != nullptr) {
        return Impossible(argument.span, "`mix` is no part of `mix`",
                          "expected data that stands alone in files, or that is made");
      }
      if (CallOf(*argument.value, "custom") != nullptr && ir::CustomDataOf(data) != nullptr) {
        return Impossible(argument.span, "`mix` has one `custom`",
                          "functions of two headers would have the same names");
      }
      if (argument.name)
        return Impossible(argument.span, "`mix` takes data and `weights`", "expected data without a name");
      training_.data = {};
      ReadData(*argument.value, path_prefix);
      data.parts.push_back(std::exchange(training_.data, {}));
    }
    if (data.parts.size() < 2)
      return Impossible(span, "`mix` takes two sources or more", absl::StrCat("this has ", data.parts.size()));
    if (weights == nullptr)
      return Impossible(span, "`mix` without weights", "expected `weights = (0.7, 0.3)`, one for each source");
    data.lists["weights"] = ReadNumbers(*weights->value, "weights");
    const std::vector<double>& numbers = data.lists["weights"];
    if (numbers.size() != data.parts.size()) {
      return Impossible(weights->value->span, absl::StrCat("`mix` of ", data.parts.size(), " sources"),
                        absl::StrCat("these are ", Plural(static_cast<int64_t>(numbers.size()), "weight")));
    }
    if (std::any_of(numbers.begin(), numbers.end(),
                    [](double weight) { return !std::isfinite(weight) || weight <= 0; })) {
      return Impossible(weights->value->span, "a weight of `mix` must be finite and greater than 0",
                        "one of these is not");
    }
    training_.data = std::move(data);
  }

  void ReadData(const dsl::syntax::Expression& value, const std::string& path_prefix) {
    static const auto& kSources = *new std::vector<Signature>{
        {.callee = "mnist", .arguments = {{"path", "path: string", true}}},
        {.callee = "digits",
         .arguments = {{"train", "train: int = 20000", false}, {"test", "test: int = 4000", false}}},
        {.callee = "synthetic", .arguments = {{"train", "train: int = 8192", false}, {"test", "test: int = 0", false}}},
        {.callee = "tokens",
         .arguments = {{"path", "path: string", true},
                       {"dtype", "dtype: u8 | u16 | u32", false},
                       {"test", "test: string", false}}},
        {.callee = "images",
         .arguments = {{"path", "path: string", true},
                       {"test", "test: string", false},
                       {"resize", "resize: int", false},
                       {"crop", "crop: center | random | scaled", false},
                       {"flip", "flip: bool = false", false},
                       {"mean", "mean: (float, …) = 0", false},
                       {"std", "std: (float, …) = 1", false},
                       {"skip_bad", "skip_bad: int = 0", false}}},
        {.callee = "npy", .arguments = {{"input", "INPUT = \"FILE.npy\", …", true}}},
        {.callee = "custom",
         .arguments = {{"path", "path: string", true},
                       {"train", "train: int", true},
                       {"test", "test: int = 0", false}}},
        {.callee = "safetensors",
         .arguments = {{"path", "path: string", true}, {"input", "INPUT = \"TENSOR\", …", true}}},
        {.callee = "csv", .arguments = {{"path", "path: string", true}, {"input", "INPUT = \"COLUMN\", …", true}}},
        {.callee = "mix", .arguments = {{"data", "DATA, …", true}, {"weights", "weights: (float, …)", true}}},
    };
    for (const char* kind : {"csv", "safetensors"}) {
      if (const dsl::syntax::Call* table = CallOf(value, kind)) return ReadTable(kind, *table, value.span, path_prefix);
    }
    if (const dsl::syntax::Call* npy = CallOf(value, "npy")) return ReadNpy(*npy, value.span, path_prefix);
    if (const dsl::syntax::Call* mixture = CallOf(value, "mix")) return ReadMixture(*mixture, value.span, path_prefix);
    const auto call = ReadCall(value, "data", kSources, reporter_);
    if (!call) return;
    ir::DataSource data;
    data.kind = call->name;
    if (call->name == "tokens") return ReadTokens(call->arguments, path_prefix);
    if (call->name == "images") return ReadImages(call->arguments, path_prefix);
    const bool has_path = call->name == "mnist" || call->name == "custom";
    if (has_path) {
      const std::optional<std::string> path = ReadPath(*call->arguments[0]->value, call->name, path_prefix);
      if (!path) return;
      data.path = *path;
    }
    if (call->name != "mnist") {
      const int first = has_path ? 1 : 0;
      for (const auto& [index, name] : {std::pair<int, const char*>{0, "train"}, {1, "test"}}) {
        const dsl::syntax::Argument* argument = call->arguments[static_cast<size_t>(first + index)];
        if (argument == nullptr) continue;
        int64_t count = 0;
        ReadCount(*argument->value, name, index == 0 ? 1 : 0, count);
        data.numbers[name] = static_cast<double>(count);
      }
    }
    training_.data = std::move(data);
  }

  Evaluator& evaluator_;
  Reporter& reporter_;
  TrainPlaces places_;
  ir::Training training_;
  std::optional<Given> best_;
  std::optional<Given> kept_;
  std::optional<Given> patience_;
};

}  // namespace

ir::Training ReadTrain(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter, TrainPlaces places) {
  TrainReader reader(evaluator, reporter, places);
  for (const SettingText& text : settings) {
    reporter.SetContext(text.context);
    reader.Read(text);
    reporter.SetContext("");
  }
  reader.CheckTogether();
  return reader.training();
}

}  // namespace cleave::frontend
