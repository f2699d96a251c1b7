#include "frontend/overrides/overrides.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"

namespace cleave::frontend {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Overrider {
 public:
  Overrider(OverrideRequest request, SourceSet& texts, Reporter& reporter)
      : request_(std::move(request)), texts_(texts), reporter_(reporter) {
    result_.train = std::move(request_.train);
    result_.parallel = std::move(request_.parallel);
  }

  OverrideResult Run() {
    for (const auto& [name, value] : request_.overrides) {
      argument_ = absl::StrCat("--set ", name, "=", value);
      context_ = absl::StrCat("`", argument_, "`");
      Apply(name, value);
    }
    return std::move(result_);
  }

 private:
  void Fail(std::string why, std::string help = "") {
    Diagnostic error = Error(Code::kE0510, absl::StrCat(context_, ": ", why));
    if (!help.empty()) error.help.push_back(std::move(help));
    reporter_.Report(std::move(error));
  }

  void Apply(const std::string& name, const std::string& value) {
    const std::vector<std::string> names = absl::StrSplit(name, '.');
    for (const dsl::syntax::Parameter& parameter : request_.model.parameters) {
      if (parameter.name.text != names[0]) continue;
      if (names.size() == 1) {
        const auto setting = ReadTyped("value", parameter.type, value);
        if (setting) result_.arguments.insert_or_assign(name, OverriddenArgument{setting->value, context_, {}});
        return;
      }
      // A setting may have the name of an argument that has no fields.
      const Function* const record = RecordOf(parameter.type, nullptr);
      if (record != nullptr) return SetField(names, *record, value);
    }
    absl::string_view rest = name;
    const bool only_train = absl::ConsumePrefix(&rest, "train.");
    const bool only_parallel = !only_train && absl::ConsumePrefix(&rest, "parallel.");
    const std::string whole(rest);
    const size_t dot = whole.find('.');
    const std::string setting_name = whole.substr(0, dot);
    if (!only_parallel && Contains(TrainSettingNames(), setting_name)) {
      Set(setting_name, dot == std::string::npos ? "" : whole.substr(dot + 1), value, result_.train);
    } else if (!only_train && dot == std::string::npos && Contains(ParallelSettingNames(), setting_name)) {
      Set(setting_name, "", value, result_.parallel);
    } else {
      std::vector<std::string> known;
      for (const dsl::syntax::Parameter& parameter : request_.model.parameters) known.push_back(parameter.name.text);
      known.insert(known.end(), TrainSettingNames().begin(), TrainSettingNames().end());
      known.insert(known.end(), ParallelSettingNames().begin(), ParallelSettingNames().end());
      const auto nearest = NearestName(name, known);
      Fail(absl::StrCat("neither an argument of model `", request_.model.name.text, "` nor a setting is called `", name,
                        "`"),
           nearest ? absl::StrCat("did you mean `", *nearest, "`?") : "");
    }
  }

  // The record that the type of an argument of the model, or of a field of `inside`, names; null for none.
  const Function* RecordOf(const dsl::syntax::Type& type, const Function* inside) const {
    return type.dimensions ? nullptr : request_.functions.FindRecord(type.element.text, inside);
  }

  // A field of the argument `names[0]`, which is a `record`, or of a record in it.
  void SetField(const std::vector<std::string>& names, const Function& record, const std::string& value) {
    std::vector<dsl::syntax::Identifier> path;
    const Function* inside = &record;
    for (size_t i = 1; i < names.size(); ++i) {
      const std::vector<dsl::syntax::Parameter>& fields = inside->syntax->parameters;
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const dsl::syntax::Parameter& each) { return each.name.text == names[i]; });
      if (field == fields.end()) {
        std::vector<std::string> known;
        for (const dsl::syntax::Parameter& each : fields) known.push_back(each.name.text);
        const auto nearest = NearestName(names[i], known);
        return Fail(absl::StrCat("record `", inside->name(), "` has no field `", names[i], "`"),
                    nearest ? absl::StrCat("did you mean `", *nearest, "`?") : "");
      }
      path.push_back(field->name);
      if (i + 1 == names.size()) {
        const auto setting = ReadTyped(names[i], field->type, value);
        if (!setting) return;
        path.back().span = setting->name.span;
        result_.arguments[names[0]].fields.push_back({path, setting->value, context_});
        return;
      }
      const Function* const outer = std::exchange(inside, RecordOf(field->type, inside));
      if (inside == nullptr) {
        return Fail(absl::StrCat("field `", names[i], "` of record `", outer->name(), "` is `",
                                 field->type.element.text, "`, which has no fields"));
      }
    }
  }

  void Set(const std::string& name, const std::string& argument, const std::string& value, SettingTexts& settings) {
    auto setting = Read(name, value);
    if (!setting) return;
    auto old = std::find_if(settings.begin(), settings.end(),
                            [&](const SettingText& text) { return text.setting.name.text == name; });
    if (argument.empty()) {
      SettingText text{*std::move(setting), context_, request_.folder};
      if (old == settings.end()) {
        settings.push_back(std::move(text));
      } else {
        *old = std::move(text);
      }
      return;
    }
    auto* call = old == settings.end() ? nullptr : std::get_if<dsl::syntax::Call>(&old->setting.value.kind);
    if (call == nullptr) {
      Fail(absl::StrCat("the `train` block has no `", name, " = …(…)` to change"),
           absl::StrCat("set it whole: `--set '", name, "=…(…)'`"));
      return;
    }
    // The paths of data: one may be typed on the command line and another be given in the file.
    if (auto* path = std::get_if<dsl::syntax::StringLiteral>(&setting->value.kind);
        path != nullptr && name == "data" && !request_.folder.empty()) {
      path->value = std::filesystem::absolute(std::filesystem::path(request_.folder) / path->value).lexically_normal();
    }
    dsl::syntax::Argument replacement{setting->value.span, dsl::syntax::Identifier{setting->name.span, argument},
                                      setting->value};
    auto same = std::find_if(call->arguments.begin(), call->arguments.end(), [&](const dsl::syntax::Argument& other) {
      return other.name && other.name->text == argument;
    });
    if (same == call->arguments.end()) {
      call->arguments.push_back(std::move(replacement));
    } else {
      *same = std::move(replacement);
    }
    old->context = context_;
  }

  // A string may stand without quotes.
  std::optional<dsl::syntax::Setting> ReadTyped(const std::string& name, const dsl::syntax::Type& type,
                                                const std::string& value) {
    const bool bare = type.element.text == "string" && !absl::StartsWith(value, "\"");
    return Read(name, bare ? absl::StrCat("\"", value, "\"") : value);
  }

  // The text is read as the only setting of a block, so that values look as they do in a file.
  std::optional<dsl::syntax::Setting> Read(const std::string& name, const std::string& value) {
    Diagnostics mistakes;
    const FileId file =
        texts_.Add(argument_, absl::StrCat("train x { ", name, " = ", value, "; }"), TextOrigin::kCommandLine);
    std::optional<dsl::syntax::File> parsed = dsl::Parse(file, texts_, mistakes);
    const auto* train =
        parsed && parsed->items.size() == 1 ? std::get_if<dsl::syntax::Train>(&parsed->items[0].kind) : nullptr;
    if (train != nullptr && train->settings.size() == 1 && parsed->comments.empty()) return train->settings[0];
    std::string why = "not one value of the language";
    if (!mistakes.items().empty()) absl::StrAppend(&why, ": ", mistakes.items()[0].message);
    Fail(std::move(why));
    return std::nullopt;
  }

  OverrideRequest request_;
  SourceSet& texts_;
  Reporter& reporter_;
  OverrideResult result_;
  std::string argument_;
  std::string context_;
};

}  // namespace

OverrideResult ApplyOverrides(OverrideRequest request, SourceSet& texts, Reporter& reporter) {
  return Overrider(std::move(request), texts, reporter).Run();
}

}  // namespace cleave::frontend
