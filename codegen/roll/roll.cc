// Finds what can be said once, in this order:
//
//   1. repeats of shapes in each list (repeats.h), and the loops whose passes their occurrences are (LoopsOfBody)
//   2. bodies: the layer of each occurrence, and the forms of its names (BodyOf)
//   3. groups: how the layers of a loop are numbered (NumberLayers)
//   4. columns and fields (TakeColumns, FieldOf), and their forms (TakeForms)
//   5. whose buffer is named where outside of bodies (FindOwners)
//   6. lists: statements, and loops of calls of bodies (ItemsOf)
//
// Start with Roller::Run.
#include "codegen/roll/roll.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "codegen/roll/repeats.h"

namespace cleave::codegen {
namespace {

// What only other layers hold is theirs where that concerns more layers than the first and the last ones.
constexpr size_t kEnds = 2;

// Occurrences of a repeat, by their beginnings, that are passes of one loop.
struct Loop {
  LoopKey key;
  std::string prefix;  // "x.": what the name that shows the loop begins with.
  std::vector<int> begins;
};

// What the names of a loop begin with, before the numbers of their passes.
std::string PrefixOf(const std::map<int64_t, NamedPass>& names) {
  const std::optional<NameForm> form = FormOf(names);
  const NamedPass& first = names.begin()->second;
  if (!form.has_value() || form->text == first.name) {
    const std::optional<SplitName> split = Split(first.name, *first.number);
    return split.has_value() ? split->before : absl::StrCat(first.name, ".");
  }
  return form->text.substr(0, form->text.find('#'));
}

// The fewest loops to which names belong, one name for each of `begins`. A name of no loop is alone. Empty where no two
// names are of one loop.
std::vector<Loop> LoopsOf(const std::vector<const Statement::Name*>& names, const std::vector<int>& begins) {
  size_t depths = 0;
  for (const Statement::Name* name : names) depths = std::max(depths, name->passes.size());
  std::vector<Loop> best;
  for (size_t depth = 0; depth < depths; ++depth) {
    // By loop and the passes of the loops within it, or by the name of what is of none.
    std::map<std::tuple<LoopKey, Passes, std::string>, Loop> loops;
    std::map<std::tuple<LoopKey, Passes, std::string>, std::map<int64_t, NamedPass>> named;
    std::set<std::tuple<LoopKey, Passes, std::string, int64_t>> distinct;
    for (size_t i = 0; i < names.size(); ++i) {
      const Passes& passes = names[i]->passes;
      const bool is_of_loop = depth < passes.size();
      const LoopKey key = is_of_loop ? LoopAt(passes, depth) : LoopKey();
      const Passes inner(is_of_loop ? passes.begin() + static_cast<std::ptrdiff_t>(depth) + 1 : passes.end(),
                         passes.end());
      const std::string alone = is_of_loop ? "" : names[i]->text;
      const int64_t number = is_of_loop ? passes[depth].number : 0;
      Loop& loop = loops[{key, inner, alone}];
      loop.key = key;
      loop.begins.push_back(begins[i]);
      if (is_of_loop) named[{key, inner, alone}][number] = {names[i]->text, names[i]->line, number};
      distinct.emplace(key, inner, alone, number);
    }
    const bool is_better = best.empty() ? loops.size() < names.size() : loops.size() < best.size();
    if (distinct.size() < names.size() || !is_better) continue;
    best.clear();
    for (auto& [key, loop] : loops) {
      if (named.count(key) > 0) loop.prefix = PrefixOf(named.at(key));
      best.push_back(std::move(loop));
    }
    std::sort(best.begin(), best.end(), [](const Loop& a, const Loop& b) { return a.begins < b.begins; });
  }
  return best;
}

// "previous." for what the layer before has, "next." for what the next one has.
std::string ShiftWord(int64_t shift) {
  if (shift == 0) return "";
  const std::string word = shift < 0 ? "previous" : "next";
  return absl::StrCat(word, std::abs(shift) == 1 ? "" : absl::StrCat(std::abs(shift)), ".");
}

class Roller {
 public:
  Roller(const std::vector<std::vector<Statement>>& lists, const RollOptions& options,
         const std::function<Buffer(int)>& buffer_of)
      : lists_(lists), options_(options), buffer_of_(buffer_of) {}

  RolledProgram Run() && {
    if (!options_.repeats_layers) FindBodies();
    for (size_t list = 0; list < lists_.size(); ++list) rolled_.lists.push_back(ItemsOf(static_cast<int>(list)));
    return std::move(rolled_);
  }

 private:
  // A sequence of statements of a list that is said for each layer of a loop.
  struct Repeated {
    int list = 0;
    int period = 0;
    Loop loop;
  };

  void FindBodies() {
    for (size_t list = 0; list < lists_.size(); ++list) {
      const int number = static_cast<int>(list);
      const RepeatOptions options = {.least_saved = options_.least_saved,
                                     .starts = StartsOf(lists_[list]),
                                     .loops = [&](const Repeat& repeat) { return LoopsToName(number, repeat); }};
      for (const Repeat& repeat : FindRepeats(SymbolsOf(lists_[list]), options)) {
        for (Loop& loop : LoopsOfBody(number, repeat)) {
          if (loop.begins.size() > 1) AddBody({number, repeat.period, std::move(loop)});
        }
      }
    }
    std::sort(rolled_.bodies.begin(), rolled_.bodies.end(), [](const LayerBody& a, const LayerBody& b) {
      return std::make_pair(a.list, a.occurrences[0].begin) < std::make_pair(b.list, b.occurrences[0].begin);
    });
    NumberLayers();
    for (LayerBody& body : rolled_.bodies) TakeColumns(body);
    // A body in which one buffer stands for two fields wherever it is written stays as it is.
    std::erase_if(rolled_.bodies, [&](LayerBody& body) { return !FindModels(body); });
    DropUnusedFields();
    // Layers without a tensor of their own have no struct.
    std::erase_if(rolled_.bodies, [&](const LayerBody& body) { return rolled_.groups[body.group].fields.empty(); });
    NameFields();
    for (LayerGroup& group : rolled_.groups) TakeForms(group);
    FindOwners();
  }

  const Statement& At(int list, int place) const {
    return lists_[static_cast<size_t>(list)][static_cast<size_t>(place)];
  }

  const Buffer& BufferOf(int buffer) {
    const auto found = buffers_.find(buffer);
    return found != buffers_.end() ? found->second : buffers_.emplace(buffer, buffer_of_(buffer)).first->second;
  }

  std::vector<int> SymbolsOf(const std::vector<Statement>& list) {
    std::vector<int> symbols;
    for (const Statement& statement : list) {
      symbols.push_back(symbols_.try_emplace(statement.shape, static_cast<int>(symbols_.size())).first->second);
    }
    return symbols;
  }

  // Statements of other passes than the statement before.
  static std::set<int> StartsOf(const std::vector<Statement>& list) {
    std::set<int> starts;
    Passes before;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].names.empty()) continue;
      const Passes& passes = list[i].names.front().passes;
      if (passes != before && !passes.empty()) starts.insert(static_cast<int>(i));
      before = passes;
    }
    return starts;
  }

  // The loops whose layers the occurrences of a repeat are, by the names that show the fewest.
  std::vector<Loop> LoopsOfBody(int list, const Repeat& repeat) const {
    std::vector<Loop> best;
    for (int i = 0; i < repeat.period && best.size() != 1; ++i) {
      for (size_t slot = 0; slot < At(list, repeat.begins[0] + i).names.size() && best.size() != 1; ++slot) {
        std::vector<const Statement::Name*> names;
        for (const int begin : repeat.begins) names.push_back(&At(list, begin + i).names[slot]);
        std::vector<Loop> loops = LoopsOf(names, repeat.begins);
        if (!loops.empty() && (best.empty() || loops.size() < best.size())) best = std::move(loops);
      }
    }
    return best;
  }

  // Where the names of every occurrence are of the loop, and not all of one pass: statement and slot.
  using Slots = std::vector<std::pair<int, size_t>>;
  Slots NumberedNames(int list, int period, const Loop& loop) const {
    Slots numbered;
    for (int i = 0; i < period; ++i) {
      for (size_t slot = 0; slot < At(list, loop.begins[0] + i).names.size(); ++slot) {
        std::set<int64_t> numbers;
        const bool always = std::all_of(loop.begins.begin(), loop.begins.end(), [&](int begin) {
          const std::optional<int64_t> number = NumberIn(loop.key, At(list, begin + i).names[slot].passes);
          if (number.has_value()) numbers.insert(*number);
          return number.has_value();
        });
        if (always && numbers.size() > 1) numbered.emplace_back(i, slot);
      }
    }
    return numbered;
  }

  // The number that most of these names of an occurrence have; of two that as many have the smaller one. Occurrences
  // differ only in their numbers, so that all of them decide alike, and names with another number are written with the
  // distance to it.
  int64_t LayerOf(int list, int begin, const Slots& numbered, const LoopKey& loop) const {
    std::map<int64_t, int> votes;
    for (const auto& [i, slot] : numbered) {
      ++votes[*NumberIn(loop, At(list, begin + i).names[slot].passes)];
    }
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void AddBody(const Repeated& one) {
    std::optional<LayerBody> body = BodyOf(one.list, one.period, one.loop);
    if (!body.has_value()) return;
    body->group = GroupOf(one.loop);
    rolled_.bodies.push_back(*std::move(body));
  }

  // The statements said once for the layers of a loop, with their names but without columns; nullopt where the number
  // of the layer does not tell the names.
  std::optional<LayerBody> BodyOf(int list, int period, const Loop& loop) const {
    const Slots numbered = NumberedNames(list, period, loop);
    if (numbered.empty()) return std::nullopt;
    LayerBody body{.list = list, .period = period};
    std::set<int64_t> layers;
    for (const int begin : loop.begins) {
      const int64_t layer = LayerOf(list, begin, numbered, loop.key);
      if (!layers.insert(layer).second) return std::nullopt;
      body.occurrences.push_back({.begin = begin, .layer = layer});
    }
    if (!NameOps(body, loop.key)) return std::nullopt;
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

  // Finds the forms of the names of all occurrences.
  bool NameOps(LayerBody& body, const LoopKey& loop) const {
    body.names.clear();
    for (int i = 0; i < body.period; ++i) {
      std::vector<NameForm>& forms = body.names.emplace_back();
      for (size_t slot = 0; slot < At(body.list, body.occurrences[0].begin + i).names.size(); ++slot) {
        std::map<int64_t, NamedPass> names;
        for (const LayerBody::Occurrence& occurrence : body.occurrences) {
          const Statement::Name& name = At(body.list, occurrence.begin + i).names[slot];
          names[occurrence.layer] = {name.text, name.line, NumberIn(loop, name.passes)};
        }
        std::optional<NameForm> form = FormOf(names);
        if (!form.has_value()) return false;
        forms.push_back(*std::move(form));
      }
    }
    return true;
  }

  size_t GroupOf(const Loop& loop) {
    for (size_t i = 0; i < rolled_.groups.size(); ++i) {
      if (rolled_.groups[i].loop == loop.key) return i;
    }
    rolled_.groups.push_back({.loop = loop.key, .prefix = loop.prefix});
    return rolled_.groups.size() - 1;
  }

  // Finds the first layer of each group, their number and their step. Bodies that begin with another layer of a step
  // than the first one's are numbered like those that begin with that.
  void NumberLayers() {
    for (size_t g = 0; g < rolled_.groups.size(); ++g) {
      LayerGroup& group = rolled_.groups[g];
      int64_t first = std::numeric_limits<int64_t>::max();
      int64_t last = 0;
      int64_t step = 0;
      for (const LayerBody& body : rolled_.bodies) {
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
      for (LayerBody& body : rolled_.bodies) {
        if (body.group == g) MoveLayers(body, group, (body.occurrences[0].layer - first) % step);
      }
    }
  }

  void MoveLayers(LayerBody& body, const LayerGroup& group, int64_t distance) const {
    if (distance == 0) return;
    for (auto& [begin, layer] : body.occurrences) layer -= distance;
    CLEAVE_CHECK(NameOps(body, group.loop))
        << "names of layers of " << group.prefix << " depend on how these are numbered";
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
    std::vector<LayerField>& fields = rolled_.groups[group].fields;
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
      if (!rolled_.groups[group].fields[field].buffers.emplace(layer, buffer).second) continue;
      holders_[{group, layer, buffer}].push_back(field);
    }
    return static_cast<int>(field);
  }

  // Within each statement a buffer stands for one field, or for none, and a name for one text.
  bool FindModels(LayerBody& body) const {
    for (size_t o = 0; o < body.occurrences.size(); ++o) {
      const auto is_clear = [&](int i) {
        const std::vector<int>& buffers = At(body.list, body.occurrences[o].begin + i).buffers;
        std::map<int, int> stands_for;
        for (size_t slot = 0; slot < buffers.size(); ++slot) {
          const int field = body.fields[static_cast<size_t>(i)][slot];
          if (stands_for.emplace(buffers[slot], field).first->second != field) return false;
        }
        const std::vector<Statement::Name>& names = At(body.list, body.occurrences[o].begin + i).names;
        std::map<std::string, const NameForm*> forms;
        for (size_t slot = 0; slot < names.size(); ++slot) {
          const NameForm& form = body.names[static_cast<size_t>(i)][slot];
          if (*forms.emplace(names[slot].text, &form).first->second != form) return false;
        }
        return true;
      };
      bool all = true;
      for (int i = 0; i < body.period; ++i) all = all && is_clear(i);
      if (all) body.clear.push_back(o);
    }
    return !body.clear.empty();
  }

  void DropUnusedFields() {
    for (size_t g = 0; g < rolled_.groups.size(); ++g) {
      std::vector<LayerField>& fields = rolled_.groups[g].fields;
      std::vector<int> places(fields.size(), -1);
      for (const LayerBody& body : rolled_.bodies) {
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
      for (LayerBody& body : rolled_.bodies) {
        if (body.group != g) continue;
        for (std::vector<int>& of_statement : body.fields) {
          for (int& field : of_statement) field = field < 0 ? -1 : places[static_cast<size_t>(field)];
        }
      }
    }
  }

  // `before` without what it and the group's prefix have in common, up to a dot.
  static std::string OwnPath(const std::string& before, const std::string& prefix) {
    size_t same = 0;
    for (size_t i = 0; i < std::min(before.size(), prefix.size()) && before[i] == prefix[i]; ++i) {
      if (before[i] == '.') same = i + 1;
    }
    return before.substr(same);
  }

  // A field is named after most of its buffers: "norm.weight", and "h.mul" where their names begin otherwise than those
  // of the group.
  void NameFields() {
    for (LayerGroup& group : rolled_.groups) {
      std::set<std::string> taken;
      for (LayerField& field : group.fields) {
        std::map<std::pair<int64_t, std::string>, int> votes;
        for (const auto& [layer, buffer] : field.buffers) {
          const Buffer& of = BufferOf(buffer);
          const std::optional<int64_t> number = NumberIn(group.loop, of.passes);
          const auto split = number.has_value() ? Split(of.name, *number, group.prefix) : std::nullopt;
          if (!split.has_value()) continue;
          ++votes[{*number - layer, absl::StrCat(OwnPath(split->before, group.prefix), split->behind)}];
        }
        const std::string& first = BufferOf(field.buffers.begin()->second).name;
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

  void TakeForms(LayerGroup& group) {
    const auto slots_of = [&](const LayerField& field) {
      int64_t slots = 1;
      for (const auto& [layer, buffer] : field.buffers) slots = std::lcm(slots, BufferOf(buffer).place.pieces);
      return slots;
    };
    for (const LayerField& field : group.fields) group.slots = std::lcm(group.slots, slots_of(field));
    group.slots = std::min(group.slots, options_.micro_batches);
    for (LayerField& field : group.fields) TakeForms(group, field);
  }

  void TakeForms(const LayerGroup& group, LayerField& field) {
    std::map<int64_t, int64_t> begins, pieces, strides;
    bool has_all = true, waits = false;
    field.kind = BufferOf(field.buffers.begin()->second).place.kind;
    for (const auto& [layer, buffer] : field.buffers) {
      const Place& place = BufferOf(buffer).place;
      const int64_t index = group.IndexOf(layer);
      begins[index] = place.begin;
      pieces[index] = place.pieces;
      strides[index] = place.stride;
      has_all = has_all && (place.pieces == group.slots || place.pieces == 1);
      waits = waits || place.stride != 0;
    }
    field.begin = FormOf(begins);
    if (!waits) return;
    field.stride = FormOf(strides);
    if (!has_all) field.pieces = FormOf(pieces);
  }

  // A buffer belongs to the layer that makes it, or to the last one before that, if a field of the layer holds it. What
  // only other layers hold is theirs, where that concerns more than the first and last layers.
  void FindOwners() {
    for (size_t g = 0; g < rolled_.groups.size(); ++g) {
      const LayerGroup& group = rolled_.groups[g];
      for (size_t f = 0; f < group.fields.size(); ++f) {
        for (const auto& [layer, buffer] : group.fields[f].buffers) {
          const std::optional<int64_t> number = NumberIn(group.loop, BufferOf(buffer).passes);
          if (!number.has_value() || *number < layer || *number >= layer + group.step) continue;
          rolled_.owners.emplace(buffer, RolledProgram::Owner{.group = g, .layer = layer, .field = f});
        }
      }
    }
    for (size_t g = 0; g < rolled_.groups.size(); ++g) {
      const LayerGroup& group = rolled_.groups[g];
      for (size_t f = 0; f < group.fields.size(); ++f) {
        std::vector<std::pair<int64_t, int>> left;
        for (const auto& [layer, buffer] : group.fields[f].buffers) {
          const bool is_of_layer = NumberIn(group.loop, BufferOf(buffer).passes).has_value();
          if (is_of_layer && rolled_.owners.count(buffer) == 0) left.emplace_back(layer, buffer);
        }
        if (left.size() <= kEnds) continue;
        for (const auto& [layer, buffer] : left) {
          rolled_.owners.emplace(buffer, RolledProgram::Owner{.group = g, .layer = layer, .field = f});
        }
      }
    }
  }

  // The statements of a list that are in no body, and between them loops of calls.
  std::vector<RolledItem> ItemsOf(int list) const {
    std::map<int, std::pair<size_t, int64_t>> bodies;  // By the place where they begin: body and layer.
    for (size_t body = 0; body < rolled_.bodies.size(); ++body) {
      if (rolled_.bodies[body].list != list) continue;
      for (const auto& [begin, layer] : rolled_.bodies[body].occurrences) bodies[begin] = {body, layer};
    }
    std::vector<RolledItem> items;
    std::vector<BodyCall> calls;  // That follow each other.
    const int count = static_cast<int>(lists_[static_cast<size_t>(list)].size());
    for (int place = 0; place < count;) {
      const auto found = bodies.find(place);
      if (found == bodies.end()) {
        AddLoops(calls, items);
        items.emplace_back(place++);
        continue;
      }
      const auto& [body, layer] = found->second;
      calls.push_back({.body = body, .layer = layer});
      place += rolled_.bodies[body].period;
    }
    AddLoops(calls, items);
    return items;
  }

  static void AddLoops(std::vector<BodyCall>& calls, std::vector<RolledItem>& items) {
    for (size_t begin = 0; begin < calls.size();) {
      BodyLoop loop = LoopAtBegin(calls, begin);
      begin += loop.calls.size() * static_cast<size_t>(loop.passes);
      items.emplace_back(std::move(loop));
    }
    calls.clear();
  }

  // The loop at the beginning of calls that follow each other: the one that takes most of them.
  static BodyLoop LoopAtBegin(const std::vector<BodyCall>& calls, size_t begin) {
    size_t best_length = 1, best_passes = 1;
    int64_t best_distance = 0;
    for (size_t length = 1; begin + 2 * length <= calls.size(); ++length) {
      const int64_t distance = calls[begin + length].layer - calls[begin].layer;
      const auto follows = [&](size_t i) {
        return calls[i + length].body == calls[i].body && calls[i + length].layer - calls[i].layer == distance;
      };
      size_t alike = 0;
      while (begin + alike + length < calls.size() && follows(begin + alike)) ++alike;
      const size_t passes = alike / length + 1;
      if (passes < 2 || distance == 0 || passes * length <= best_length * best_passes) continue;
      best_length = length;
      best_passes = passes;
      best_distance = distance;
    }
    const auto first = calls.begin() + static_cast<std::ptrdiff_t>(begin);
    return {.calls = std::vector<BodyCall>(first, first + static_cast<std::ptrdiff_t>(best_length)),
            .passes = static_cast<int64_t>(best_passes),
            .distance = best_distance};
  }

  const std::vector<std::vector<Statement>>& lists_;
  const RollOptions& options_;
  const std::function<Buffer(int)>& buffer_of_;
  std::map<int, Buffer> buffers_;  // Those asked for so far.
  std::map<std::string, int> symbols_;
  RolledProgram rolled_;
  std::map<std::tuple<size_t, int64_t, int>, std::vector<size_t>> holders_;  // Fields that have a buffer in a layer.
};

}  // namespace

RolledProgram Roll(const std::vector<std::vector<Statement>>& lists, const RollOptions& options,
                   const std::function<Buffer(int buffer)>& buffer_of) {
  return Roller(lists, options, buffer_of).Run();
}

}  // namespace cleave::codegen
