#include "codegen/layers/layers.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check/check.h"
#include "base/layer_names/layer_names.h"
#include "codegen/layers/repeats.h"

namespace cleave::codegen {
namespace {

// Text that stands for most layers, except for so many.
constexpr size_t kMostExceptions = 2;

// "x.3.norm": {"x.", 3, "norm"}.
struct OfLayer {
  std::string before;
  int64_t layer = 0;
  std::string rest;
};

// The name with the number that stands at `begin`; nullopt where none does, or nothing follows it.
std::optional<OfLayer> SplitAt(absl::string_view name, size_t begin) {
  const size_t dot = name.find('.', begin);
  OfLayer result;
  if (dot == begin || dot == absl::string_view::npos ||
      !absl::SimpleAtoi(name.substr(begin, dot - begin), &result.layer)) {
    return std::nullopt;
  }
  result.before = std::string(name.substr(0, begin));
  result.rest = std::string(name.substr(dot + 1));
  return result;
}

// A name that begins with `prefix`; nullopt for what does not begin like a layer.
std::optional<OfLayer> SplitName(absl::string_view name, absl::string_view prefix) {
  return absl::StartsWith(name, prefix) ? SplitAt(name, prefix.size()) : std::nullopt;
}

// A name whose number stands behind as many dots as in those that begin with `prefix`. A loop may give its values
// several names: "h.3.mul" and "c.3.add" of `(h, c) = lstm(h, c)`.
std::optional<OfLayer> SplitLike(absl::string_view name, absl::string_view prefix) {
  size_t begin = 0;
  for (auto dots = std::count(prefix.begin(), prefix.end(), '.'); dots > 0; --dots) {
    begin = name.find('.', begin);
    if (begin == absl::string_view::npos) return std::nullopt;
    ++begin;
  }
  return SplitAt(name, begin);
}

// A name with one of its numbers taken out: "x.", "x.#.norm" and 3 of "x.3.norm".
struct Numbered {
  std::string prefix;
  std::string place;
  int64_t number = 0;
};

// One for each number that does not begin the name, in their order.
std::vector<Numbered> NumberedForms(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  std::vector<Numbered> forms;
  for (size_t i = 1; i < parts.size(); ++i) {
    const LayerName part = LayerNameOf(parts[i]);
    if (part.numbers.empty()) continue;
    const std::string own = std::exchange(parts[i], "#");
    const std::string prefix =
        absl::StrCat(absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), "."), ".");
    forms.push_back({prefix, absl::StrJoin(parts, "."), part.numbers.front()});
    parts[i] = own;
  }
  return forms;
}

// Occurrences of a repeat, by their beginnings, that are layers of one loop: their names begin with `prefix` and a
// number.
struct Loop {
  std::string prefix;
  std::vector<int> begins;
};

// The fewest loops to which names belong, one name for each of `begins`: names of a loop differ in one number. A name
// without it is alone. Empty where no two names are of one loop.
std::vector<Loop> LoopsOf(const std::vector<std::string>& names, const std::vector<int>& begins) {
  std::vector<std::vector<Numbered>> forms;
  size_t numbers = 0;
  for (const std::string& name : names) {
    forms.push_back(NumberedForms(name));
    numbers = std::max(numbers, forms.back().size());
  }
  std::vector<Loop> best;
  for (size_t n = 0; n < numbers; ++n) {
    std::map<std::string, Loop> loops;  // By the names' place.
    std::set<std::pair<std::string, int64_t>> distinct;
    for (size_t i = 0; i < names.size(); ++i) {
      const Numbered form = n < forms[i].size() ? forms[i][n] : Numbered{.prefix = "", .place = names[i]};
      Loop& loop = loops[form.place];
      loop.prefix = form.prefix;
      loop.begins.push_back(begins[i]);
      distinct.emplace(form.place, form.number);
    }
    const bool is_better = best.empty() ? loops.size() < names.size() : loops.size() < best.size();
    if (distinct.size() < names.size() || !is_better) continue;
    best.clear();
    for (auto& [place, loop] : loops) best.push_back(std::move(loop));
  }
  return best;
}

// One text for the names of all layers.
std::optional<LayerText> TextOf(const std::map<int64_t, std::string>& names, const std::string& prefix) {
  using Form = std::tuple<int64_t, std::string, std::string>;  // Shift, and what is before and behind the number.
  std::map<Form, size_t> forms;                                // How often.
  std::map<std::string, size_t> plain;
  for (const auto& [layer, name] : names) {
    if (const std::optional<OfLayer> split = SplitLike(name, prefix)) {
      ++forms[{split->layer - layer, split->before, split->rest}];
    }
    ++plain[name];
  }
  if (plain.size() == 1) return LayerText{.text = plain.begin()->first};
  if (forms.empty()) return std::nullopt;
  const auto most =
      std::max_element(forms.begin(), forms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& [shift, before, rest] = most->first;
  LayerText text{.text = absl::StrCat(before, "#.", rest), .shift = shift};
  for (const auto& [layer, name] : names) {
    if (name != absl::StrCat(before, layer + shift, ".", rest)) text.exceptions[layer] = name;
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

// "previous." for what the layer before has, "next." for what the next one has.
std::string ShiftWord(int64_t shift) {
  if (shift == 0) return "";
  const std::string word = shift < 0 ? "previous" : "next";
  return absl::StrCat(word, std::abs(shift) == 1 ? "" : absl::StrCat(std::abs(shift)), ".");
}

class Planner {
 public:
  Planner(const std::vector<std::vector<Statement>>& lists, int least_saved,
          const std::function<std::string(int)>& buffer_name)
      : lists_(lists), least_saved_(least_saved), buffer_name_(buffer_name) {}

  LayerPlan Run() && {
    std::vector<Repeated> repeated;
    for (size_t list = 0; list < lists_.size(); ++list) {
      const int number = static_cast<int>(list);
      const RepeatOptions options = {.least_saved = least_saved_,
                                     .starts = StartsOf(lists_[list]),
                                     .loops = [&](const Repeat& repeat) { return LoopsToName(number, repeat); }};
      for (const Repeat& repeat : FindRepeats(SymbolsOf(lists_[list]), options)) {
        for (Loop& loop : LoopsOfBody(number, repeat)) {
          if (loop.begins.size() > 1) repeated.push_back({number, repeat.period, std::move(loop)});
        }
      }
    }
    for (const Repeated& one : repeated) JoinPrefixes(one);
    for (const Repeated& one : repeated) AddBody(one.list, one.period, one.loop);
    std::sort(plan_.bodies.begin(), plan_.bodies.end(), [](const LayerBody& a, const LayerBody& b) {
      return std::make_pair(a.list, a.occurrences[0].begin) < std::make_pair(b.list, b.occurrences[0].begin);
    });
    NumberLayers();
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
  // A sequence of statements of a list that is said for each layer of a loop.
  struct Repeated {
    int list = 0;
    int period = 0;
    Loop loop;
  };

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
    LayerNumbers before;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].names.empty()) continue;
      LayerNumbers numbers = LayerNumbersOf(list[i].names.front().text);
      if (numbers != before && !numbers.empty()) starts.insert(static_cast<int>(i));
      before = std::move(numbers);
    }
    return starts;
  }

  // The loops whose layers the occurrences of a repeat are, by the names that show the fewest.
  std::vector<Loop> LoopsOfBody(int list, const Repeat& repeat) const {
    std::vector<Loop> best;
    for (int i = 0; i < repeat.period && best.size() != 1; ++i) {
      for (size_t slot = 0; slot < At(list, repeat.begins[0] + i).names.size() && best.size() != 1; ++slot) {
        std::vector<std::string> names;
        for (const int begin : repeat.begins) names.push_back(At(list, begin + i).names[slot].text);
        std::vector<Loop> loops = LoopsOf(names, repeat.begins);
        if (!loops.empty() && (best.empty() || loops.size() < best.size())) best = std::move(loops);
      }
    }
    return best;
  }

  // Where the names of every occurrence have a number, and not all the same: statement and slot.
  using Slots = std::vector<std::pair<int, size_t>>;
  Slots NumberedNames(int list, int period, const Loop& loop) const {
    Slots numbered;
    for (int i = 0; i < period; ++i) {
      for (size_t slot = 0; slot < At(list, loop.begins[0] + i).names.size(); ++slot) {
        std::set<int64_t> numbers;
        const bool always = std::all_of(loop.begins.begin(), loop.begins.end(), [&](int begin) {
          const auto split = SplitLike(At(list, begin + i).names[slot].text, loop.prefix);
          if (split.has_value()) numbers.insert(split->layer);
          return split.has_value();
        });
        if (always && numbers.size() > 1) numbered.emplace_back(i, slot);
      }
    }
    return numbered;
  }

  // Names that are numbered together in a body are those of one loop, whatever they begin with.
  void JoinPrefixes(const Repeated& one) {
    for (const auto& [i, slot] : NumberedNames(one.list, one.period, one.loop)) {
      const std::string& name = At(one.list, one.loop.begins[0] + i).names[slot].text;
      const std::string first = FirstPrefix(one.loop.prefix);
      const std::string other = FirstPrefix(SplitLike(name, one.loop.prefix)->before);
      if (first != other) joined_[other] = first;
    }
  }

  // That which stands for all prefixes of its loop.
  std::string FirstPrefix(std::string prefix) const {
    for (auto found = joined_.find(prefix); found != joined_.end(); found = joined_.find(prefix))
      prefix = found->second;
    return prefix;
  }

  // The number that most of these names of an occurrence have; of two that as many have the smaller one. Occurrences
  // differ only in their numbers, so that all of them decide alike, and names with another number are written with the
  // distance to it.
  int64_t LayerOf(int list, int begin, const Slots& numbered, const std::string& prefix) const {
    std::map<int64_t, int> votes;
    for (const auto& [i, slot] : numbered) {
      ++votes[SplitLike(At(list, begin + i).names[slot].text, prefix)->layer];
    }
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void AddBody(int list, int period, const Loop& loop) {
    std::optional<LayerBody> body = BodyOf(list, period, loop);
    if (!body.has_value()) return;
    body->group = GroupOf(FirstPrefix(loop.prefix));
    plan_.bodies.push_back(*std::move(body));
  }

  // The statements said once for the layers of a loop, with their names but without columns; nullopt where the number
  // of the layer does not tell the names.
  std::optional<LayerBody> BodyOf(int list, int period, const Loop& loop) const {
    const Slots numbered = NumberedNames(list, period, loop);
    if (numbered.empty()) return std::nullopt;
    LayerBody body{.list = list, .period = period};
    std::set<int64_t> layers;
    for (const int begin : loop.begins) {
      const int64_t layer = LayerOf(list, begin, numbered, loop.prefix);
      if (!layers.insert(layer).second) return std::nullopt;
      body.occurrences.push_back({.begin = begin, .layer = layer});
    }
    if (!NameOps(body, loop.prefix)) return std::nullopt;
    return body;
  }

  // How many loops a repeat has, each of which can be said once; else 0.
  size_t LoopsToName(int list, const Repeat& repeat) const {
    const std::vector<Loop> loops = LoopsOfBody(list, repeat);
    const bool have_names = std::all_of(loops.begin(), loops.end(), [&](const Loop& loop) {
      return loop.begins.size() < 2 || BodyOf(list, repeat.period, loop).has_value();
    });
    return have_names ? loops.size() : 0;
  }

  // Finds the texts that stand for the names of all occurrences.
  bool NameOps(LayerBody& body, const std::string& prefix) const {
    body.names.clear();
    for (int i = 0; i < body.period; ++i) {
      std::vector<LayerText>& texts = body.names.emplace_back();
      for (size_t slot = 0; slot < At(body.list, body.occurrences[0].begin + i).names.size(); ++slot) {
        std::map<int64_t, std::string> names;
        std::map<int64_t, int> lines;
        for (const LayerBody::Occurrence& occurrence : body.occurrences) {
          const Statement::Name& name = At(body.list, occurrence.begin + i).names[slot];
          names[occurrence.layer] = name.text;
          lines[occurrence.layer] = name.line;
        }
        std::optional<LayerText> text = TextOf(names, prefix);
        if (!text.has_value() || !TakeLines(lines, *text)) return false;
        texts.push_back(*std::move(text));
      }
    }
    return true;
  }

  size_t GroupOf(const std::string& prefix) {
    for (size_t i = 0; i < plan_.groups.size(); ++i) {
      if (plan_.groups[i].prefix == prefix) return i;
    }
    plan_.groups.push_back({.prefix = prefix});
    return plan_.groups.size() - 1;
  }

  // Finds the first layer of each group, their number and their step. Bodies that begin with another layer of a step
  // than the first one's are numbered like those that begin with that.
  void NumberLayers() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      LayerGroup& group = plan_.groups[g];
      int64_t first = std::numeric_limits<int64_t>::max();
      int64_t last = 0;
      int64_t step = 0;
      for (const LayerBody& body : plan_.bodies) {
        if (body.group != g) continue;
        for (const auto& [begin, layer] : body.occurrences) {
          first = std::min(first, layer);
          last = std::max(last, layer);
          step = std::gcd(step, layer - body.occurrences[0].layer);
        }
      }
      group.first = first;
      group.step = step;
      group.count = (last - first) / step + 1;
      for (LayerBody& body : plan_.bodies) {
        if (body.group == g) MoveLayers(body, group.prefix, (body.occurrences[0].layer - first) % step);
      }
    }
  }

  void MoveLayers(LayerBody& body, const std::string& prefix, int64_t distance) const {
    if (distance == 0) return;
    for (auto& [begin, layer] : body.occurrences) layer -= distance;
    CLEAVE_CHECK(NameOps(body, prefix)) << "names of layers of " << prefix << " depend on how these are numbered";
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

  // A field is named after most of its buffers: "norm.weight", and "h.mul" where their names begin otherwise than those
  // of the group.
  void NameFields() {
    for (LayerGroup& group : plan_.groups) {
      std::set<std::string> taken;
      for (LayerField& field : group.fields) {
        std::map<std::pair<int64_t, std::string>, int> votes;
        for (const auto& [layer, buffer] : field.buffers) {
          const auto split = SplitLike(buffer_name_(buffer), group.prefix);
          if (!split.has_value()) continue;
          const std::string other = split->before == group.prefix ? "" : LayerNameOf(split->before).place;
          ++votes[{split->layer - layer, absl::StrCat(other, split->rest)}];
        }
        const std::string& first = buffer_name_(field.buffers.begin()->second);
        std::string name = absl::StrContains(first, '.') ? "value" : first;
        if (!votes.empty()) {
          const auto most = std::max_element(votes.begin(), votes.end(),
                                             [](const auto& a, const auto& b) { return a.second < b.second; });
          const auto& [shift, rest] = most->first;
          name = absl::StrCat(ShiftWord(shift), rest);
        }
        field.name = name;
        for (int number = 2; !taken.insert(field.name).second; ++number) field.name = absl::StrCat(name, ".", number);
      }
    }
  }

  // A buffer belongs to the layer whose number its name has, or to the last one before that, if a field of the layer
  // holds it. Those whose names begin like the group's come first. What only other layers hold is theirs, where that
  // concerns more than the first and last layers.
  void FindOwners() {
    for (const auto split_name : {SplitName, SplitLike}) {
      for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const LayerGroup& group = plan_.groups[g];
        for (size_t f = 0; f < group.fields.size(); ++f) {
          for (const auto& [layer, buffer] : group.fields[f].buffers) {
            const std::optional<OfLayer> split = split_name(buffer_name_(buffer), group.prefix);
            if (!split.has_value() || split->layer < layer || split->layer >= layer + group.step) continue;
            plan_.owners.emplace(buffer, LayerPlan::Owner{.group = g, .layer = layer, .field = f});
          }
        }
      }
    }
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      const LayerGroup& group = plan_.groups[g];
      for (size_t f = 0; f < group.fields.size(); ++f) {
        std::vector<std::pair<int64_t, int>> left;
        for (const auto& [layer, buffer] : group.fields[f].buffers) {
          const bool is_of_layer = SplitLike(buffer_name_(buffer), group.prefix).has_value();
          if (is_of_layer && plan_.owners.count(buffer) == 0) left.emplace_back(layer, buffer);
        }
        if (left.size() <= kMostExceptions) continue;
        for (const auto& [layer, buffer] : left) {
          plan_.owners.emplace(buffer, LayerPlan::Owner{.group = g, .layer = layer, .field = f});
        }
      }
    }
  }

  const std::vector<std::vector<Statement>>& lists_;
  const int least_saved_;
  const std::function<std::string(int)>& buffer_name_;
  std::map<std::string, int> symbols_;
  std::map<std::string, std::string> joined_;  // Prefixes of a loop, and another one.
  LayerPlan plan_;
  std::map<std::tuple<size_t, int64_t, int>, std::vector<size_t>> holders_;  // Fields that have a buffer in a layer.
};

}  // namespace

LayerPlan PlanLayers(const std::vector<std::vector<Statement>>& lists, int least_saved,
                     const std::function<std::string(int buffer)>& buffer_name) {
  return Planner(lists, least_saved, buffer_name).Run();
}

}  // namespace cleave::codegen
