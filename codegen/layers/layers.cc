#include "codegen/layers/layers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/layer_names/layer_names.h"
#include "codegen/layers/repeats.h"

namespace cleave::codegen {
namespace {

// Text that stands for most layers, except for so many.
constexpr size_t kMostExceptions = 2;

// "x.3.norm" as seen from prefix "x.": {3, "norm"}; nullopt for what does not begin like a layer.
struct OfLayer {
  int64_t layer = 0;
  std::string rest;  // "norm"
};
std::optional<OfLayer> SplitName(absl::string_view name, absl::string_view prefix) {
  if (!absl::StartsWith(name, prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const size_t dot = name.find('.');
  OfLayer result;
  if (dot == 0 || dot == absl::string_view::npos || !absl::SimpleAtoi(name.substr(0, dot), &result.layer)) {
    return std::nullopt;
  }
  result.rest = std::string(name.substr(dot + 1));
  return result;
}

// What comes before the only number in which all names differ: "x." of {"x.0.norm", "x.1.norm"}.
std::optional<std::string> PrefixOf(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> parts;
  for (const std::string& name : names) {
    parts.push_back(absl::StrSplit(name, '.'));
    if (parts.back().size() != parts.front().size()) return std::nullopt;
  }
  std::optional<size_t> place;
  for (size_t i = 0; i < parts.front().size(); ++i) {
    const bool differs = std::any_of(parts.begin(), parts.end(),
                                     [&](const std::vector<std::string>& name) { return name[i] != parts[0][i]; });
    if (!differs) continue;
    if (place.has_value()) return std::nullopt;
    place = i;
  }
  if (!place.has_value() || *place == 0) return std::nullopt;
  std::set<std::string> distinct;
  int64_t number = 0;
  for (const std::vector<std::string>& name : parts) {
    if (!absl::SimpleAtoi(name[*place], &number) || !distinct.insert(name[*place]).second) return std::nullopt;
  }
  const std::vector<std::string>& first = parts.front();
  return absl::StrCat(absl::StrJoin(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(*place), "."), ".");
}

// One text for the names of all layers.
std::optional<LayerText> TextOf(const std::map<int64_t, std::string>& names, const std::string& prefix) {
  std::map<std::pair<int64_t, std::string>, size_t> forms;  // Shift and rest; how often.
  std::map<std::string, size_t> plain;
  for (const auto& [layer, name] : names) {
    if (const std::optional<OfLayer> split = SplitName(name, prefix)) ++forms[{split->layer - layer, split->rest}];
    ++plain[name];
  }
  if (plain.size() == 1) return LayerText{.text = plain.begin()->first};
  if (forms.empty()) return std::nullopt;
  const auto most =
      std::max_element(forms.begin(), forms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& [shift, rest] = most->first;
  LayerText text{.text = absl::StrCat(prefix, "#.", rest), .shift = shift};
  for (const auto& [layer, name] : names) {
    if (name != absl::StrCat(prefix, layer + shift, ".", rest)) text.exceptions[layer] = name;
  }
  if (text.exceptions.size() > kMostExceptions || text.exceptions.size() >= names.size()) return std::nullopt;
  return text;
}

// The line that most layers have, and the others.
bool TakeLines(const std::map<int64_t, int>& lines, LayerText& text) {
  std::map<int, size_t> counts;
  for (const auto& [layer, line] : lines) ++counts[line];
  text.line = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->first;
  for (const auto& [layer, line] : lines) {
    if (line != text.line) text.other_lines[layer] = line;
  }
  return text.other_lines.size() <= kMostExceptions;
}

class Planner {
 public:
  Planner(const std::vector<std::vector<Statement>>& lists, int least_period,
          const std::function<std::string(int)>& buffer_name)
      : lists_(lists), least_period_(least_period), buffer_name_(buffer_name) {}

  LayerPlan Run() && {
    for (size_t list = 0; list < lists_.size(); ++list) {
      for (const Repeat& repeat : FindRepeats(SymbolsOf(lists_[list]), StartsOf(lists_[list]), least_period_)) {
        AddBody(static_cast<int>(list), repeat);
      }
    }
    DropGapped();
    for (LayerBody& body : plan_.bodies) TakeColumns(body);
    // A body in which one buffer stands for two fields wherever it is written stays as it is.
    std::erase_if(plan_.bodies, [&](LayerBody& body) { return !ChooseModel(body); });
    DropUnusedFields();
    // Layers without a tensor of their own have no struct.
    std::erase_if(plan_.bodies, [&](const LayerBody& body) { return plan_.groups[body.group].fields.empty(); });
    NameFields();
    FindOwners();
    return std::move(plan_);
  }

 private:
  const Statement& At(int list, int place) const {
    return lists_[static_cast<size_t>(list)][static_cast<size_t>(place)];
  }

  std::vector<int> SymbolsOf(const std::vector<Statement>& list) {
    std::vector<int> symbols;
    for (const Statement& statement : list) {
      symbols.push_back(symbols_.try_emplace(statement.shape, static_cast<int>(symbols_.size())).first->second);
    }
    return symbols;
  }

  // Statements whose names have other numbers than those of the statement before.
  static std::set<int> StartsOf(const std::vector<Statement>& list) {
    std::set<int> starts;
    std::vector<int64_t> before;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].names.empty()) continue;
      std::vector<int64_t> numbers = LayerNameOf(list[i].names.front().text).numbers;
      if (numbers != before && !numbers.empty()) starts.insert(static_cast<int>(i));
      before = std::move(numbers);
    }
    return starts;
  }

  // The names that stand at one place of a body, by occurrence.
  std::vector<std::string> NamesAt(int list, const Repeat& repeat, int statement, size_t slot) const {
    std::vector<std::string> names;
    for (const int begin : repeat.begins) names.push_back(At(list, begin + statement).names[slot].text);
    return names;
  }

  std::optional<std::string> PrefixOfBody(int list, const Repeat& repeat) const {
    for (int i = 0; i < repeat.period; ++i) {
      for (size_t slot = 0; slot < At(list, repeat.begins[0] + i).names.size(); ++slot) {
        if (const auto prefix = PrefixOf(NamesAt(list, repeat, i, slot))) return prefix;
      }
    }
    return std::nullopt;
  }

  // Where the names of every occurrence have a number: statement and slot.
  using Numbered = std::vector<std::pair<int, size_t>>;
  Numbered NumberedNames(int list, const Repeat& repeat, const std::string& prefix) const {
    Numbered numbered;
    for (int i = 0; i < repeat.period; ++i) {
      for (size_t slot = 0; slot < At(list, repeat.begins[0] + i).names.size(); ++slot) {
        const std::vector<std::string> names = NamesAt(list, repeat, i, slot);
        const bool always = std::all_of(names.begin(), names.end(),
                                        [&](const std::string& name) { return SplitName(name, prefix).has_value(); });
        if (always) numbered.emplace_back(i, slot);
      }
    }
    return numbered;
  }

  // The number that most of these names of an occurrence have.
  int64_t LayerOf(int list, int begin, const Numbered& numbered, const std::string& prefix) const {
    std::map<int64_t, int> votes;
    for (const auto& [i, slot] : numbered) {
      ++votes[SplitName(At(list, begin + i).names[slot].text, prefix)->layer];
    }
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void AddBody(int list, const Repeat& repeat) {
    const std::optional<std::string> prefix = PrefixOfBody(list, repeat);
    if (!prefix.has_value()) return;
    const Numbered numbered = NumberedNames(list, repeat, *prefix);
    if (numbered.empty()) return;
    LayerBody body{.list = list, .period = repeat.period};
    std::set<int64_t> layers;
    for (const int begin : repeat.begins) {
      const int64_t layer = LayerOf(list, begin, numbered, *prefix);
      if (!layers.insert(layer).second) return;
      body.occurrences.push_back({.begin = begin, .layer = layer});
    }
    for (int i = 0; i < repeat.period; ++i) {
      std::vector<LayerText>& texts = body.names.emplace_back();
      for (size_t slot = 0; slot < At(list, repeat.begins[0] + i).names.size(); ++slot) {
        std::map<int64_t, std::string> names;
        std::map<int64_t, int> lines;
        for (const LayerBody::Occurrence& occurrence : body.occurrences) {
          const Statement::Name& name = At(list, occurrence.begin + i).names[slot];
          names[occurrence.layer] = name.text;
          lines[occurrence.layer] = name.line;
        }
        std::optional<LayerText> text = TextOf(names, *prefix);
        if (!text.has_value() || !TakeLines(lines, *text)) return;
        texts.push_back(*std::move(text));
      }
    }
    body.group = GroupOf(*prefix);
    layers_[body.group].insert(layers.begin(), layers.end());
    plan_.bodies.push_back(std::move(body));
  }

  size_t GroupOf(const std::string& prefix) {
    for (size_t i = 0; i < plan_.groups.size(); ++i) {
      if (plan_.groups[i].prefix == prefix) return i;
    }
    plan_.groups.push_back({.prefix = prefix});
    layers_.emplace_back();
    return plan_.groups.size() - 1;
  }

  // The layers of a group are numbered without gaps.
  void DropGapped() {
    for (size_t i = 0; i < plan_.groups.size(); ++i) {
      LayerGroup& group = plan_.groups[i];
      group.first = *layers_[i].begin();
      group.count = *layers_[i].rbegin() - group.first + 1;
      if (group.count == static_cast<int64_t>(layers_[i].size())) continue;
      std::erase_if(plan_.bodies, [&](const LayerBody& body) { return body.group == i; });
    }
  }

  void TakeColumns(LayerBody& body) {
    for (int i = 0; i < body.period; ++i) {
      std::vector<int>& fields = body.fields.emplace_back();
      const size_t slots = At(body.list, body.occurrences[0].begin + i).buffers.size();
      for (size_t slot = 0; slot < slots; ++slot) {
        std::map<int64_t, int> column;
        std::set<int> distinct;
        for (const LayerBody::Occurrence& occurrence : body.occurrences) {
          const int buffer = At(body.list, occurrence.begin + i).buffers[slot];
          column[occurrence.layer] = buffer;
          distinct.insert(buffer);
        }
        fields.push_back(distinct.size() == 1 ? -1 : FieldOf(body.group, column));
      }
    }
  }

  // The field that agrees with a column wherever both have a layer, and has one of its buffers; else a new one.
  int FieldOf(size_t group, const std::map<int64_t, int>& column) {
    std::vector<LayerField>& fields = plan_.groups[group].fields;
    for (const auto& [layer, buffer] : column) {
      for (const size_t candidate : holders_[{group, layer, buffer}]) {
        LayerField& field = fields[candidate];
        const bool agrees = std::all_of(column.begin(), column.end(), [&](const auto& entry) {
          const auto found = field.buffers.find(entry.first);
          return found == field.buffers.end() || found->second == entry.second;
        });
        if (agrees) return Extend(group, candidate, column);
      }
    }
    fields.emplace_back();
    return Extend(group, fields.size() - 1, column);
  }

  int Extend(size_t group, size_t field, const std::map<int64_t, int>& column) {
    for (const auto& [layer, buffer] : column) {
      if (!plan_.groups[group].fields[field].buffers.emplace(layer, buffer).second) continue;
      holders_[{group, layer, buffer}].push_back(field);
    }
    return static_cast<int>(field);
  }

  // Within each statement a buffer stands for one field, or for none, and a name for one text.
  bool ChooseModel(LayerBody& body) const {
    for (size_t o = 0; o < body.occurrences.size(); ++o) {
      const auto is_clear = [&](int i) {
        const std::vector<int>& buffers = At(body.list, body.occurrences[o].begin + i).buffers;
        std::map<int, int> stands_for;
        for (size_t slot = 0; slot < buffers.size(); ++slot) {
          const int field = body.fields[static_cast<size_t>(i)][slot];
          if (stands_for.emplace(buffers[slot], field).first->second != field) return false;
        }
        const std::vector<Statement::Name>& names = At(body.list, body.occurrences[o].begin + i).names;
        std::map<std::string, const LayerText*> texts;
        for (size_t slot = 0; slot < names.size(); ++slot) {
          const LayerText& text = body.names[static_cast<size_t>(i)][slot];
          if (*texts.emplace(names[slot].text, &text).first->second != text) return false;
        }
        return true;
      };
      bool all = true;
      for (int i = 0; i < body.period; ++i) all = all && is_clear(i);
      if (!all) continue;
      body.model = o;
      return true;
    }
    return false;
  }

  void DropUnusedFields() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      std::vector<LayerField>& fields = plan_.groups[g].fields;
      std::vector<int> places(fields.size(), -1);
      for (const LayerBody& body : plan_.bodies) {
        if (body.group != g) continue;
        for (const std::vector<int>& of_statement : body.fields) {
          for (const int field : of_statement) {
            if (field >= 0) places[static_cast<size_t>(field)] = 0;
          }
        }
      }
      std::vector<LayerField> kept;
      for (size_t i = 0; i < fields.size(); ++i) {
        if (places[i] < 0) continue;
        places[i] = static_cast<int>(kept.size());
        kept.push_back(std::move(fields[i]));
      }
      fields = std::move(kept);
      for (LayerBody& body : plan_.bodies) {
        if (body.group != g) continue;
        for (std::vector<int>& of_statement : body.fields) {
          for (int& field : of_statement) field = field < 0 ? -1 : places[static_cast<size_t>(field)];
        }
      }
    }
  }

  // A field is named after most of its buffers.
  void NameFields() {
    for (LayerGroup& group : plan_.groups) {
      std::set<std::string> taken;
      for (LayerField& field : group.fields) {
        std::map<std::pair<int64_t, std::string>, int> votes;
        for (const auto& [layer, buffer] : field.buffers) {
          if (const auto split = SplitName(buffer_name_(buffer), group.prefix)) {
            ++votes[{split->layer - layer, split->rest}];
          }
        }
        std::string name = "value";
        if (!votes.empty()) {
          const auto most = std::max_element(votes.begin(), votes.end(),
                                             [](const auto& a, const auto& b) { return a.second < b.second; });
          const auto& [shift, rest] = most->first;
          name = shift == -1 ? absl::StrCat("previous.", rest) : shift == 1 ? absl::StrCat("next.", rest) : rest;
        }
        field.name = name;
        for (int number = 2; !taken.insert(field.name).second; ++number) field.name = absl::StrCat(name, ".", number);
      }
    }
  }

  // A buffer belongs to the layer whose number its name has, if a field of the layer holds it.
  void FindOwners() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const LayerGroup& group = plan_.groups[g];
      for (size_t f = 0; f < group.fields.size(); ++f) {
        for (const auto& [layer, buffer] : group.fields[f].buffers) {
          const std::optional<OfLayer> split = SplitName(buffer_name_(buffer), group.prefix);
          if (!split.has_value() || split->layer != layer) continue;
          plan_.owners.emplace(buffer, LayerPlan::Owner{.group = g, .layer = layer, .field = f});
        }
      }
    }
  }

  const std::vector<std::vector<Statement>>& lists_;
  const int least_period_;
  const std::function<std::string(int)>& buffer_name_;
  std::map<std::string, int> symbols_;
  LayerPlan plan_;
  std::vector<std::set<int64_t>> layers_;                                    // By group.
  std::map<std::tuple<size_t, int64_t, int>, std::vector<size_t>> holders_;  // Fields that have a buffer in a layer.
};

}  // namespace

LayerPlan PlanLayers(const std::vector<std::vector<Statement>>& lists, int least_period,
                     const std::function<std::string(int buffer)>& buffer_name) {
  return Planner(lists, least_period, buffer_name).Run();
}

}  // namespace cleave::codegen
