// Reading guide: CompletionsAt looks at what surrounds the place (scan.h) and asks one of the functions above it for
// what fits there.
#include "tools/lsp/completion.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/contract/contract.h"
#include "frontend/initializers/initializers.h"
#include "frontend/manual/primitives.h"
#include "frontend/settings/settings.h"
#include "tools/lsp/hover.h"
#include "tools/lsp/navigation.h"
#include "tools/lsp/pages.h"
#include "tools/lsp/scan.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// Numbers of the protocol.
enum class Kind {
  kFunction = 3,
  kField = 5,
  kVariable = 6,
  kProperty = 10,
  kValue = 12,
  kKeyword = 14,
  kFile = 17,
  kStruct = 22,
};

class Items {
 public:
  void Add(const std::string& label, Kind kind, const std::string& detail = "", const std::string& page = "") {
    if (label.empty() || !labels_.insert(label).second) return;
    Json item = JsonObject({{"label", label}, {"kind", static_cast<int>(kind)}});
    if (!detail.empty()) item["detail"] = detail;
    if (!page.empty()) item["documentation"] = JsonObject({{"kind", "markdown"}, {"value", page}});
    items_.push_back(std::move(item));
  }

  Json Done() { return JsonObject({{"isIncomplete", false}, {"items", std::move(items_)}}); }

 private:
  std::set<std::string> labels_;
  Json items_ = Json::array();
};

void AddWords(std::initializer_list<const char*> words, Items& items) {
  for (const char* word : words) items.Add(word, Kind::kKeyword, "", PageOf(word));
}

void AddFiles(const std::string& folder, const std::string& typed, Items& items) {
  const size_t slash = typed.rfind('/');
  const std::string inner = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  constexpr int kMostFiles = 500;
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator at(fs::path(folder) / inner, error), end; !error && at != end && count < kMostFiles;
       at.increment(error), ++count) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (!absl::StartsWith(name, ".")) items.Add(absl::StrCat(inner, name, "/"), Kind::kFile);
    } else if (absl::EndsWith(name, ".model")) {
      items.Add(inner + name, Kind::kFile);
    }
  }
}

void AddTypes(const Reading& reading, Items& items) {
  for (const char* type : {"f32", "i32", "int", "float", "bool", "string", "tuple", "initializer", "layer"}) {
    items.Add(type, Kind::kStruct);
  }
  for (const std::string& record : reading.functions().RecordNames(nullptr)) items.Add(record, Kind::kStruct, "record");
}

void AddSettings(const std::string& block, const Reading& reading, Items& items) {
  const bool is_train = block == "train";
  std::set<std::string> given;
  for (const dsl::syntax::Item& item : reading.file().items) {
    const auto* train = std::get_if<dsl::syntax::Train>(&item.kind);
    const auto* parallel = std::get_if<dsl::syntax::Parallel>(&item.kind);
    if (is_train && train != nullptr) {
      for (const auto& setting : train->settings) given.insert(setting.name.text);
    } else if (!is_train && parallel != nullptr) {
      for (const auto& setting : parallel->settings) given.insert(setting.name.text);
    }
  }
  for (const std::string& name : is_train ? frontend::TrainSettingNames() : frontend::ParallelSettingNames()) {
    items.Add(name, Kind::kProperty, given.count(name) > 0 ? "given already" : "setting", PageOf(name, block));
  }
  if (!is_train) items.Add("pin", Kind::kKeyword, "", PageOf("pin"));
}

// The names that can be used at the place.
void AddNames(const Reading& reading, int32_t offset, Items& items) {
  const std::vector<frontend::TextDefinition>& definitions = reading.names().definitions;
  for (auto definition = definitions.rbegin(); definition != definitions.rend(); ++definition) {
    const bool is_visible = definition->visible.begin <= offset && offset <= definition->visible.end;
    const bool is_item = definition->kind == frontend::NameKind::kFunction ||
                         definition->kind == frontend::NameKind::kRecord || definition->kind == frontend::NameKind::kOp;
    if (definition->kind == frontend::NameKind::kField || definition->kind == frontend::NameKind::kModel) continue;
    if (is_item || (is_visible && definition->name.span.end < offset)) {
      items.Add(definition->name.text, is_item ? Kind::kFunction : Kind::kVariable, definition->detail,
                is_item ? reading.CommentBefore(definition->name.span) : "");
    }
  }
}

void AddCallables(const Reading& reading, Items& items) {
  for (const std::string& name : reading.functions().Names(nullptr)) {
    const std::optional<CallableFacts> facts = CallableNamed(reading, name);
    if (facts.has_value()) items.Add(name, Kind::kFunction, facts->signature.ToString(), facts->page);
  }
  for (const char* word : {"choose", "shape", "ndim", "floor", "int", "stack", "split", "vmap"}) {
    items.Add(word, Kind::kFunction, "", PageOf(word));
  }
  for (const std::string& name : frontend::InitializerNames()) {
    const std::optional<CallableFacts> facts = CallableNamed(reading, name);
    if (facts.has_value()) items.Add(name, Kind::kFunction, facts->signature.ToString(), facts->page);
  }
  for (const std::string& name : frontend::PrimitiveNames()) {
    const std::optional<CallableFacts> facts = CallableNamed(reading, name);
    if (facts.has_value()) items.Add(name, Kind::kFunction, facts->signature.ToString(), facts->page);
  }
}

void AddArguments(const Reading& reading, const OpenCall& call, Items& items) {
  if (!call.argument_name.empty()) return;
  const std::optional<CallableFacts> facts = CallableNamed(reading, call.callee);
  if (!facts.has_value()) return;
  for (const frontend::FormalArgument& formal : facts->signature.arguments) {
    items.Add(absl::StrCat(formal.name, " = "), Kind::kProperty, formal.text);
  }
}

// The types of the value of the name or field that ends at the place, as hovering over it shows them: "a record
// `Sizes`"; of a name that no model has reached yet what its declaration says, "s: Sizes". None where nothing is known.
std::vector<std::string> TypesBefore(const Reading& reading, const Knowledge& knowledge, int32_t end) {
  if (const auto known = knowledge.Around(end - 1, end); known.has_value() && known->end == end) {
    return known->value.types;
  }
  const frontend::TextUse* const use = reading.UseAt(end);
  if (use == nullptr || use->span.end != end || !use->definition.has_value()) return {};
  const frontend::TextDefinition& definition = reading.names().definitions[*use->definition];
  if (const auto known = knowledge.At(definition.name.span.begin, definition.name.span.end)) return known->value.types;
  const size_t colon = definition.detail.find(": ");
  if (colon == std::string::npos) return {};
  const std::string type = definition.detail.substr(colon + 2);  // "Sizes = Sizes(width = 16)"
  return {absl::StrCat("a record `", type.substr(0, type.find(' ')), "`")};
}

// Behind a dot at `dot`.
void AddFields(const Reading& reading, const Knowledge& knowledge, int32_t dot, Items& items) {
  const std::vector<std::string> types = TypesBefore(reading, knowledge, dot);
  bool is_record = false;
  for (const std::string& record : reading.functions().RecordNames(nullptr)) {
    const std::string type = absl::StrCat("a record `", record, "`");
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    const std::optional<CallableFacts> facts = CallableNamed(reading, record);
    if (!facts.has_value()) continue;
    is_record = true;
    for (const frontend::FormalArgument& field : facts->signature.arguments) {
      items.Add(field.name, Kind::kField, field.text);
    }
  }
  if (is_record) return;
  const bool is_known = !types.empty() && !absl::StartsWith(types[0], "a record ");
  for (const frontend::TextDefinition& definition : reading.names().definitions) {
    if (is_known) break;
    if (definition.kind == frontend::NameKind::kField) items.Add(definition.name.text, Kind::kField, definition.detail);
  }
  items.Add("grad", Kind::kField, "in `print` and `assert_finite`: the gradient");
}

}  // namespace

Json CompletionsAt(const Reading& reading, const Knowledge& knowledge, const std::string& folder, int32_t offset) {
  Items items;
  const Surroundings around = SurroundingsAt(reading.words(), reading.text(), offset);
  if (around.in_comment) return items.Done();
  if (around.in_string) {
    if (around.before == "import") AddFiles(folder, around.string_before, items);
    if (around.before == "pin" && !absl::StrContains(around.string_before, '.')) {
      for (const frontend::TextDefinition* definition : NamesOfOps(reading)) {
        items.Add(definition->name.text, Kind::kVariable, definition->detail);
      }
    }
    return items.Done();
  }
  if (around.before == ".") {
    const size_t dot = reading.text().rfind('.', static_cast<size_t>(std::max(around.word_begin - 1, 0)));
    AddFields(reading, knowledge, dot == std::string::npos ? 0 : static_cast<int32_t>(dot), items);
  } else if (around.item.empty() && around.begins_statement) {
    AddWords({"import", "record", "model", "fn", "op", "train", "parallel", "expect"}, items);
  } else if (around.in_attribute && around.before == "[") {
    AddWords({"shard", "layout", "replicate", "priority", "stage", "recompute", "keep", "offload", "region", "term",
              "manual", "local"},
             items);
  } else if (around.before == ":" && !around.in_attribute) {
    AddTypes(reading, items);
  } else if (around.in_settings() && around.begins_statement) {
    AddSettings(around.item, reading, items);
  } else if (around.item == "expect" && around.begins_statement) {
    for (const frontend::FigureName& figure : frontend::Figures()) items.Add(figure.name, Kind::kProperty, "figure");
    items.Add("layout", Kind::kProperty);
  } else {
    if (!around.calls.empty()) AddArguments(reading, around.calls.back(), items);
    if (around.in_settings() && around.calls.empty()) {
      for (const std::string& choice : ChoicesOf(around.setting, around.item)) items.Add(choice, Kind::kValue);
    }
    AddNames(reading, offset, items);
    if (around.begins_statement) {
      AddWords({"let", "for", "if", "return", "input", "param", "state", "update", "loss", "metric", "print",
                "assert_finite"},
               items);
    }
    AddCallables(reading, items);
    AddWords({"true", "false", "layer", "with"}, items);
  }
  return items.Done();
}

Json SignatureAt(const Reading& reading, int32_t offset) {
  const Surroundings around = SurroundingsAt(reading.words(), reading.text(), offset);
  if (around.calls.empty() || around.in_comment) return nullptr;
  const OpenCall& call = around.calls.back();
  const std::optional<CallableFacts> facts = CallableNamed(reading, call.callee);
  if (!facts.has_value()) return nullptr;
  const frontend::Signature& signature = facts->signature;
  const std::string label = signature.ToString();
  Json parameters = Json::array();
  int64_t active = call.argument;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const frontend::FormalArgument& formal = signature.arguments[i];
    parameters.push_back(JsonObject({{"label", formal.text}}));
    if (!call.argument_name.empty() && formal.name == call.argument_name) active = static_cast<int64_t>(i);
  }
  Json json = JsonObject({{"label", label}, {"parameters", std::move(parameters)}});
  if (!facts->page.empty()) json["documentation"] = JsonObject({{"kind", "markdown"}, {"value", facts->page}});
  return JsonObject(
      {{"signatures", Json::array({std::move(json)})}, {"activeSignature", 0}, {"activeParameter", active}});
}

}  // namespace cleave::tools
