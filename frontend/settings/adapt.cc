#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/settings/choice.h"
#include "frontend/settings/named_call.h"
#include "frontend/settings/settings.h"

namespace cleave::frontend {
namespace {

class AdaptReader {
 public:
  AdaptReader(Evaluator& evaluator, Reporter& reporter) : evaluator_(evaluator), reporter_(reporter) {}

  // `lora(rank = 16, alpha = 32, on = "*.attn.*", also = ("*.norm1.*", "*.norm2.*"), scale = rank_stable)`
  std::optional<AdaptSetting> Read(const dsl::syntax::Expression& value) {
    static const auto& kArguments = *new std::vector<FormalArgument>{{"rank", "rank: int", true},
                                                                     {"alpha", "alpha: float = rank", false},
                                                                     {"on", "on: string | (string, …)", true},
                                                                     {"also", "also: string | (string, …) = ()", false},
                                                                     {"dropout", "dropout: float = 0.0", false},
                                                                     {"scale", "scale: rank | rank_stable", false},
                                                                     {"frozen", "frozen: auto | i8", false}};
    static const auto& kForms = *new std::vector<Signature>{{.callee = "lora", .arguments = kArguments},
                                                            {.callee = "dora", .arguments = kArguments}};
    const auto call = ReadCall(value, "adapter", kForms, reporter_);
    if (!call.has_value()) return std::nullopt;
    const auto& arguments = call->arguments;
    AdaptSetting setting{.span = value.span};
    setting.form.has_magnitude = call->name == "dora";
    const std::optional<int64_t> rank = evaluator_.EvaluateInt(*arguments[0]->value, "`rank`");
    if (!rank.has_value()) return std::nullopt;
    if (*rank < 1) return Impossible(*arguments[0], "`rank` must be at least 1", absl::StrCat(*rank));
    setting.form.rank = *rank;
    setting.form.alpha = static_cast<double>(*rank);
    if (!ReadNumber(arguments[1], "alpha", setting.form.alpha)) return std::nullopt;
    if (!std::isfinite(setting.form.alpha) || setting.form.alpha <= 0) {
      return Impossible(*arguments[1], "`alpha` must be finite and greater than 0", FormatDouble(setting.form.alpha));
    }
    if (!ReadPatterns(arguments[2], setting.on) || !ReadPatterns(arguments[3], setting.also)) return std::nullopt;
    if (!setting.also.empty()) setting.form.also = ExpressionText(*arguments[3]->value);
    if (!ReadNumber(arguments[4], "dropout", setting.form.dropout)) return std::nullopt;
    if (!(setting.form.dropout >= 0 && setting.form.dropout < 1)) {
      return Impossible(*arguments[4], "`dropout` must be at least 0 and less than 1: it is a share of the inputs",
                        FormatDouble(setting.form.dropout));
    }
    if (arguments[5] != nullptr) {
      ReadChoice<bool>(reporter_, "scale", *arguments[5]->value, setting.form.is_rank_stable,
                       {{"rank", false}, {"rank_stable", true}});
    }
    if (arguments[6] != nullptr) {
      ReadChoice<std::optional<ir::DType>>(reporter_, "frozen", *arguments[6]->value, setting.frozen,
                                           {{"auto", std::nullopt}, {"i8", ir::DType::kI8}});
    }
    return setting;
  }

 private:
  std::nullopt_t Impossible(const dsl::syntax::Argument& argument, std::string message, const std::string& number) {
    reporter_.Report(
        Error(Code::kE0508, std::move(message)).At(argument.value->span, absl::StrCat("this is ", number)));
    return std::nullopt;
  }

  bool ReadNumber(const dsl::syntax::Argument* argument, const char* name, double& result) {
    if (argument == nullptr) return true;
    const std::optional<double> number = evaluator_.EvaluateNumber(*argument->value, absl::StrCat("`", name, "`"));
    if (number.has_value()) result = *number;
    return number.has_value();
  }

  // Each pattern has the place of its own in a tuple.
  bool ReadPatterns(const dsl::syntax::Argument* argument, std::vector<AdaptSetting::Pattern>& patterns) {
    if (argument == nullptr) return true;
    const Value value = evaluator_.EvaluateStatic(*argument->value);
    if (value.is_poison()) return false;
    const std::optional<std::vector<std::string>> texts = StringsOf(value);
    if (!texts.has_value()) {
      reporter_.Report(Error(Code::kE0508, "patterns of parameters' names are a string, or several in a tuple")
                           .At(argument->value->span, absl::StrCat("this is ", DescribeType(value, evaluator_.graph())))
                           .Help("such as `(\"*.attn.*\", \"*.ffn.*\")`"));
      return false;
    }
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&argument->value->kind);
    const bool has_places = tuple != nullptr && tuple->elements.size() == texts->size();
    for (size_t i = 0; i < texts->size(); ++i) {
      patterns.push_back({(*texts)[i], has_places ? tuple->elements[i].value->span : argument->value->span});
    }
    return true;
  }

  Evaluator& evaluator_;
  Reporter& reporter_;
};

}  // namespace

std::optional<AdaptSetting> ReadAdapt(const SettingTexts& settings, Evaluator& evaluator, Reporter& reporter) {
  for (const SettingText& text : settings) {
    const dsl::syntax::Expression& value = text.setting.value;
    const auto* name = std::get_if<dsl::syntax::Name>(&value.kind);
    if (text.setting.name.text != "adapt" || (name != nullptr && name->text == "none")) continue;
    reporter.SetContext(text.context);
    std::optional<AdaptSetting> setting = AdaptReader(evaluator, reporter).Read(value);
    reporter.SetContext("");
    if (setting.has_value()) setting->context = text.context;
    return setting;
  }
  return std::nullopt;
}

}  // namespace cleave::frontend
