#include "codegen/source/layered_text.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/emit/identifiers.h"

namespace cleave::codegen {
namespace {

// Fewer statements are not worth a function.
constexpr int kLeastPeriod = 2;

// Elements of a list are numbered from 0.
std::string IndexText(const LayerGroup& group, const std::string& i) {
  return group.first == 0 ? i : absl::StrCat(i, " - ", group.first);
}

// A number in each layer i, between `begin` and `end`; `absent` in layers that have none.
std::string ByLayer(const LayerGroup& group, const std::map<int64_t, int64_t>& numbers, absl::string_view absent,
                    absl::string_view begin = "", absl::string_view end = "") {
  const int64_t last = group.first + group.count - 1;
  std::string choice;
  if (numbers.begin()->first > group.first) {
    absl::StrAppend(&choice, "i < ", numbers.begin()->first, " ? ", absent, " : ");
  }
  if (numbers.rbegin()->first < last) absl::StrAppend(&choice, "i > ", numbers.rbegin()->first, " ? ", absent, " : ");
  std::string number = NumberByLayer(numbers, "i");
  if (number.empty()) {
    std::vector<std::string> list;
    for (int64_t layer = group.first; layer <= last; ++layer) {
      const auto found = numbers.find(layer);
      list.push_back(absl::StrCat(found == numbers.end() ? 0 : found->second));
    }
    number = absl::StrCat("std::array<int64_t, ", list.size(), ">{", absl::StrJoin(list, ", "), "}[",
                          IndexText(group, "i"), "]");
  }
  return absl::StrCat(choice, begin, number, end);
}

}  // namespace

LayeredText::LayeredText(Emission& emission, std::vector<StatementList> lists, bool repeats_layers)
    : emission_(emission), lists_(std::move(lists)) {
  if (repeats_layers) return;
  std::vector<std::vector<Statement>> statements;
  for (const StatementList& list : lists_) statements.push_back(list.statements);
  plan_ = PlanLayers(statements, kLeastPeriod, [&](int buffer) { return BufferName(buffer); });
  for (const LayerBody& body : plan_.bodies) {
    for (size_t o = 0; o < body.occurrences.size(); ++o) places_[{body.list, body.occurrences[o].begin}] = {&body, o};
  }
  NameTensors();
  NamePending();
}

bool LayeredText::IsPending(int buffer) const { return buffer >= static_cast<int>(emission_.program.values.size()); }

std::string LayeredText::BufferName(int buffer) const {
  if (!IsPending(buffer)) return emission_.value(ir::ValueId(buffer)).name;
  return absl::StrCat(emission_.step(buffer - static_cast<int>(emission_.PendingOf(0).value())).name, ".pending");
}

void LayeredText::NamePending() {
  for (size_t g = 0; g < plan_.groups.size(); ++g) {
    for (const LayerField& field : plan_.groups[g].fields) {
      for (const auto& [layer, buffer] : field.buffers) {
        if (IsPending(buffer)) pending_numbers_.emplace(buffer, static_cast<int64_t>(pending_numbers_.size()));
      }
    }
  }
  if (pending_numbers_.empty()) return;
  pending_ = emission_.identifiers.Unique("pending");
  for (const auto& [buffer, number] : pending_numbers_) {
    const auto owner = plan_.owners.find(buffer);
    const std::string place = owner == plan_.owners.end() ? absl::StrCat(number) : OwnedName(owner->second);
    emission_.pending[buffer - static_cast<int>(emission_.PendingOf(0).value())] =
        absl::StrCat(pending_, "[", place, "]");
  }
}

// "x_layers[3].norm1_weight"
std::string LayeredText::OwnedName(const LayerPlan::Owner& owner) const {
  const Group& group = groups_[owner.group];
  return absl::StrCat(group.layers, "[", owner.layer - plan_.groups[owner.group].first, "].", group.fields[owner.field]);
}

void LayeredText::NameTensors() {
  for (const LayerGroup& group : plan_.groups) {
    Group& named = groups_.emplace_back();
    if (group.fields.empty()) continue;
    named.type = absl::StrCat(TypeName(group.prefix), "Layer");
    while (!emission_.identifiers.Take(named.type)) absl::StrAppend(&named.type, "_");
    named.layers = emission_.identifiers.Unique(absl::StrCat(group.prefix, "layers"));
    Identifiers fields;
    for (const char* own : {"arena", "i"}) fields.Reserve(own);
    for (const LayerField& field : group.fields) named.fields.push_back(fields.Unique(field.name));
  }
  for (size_t i = 0; i < emission_.names.names.size(); ++i) {
    const ir::ValueId value(static_cast<int64_t>(i));
    if (!emission_.storage.root[value].has_value()) continue;
    const auto owner = plan_.owners.find(static_cast<int>(emission_.names.named[value].value()));
    if (owner == plan_.owners.end()) continue;
    emission_.names.names[value] = OwnedName(owner->second);
  }
}

void LayeredText::Write(size_t list, SourceWriter& functions, SourceWriter& statements) {
  const int count = static_cast<int>(lists_[list].statements.size());
  for (int place = 0; place < count;) {
    const auto found = places_.find({static_cast<int>(list), place});
    if (found == places_.end()) {
      lists_[list].emit(place++, statements);
      continue;
    }
    const LayerBody* const body = found->second.first;
    const size_t first = found->second.second;
    const std::vector<LayerBody::Occurrence>& occurrences = body->occurrences;
    const auto follows = [&](size_t o) {
      const int64_t direction = occurrences[first + 1].layer - occurrences[first].layer;
      return occurrences[o + 1].begin == occurrences[o].begin + body->period &&
             occurrences[o + 1].layer - occurrences[o].layer == direction && std::abs(direction) == 1;
    };
    size_t last = first;
    while (last + 1 < occurrences.size() && follows(last)) ++last;
    WriteCalls(*body, first, last, FunctionOf(*body, functions), statements);
    place = occurrences[last].begin + body->period;
  }
}

// The function of a body, which is written when it is first called.
const std::string& LayeredText::FunctionOf(const LayerBody& body, SourceWriter& functions) {
  const auto [name, is_new] = functions_.try_emplace(&body);
  if (!is_new) return name->second;
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  name->second = absl::StrCat(list.function, group.type);
  for (int number = 2; !emission_.identifiers.Take(name->second); ++number) {
    name->second = absl::StrCat(list.function, group.type, number);
  }
  SourceWriter statements(functions.indent() + 2);
  const std::string section = std::exchange(emission_.section, "");
  list.begin(statements);
  WriteModel(body, statements);
  emission_.section = section;
  functions.Gap();
  functions.Open(absl::StrCat("void ", name->second, "(const ", group.type, "& layer", list.parameters, ") {"));
  functions.Append(statements);
  functions.Close("}");
  return name->second;
}

// Writes the body by its model, with the names that stand for those of all layers.
void LayeredText::WriteModel(const LayerBody& body, SourceWriter& writer) {
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  LayerScope scope{.number = "layer.i"};
  const auto [least, most] = std::minmax_element(
      body.occurrences.begin(), body.occurrences.end(),
      [](const LayerBody::Occurrence& a, const LayerBody::Occurrence& b) { return a.layer < b.layer; });
  scope.first = least->layer;
  scope.last = most->layer;
  const int begin = body.occurrences[body.model].begin;
  for (int i = 0; i < body.period; ++i) {
    const Statement& statement = list.statements[static_cast<size_t>(begin + i)];
    scope.names.clear();
    for (size_t slot = 0; slot < statement.names.size(); ++slot) {
      scope.names[statement.names[slot].text] = body.names[static_cast<size_t>(i)][slot];
    }
    std::map<ir::ValueId, std::string>& names = emission_.names.in_layer;
    names.clear();
    for (size_t slot = 0; slot < statement.buffers.size(); ++slot) {
      const int field = body.fields[static_cast<size_t>(i)][slot];
      if (field < 0) continue;
      const std::string place = absl::StrCat("layer.", group.fields[static_cast<size_t>(field)]);
      names[ir::ValueId(statement.buffers[slot])] =
          IsPending(statement.buffers[slot]) ? absl::StrCat(pending_, "[", place, "]") : place;
    }
    for (const int local : statement.locals) {
      std::string& name = names[ir::ValueId(local)];
      const std::string& wish = emission_.value(ir::ValueId(local)).name;
      if (name.empty()) name = emission_.identifiers.Unique(LocalWish(&scope, wish));
    }
    emission_.layer = &scope;
    list.emit(begin + i, writer);
  }
  emission_.layer = nullptr;
  emission_.names.in_layer.clear();
}

void LayeredText::WriteCalls(const LayerBody& body, size_t first, size_t last, const std::string& function,
                             SourceWriter& writer) const {
  const LayerGroup& group = plan_.groups[body.group];
  const Group& named = groups_[body.group];
  const std::string arguments = lists_[static_cast<size_t>(body.list)].arguments;
  const int64_t from = body.occurrences[first].layer;
  const int64_t to = body.occurrences[last].layer;
  writer.Gap();
  if (first == last) {
    writer.Line(absl::StrCat(function, "(", named.layers, "[", from - group.first, "]", arguments, ");"));
    return;
  }
  if (from == group.first && to == group.first + group.count - 1) {
    writer.Line(
        absl::StrCat("for (const ", named.type, "& layer : ", named.layers, ") ", function, "(layer", arguments, ");"));
    return;
  }
  const bool is_up = from < to;
  writer.Line(absl::StrCat("for (int64_t i = ", from, "; i ", is_up ? "<= " : ">= ", to, "; ", is_up ? "++" : "--",
                           "i) ", function, "(", named.layers, "[", IndexText(group, "i"), "]", arguments, ");"));
}

void LayeredText::WriteStructs(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty()) WriteStruct(group, writer);
  }
}

void LayeredText::WriteStruct(size_t group, SourceWriter& writer) const {
  const LayerGroup& planned = plan_.groups[group];
  writer.Gap();
  writer.Comment(absl::StrCat("The tensors of layer i, whose names begin with ", planned.prefix, "i: i is ",
                              planned.first, " to ", planned.first + planned.count - 1, "."));
  writer.Open(absl::StrCat("struct ", groups_[group].type, " {"));
  writer.Line("const Arena& arena;");
  writer.Line("const int64_t i;");
  writer.Gap();
  std::vector<SourceWriter::Commented> rows;
  for (size_t field = 0; field < planned.fields.size(); ++field) rows.push_back(FieldRow(group, field));
  writer.Table(rows);
  writer.Close("};");
}

SourceWriter::Commented LayeredText::FieldRow(size_t group, size_t field) const {
  const std::map<int64_t, int>& buffers = plan_.groups[group].fields[field].buffers;
  const std::string& name = groups_[group].fields[field];
  std::map<int64_t, int64_t> numbers;
  if (IsPending(buffers.begin()->second)) {
    for (const auto& [layer, buffer] : buffers) numbers[layer] = pending_numbers_.at(buffer);
    return {absl::StrCat("const int64_t ", name, " = ", ByLayer(plan_.groups[group], numbers, "-1"), ";"),
            absl::StrCat("in `", pending_, "`")};
  }
  const ir::ValueId value(buffers.begin()->second);
  for (const auto& [layer, buffer] : buffers) numbers[layer] = emission_.OffsetOf(ir::ValueId(buffer));
  const absl::string_view type = ElementTypeName(emission_.value(value).type.dtype);
  const std::string place = absl::StrCat("arena.At<", type, ">(");
  return {absl::StrCat(type, "* const ", name, " = ", ByLayer(plan_.groups[group], numbers, "nullptr", place, ")"), ";"),
          TensorText(emission_, value)};
}

std::string LayeredText::LayersIn(const std::vector<ir::ValueId>& values) const {
  std::map<size_t, int> counts;
  for (const ir::ValueId value : values) {
    const auto owner = plan_.owners.find(static_cast<int>(emission_.names.named[value].value()));
    if (owner != plan_.owners.end()) ++counts[owner->second.group];
  }
  std::string text;
  for (const auto& [group, count] : counts) {
    absl::StrAppend(&text, ", with ", count, " tensors of ", groups_[group].layers);
  }
  return text;
}

void LayeredText::WriteFields(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].fields.empty()) continue;
    const LayerGroup& planned = plan_.groups[group];
    writer.Line(absl::StrCat("const std::vector<", groups_[group].type, "> ", groups_[group].layers, " = MakeLayers<",
                             groups_[group].type, ">(arena, ", planned.first, ", ", planned.count, ");"));
  }
  if (pending_numbers_.empty()) return;
  writer.Line(absl::StrCat("std::array<Pending, ", pending_numbers_.size(), "> ", pending_,
                           ";  // Collectives that run beside the work of other layers."));
}

}  // namespace cleave::codegen
