#include "codegen/source/layered_text.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/emit/identifiers.h"

namespace cleave::codegen {
namespace {

// Fewer statements are not worth a function.
constexpr int kLeastSaved = 2;

int64_t LastLayer(const LayerGroup& group) { return group.first + (group.count - 1) * group.step; }

int64_t IndexOf(const LayerGroup& group, int64_t layer) { return (layer - group.first) / group.step; }

// Elements of a list are numbered from 0: "i", "i - 1", "(i - 1) / 2" for layer i.
std::string IndexText(const LayerGroup& group, int64_t shift = 0) {
  const int64_t distance = shift - group.first;
  std::string index = distance == 0 ? "i" : absl::StrCat("i ", distance < 0 ? "- " : "+ ", std::abs(distance));
  if (group.step == 1) return index;
  return absl::StrCat(distance == 0 ? index : absl::StrCat("(", index, ")"), " / ", group.step);
}

// A number in each layer i, between `begin` and `end`; `absent` in layers that have none. A `begin` that ends with
// " + " adds the number to something.
std::string ByLayer(const LayerGroup& group, const std::map<int64_t, int64_t>& numbers, absl::string_view absent,
                    absl::string_view begin = "", absl::string_view end = "") {
  std::string choice;
  if (numbers.begin()->first > group.first) {
    absl::StrAppend(&choice, "i < ", numbers.begin()->first, " ? ", absent, " : ");
  }
  if (numbers.rbegin()->first < LastLayer(group)) {
    absl::StrAppend(&choice, "i > ", numbers.rbegin()->first, " ? ", absent, " : ");
  }
  std::map<int64_t, int64_t> by_index;
  for (const auto& [layer, number] : numbers) by_index[group.step == 1 ? layer : IndexOf(group, layer)] = number;
  std::string number = NumberByLayer(by_index, group.step == 1 ? "i" : IndexText(group));
  if (number.empty()) {
    std::vector<std::string> list;
    for (int64_t layer = group.first; layer <= LastLayer(group); layer += group.step) {
      const auto found = numbers.find(layer);
      // A layer without the number does not read it, but a remainder by it is taken all the same.
      list.push_back(absl::StrCat(found == numbers.end() ? numbers.begin()->second : found->second));
    }
    number =
        absl::StrCat("std::array<int64_t, ", list.size(), ">{", absl::StrJoin(list, ", "), "}[", IndexText(group), "]");
  }
  const bool is_choice = absl::EndsWith(begin, " + ") && number.find(" ? ") != std::string::npos;
  return absl::StrCat(choice, begin, is_choice ? "(" : "", number, is_choice ? ")" : "", end);
}

}  // namespace

LayeredText::LayeredText(Emission& emission, std::vector<StatementList> lists, bool repeats_layers)
    : emission_(emission), lists_(std::move(lists)) {
  if (repeats_layers) return;
  std::vector<std::vector<Statement>> statements;
  for (const StatementList& list : lists_) statements.push_back(list.statements);
  plan_ = PlanLayers(statements, kLeastSaved, [&](int buffer) { return BufferName(buffer); });
  for (const LayerBody& body : plan_.bodies) {
    for (size_t o = 0; o < body.occurrences.size(); ++o) places_[{body.list, body.occurrences[o].begin}] = {&body, o};
  }
  NameTensors();
  FindNumbers();
}

bool LayeredText::IsNumber(int buffer) const { return buffer >= static_cast<int>(emission_.program.values.size()); }

bool LayeredText::IsPlainNumber(int buffer) const {
  return buffer >= static_cast<int>(emission_.PlainNumber(0).value());
}

int LayeredText::StepOfNumber(int buffer) const { return buffer - static_cast<int>(emission_.NumberOf(0).value()); }

bool LayeredText::IsPending(int buffer) const {
  return IsNumber(buffer) && !IsPlainNumber(buffer) &&
         !std::holds_alternative<ir::Glance>(emission_.step(StepOfNumber(buffer)).action);
}

std::string LayeredText::BufferName(int buffer) const {
  if (!IsNumber(buffer)) return emission_.value(ir::ValueId(buffer)).name;
  if (IsPlainNumber(buffer)) return "begin";
  return absl::StrCat(emission_.step(StepOfNumber(buffer)).name, IsPending(buffer) ? ".pending" : ".look");
}

void LayeredText::FindNumbers() {
  for (const LayerGroup& group : plan_.groups) {
    for (const LayerField& field : group.fields) {
      for (const auto& [layer, buffer] : field.buffers) {
        if (!IsNumber(buffer) || numbers_.count(buffer) > 0) continue;
        if (IsPlainNumber(buffer)) {
          numbers_[buffer] = buffer - emission_.PlainNumber(0).value();
          continue;
        }
        const auto* look = std::get_if<ir::Glance>(&emission_.step(StepOfNumber(buffer)).action);
        numbers_[buffer] = look != nullptr ? look->number : pending_count_++;
      }
    }
  }
  if (pending_count_ == 0) return;
  pending_ = emission_.identifiers.Unique("pending");
  for (const auto& [buffer, number] : numbers_) {
    if (!IsPending(buffer)) continue;
    const auto owner = plan_.owners.find(buffer);
    const std::string place = owner == plan_.owners.end() ? absl::StrCat(number) : OwnedName(owner->second);
    emission_.pending[StepOfNumber(buffer)] = absl::StrCat(pending_, "[", place, "]");
  }
}

// "x_layers[3].norm1_weight"
std::string LayeredText::OwnedName(const LayerPlan::Owner& owner) const {
  const Group& group = groups_[owner.group];
  return absl::StrCat(group.layers, "[", IndexOf(plan_.groups[owner.group], owner.layer), "].",
                      group.fields[owner.field]);
}

void LayeredText::NameTensors() {
  for (const LayerGroup& group : plan_.groups) {
    Group& named = groups_.emplace_back();
    if (group.fields.empty()) continue;
    named.type = absl::StrCat(TypeName(group.prefix), group.step == 1 ? "Layer" : "Layers");
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
  std::vector<Call> calls;  // That follow each other.
  for (int place = 0; place < count;) {
    const auto found = places_.find({static_cast<int>(list), place});
    if (found == places_.end()) {
      WriteCalls(calls, functions, statements);
      calls.clear();
      lists_[list].emit(place++, statements);
      continue;
    }
    const auto [body, occurrence] = found->second;
    calls.push_back({.body = body, .layer = body->occurrences[occurrence].layer});
    place += body->period;
  }
  WriteCalls(calls, functions, statements);
}

// The loop at the beginning of calls that follow each other: the one that takes most of them.
LayeredText::Loop LayeredText::LoopAt(const std::vector<Call>& calls, size_t begin) {
  Loop best{.calls = 1, .passes = 1};
  for (size_t length = 1; begin + 2 * length <= calls.size(); ++length) {
    const int64_t distance = calls[begin + length].layer - calls[begin].layer;
    const auto follows = [&](size_t i) {
      return calls[i + length].body == calls[i].body && calls[i + length].layer - calls[i].layer == distance;
    };
    size_t alike = 0;
    while (begin + alike + length < calls.size() && follows(begin + alike)) ++alike;
    const size_t passes = alike / length + 1;
    if (passes < 2 || distance == 0) continue;
    if (passes * length > best.calls * best.passes) best = {.calls = length, .passes = passes, .distance = distance};
  }
  return best;
}

void LayeredText::WriteCalls(const std::vector<Call>& calls, SourceWriter& functions, SourceWriter& statements) {
  for (size_t begin = 0; begin < calls.size();) {
    const Loop loop = LoopAt(calls, begin);
    statements.Gap();
    WriteLoop(calls, begin, loop, functions, statements);
    begin += loop.calls * loop.passes;
  }
}

void LayeredText::WriteLoop(const std::vector<Call>& calls, size_t begin, const Loop& loop, SourceWriter& functions,
                            SourceWriter& statements) {
  const auto call = [&](const Call& of, const std::string& layer) {
    const StatementList& list = lists_[static_cast<size_t>(of.body->list)];
    return absl::StrCat(FunctionOf(*of.body, functions), "(", layer, list.arguments, ");");
  };
  const Call& first = calls[begin];
  const LayerGroup& group = plan_.groups[first.body->group];
  const Group& named = groups_[first.body->group];
  if (loop.passes == 1) {
    return statements.Line(call(first, absl::StrCat(named.layers, "[", IndexOf(group, first.layer), "]")));
  }
  const int64_t last = first.layer + loop.distance * static_cast<int64_t>(loop.passes - 1);
  if (loop.calls == 1 && first.layer == group.first && last == LastLayer(group) && loop.distance == group.step) {
    const std::string head = absl::StrCat("for (const ", named.type, "& layer : ", named.layers, ") ");
    const bool is_only_loop = loop.passes == first.body->occurrences.size();
    if (!is_only_loop || !lists_[static_cast<size_t>(first.body->list)].is_inline) {
      return statements.Line(absl::StrCat(head, call(first, "layer")));
    }
    statements.Open(absl::StrCat(head, "{"));
    WriteModel(*first.body, /*is_function=*/false, statements);
    return statements.Close("}");
  }
  const bool is_up = loop.distance > 0;
  const int64_t distance = std::abs(loop.distance);
  const std::string next =
      distance == 1 ? absl::StrCat(is_up ? "++" : "--", "i") : absl::StrCat("i ", is_up ? "+= " : "-= ", distance);
  const std::string head =
      absl::StrCat("for (int64_t i = ", first.layer, "; i ", is_up ? "<= " : ">= ", last, "; ", next, ") ");
  std::vector<std::string> lines;
  for (size_t i = begin; i < begin + loop.calls; ++i) {
    const size_t of = calls[i].body->group;
    const std::string index = IndexText(plan_.groups[of], calls[i].layer - first.layer);
    lines.push_back(call(calls[i], absl::StrCat(groups_[of].layers, "[", index, "]")));
  }
  if (lines.size() == 1) return statements.Line(absl::StrCat(head, lines[0]));
  statements.Open(absl::StrCat(head, "{"));
  for (const std::string& line : lines) statements.Line(line);
  statements.Close("}");
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
  list.begin(statements);
  WriteModel(body, /*is_function=*/true, statements);
  functions.Gap();
  functions.Open(absl::StrCat("void ", name->second, "(const ", group.type, "& layer", list.parameters, ") {"));
  functions.Append(statements);
  functions.Close("}");
  return name->second;
}

// Writes the body by its model, with the names that stand for those of all layers.
void LayeredText::WriteModel(const LayerBody& body, bool is_function, SourceWriter& writer) {
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  LayerScope scope{.number = "layer.i", .step = plan_.groups[body.group].step, .is_function = is_function};
  const auto [least, most] = std::minmax_element(
      body.occurrences.begin(), body.occurrences.end(),
      [](const LayerBody::Occurrence& a, const LayerBody::Occurrence& b) { return a.layer < b.layer; });
  scope.first = least->layer;
  scope.last = most->layer;
  const std::string section = std::exchange(emission_.section, "");
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
  emission_.section = section;
}

bool LayeredText::HasLayers(size_t list) const {
  return std::any_of(plan_.bodies.begin(), plan_.bodies.end(),
                     [&](const LayerBody& body) { return body.list == static_cast<int>(list); });
}

void LayeredText::WriteStructs(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty()) WriteStruct(group, writer);
  }
}

void LayeredText::WriteStruct(size_t group, SourceWriter& writer) const {
  const LayerGroup& planned = plan_.groups[group];
  writer.Gap();
  const std::string numbers = absl::StrCat("i is ", LayerNumbers(planned.first, LastLayer(planned), planned.step), ".");
  if (planned.step == 1) {
    writer.Comment(absl::StrCat("The tensors of layer i, whose names begin with ", planned.prefix, "i: ", numbers));
  } else {
    writer.Comment(absl::StrCat("The tensors of layers i to i + ", planned.step - 1, ", whose names begin with ",
                                planned.prefix, "i and so on: ", numbers));
  }
  writer.Open(absl::StrCat("struct ", groups_[group].type, " {"));
  writer.Line("const Arena& arena;");
  writer.Line("const int64_t i;");
  if (SlotsOf(group) > 1) writer.Line("const int64_t slot;  // Of the micro-batch under way.");
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
  if (IsNumber(buffers.begin()->second)) {
    for (const auto& [layer, buffer] : buffers) numbers[layer] = numbers_.at(buffer);
    std::string what = "among all looks";
    if (IsPending(buffers.begin()->second)) what = absl::StrCat("in `", pending_, "`");
    if (IsPlainNumber(buffers.begin()->second)) what = "where its part of a tensor begins";
    return {absl::StrCat("const int64_t ", name, " = ", ByLayer(plan_.groups[group], numbers, "-1"), ";"), what};
  }
  const ir::ValueId value(buffers.begin()->second);
  for (const auto& [layer, buffer] : buffers) numbers[layer] = emission_.OffsetOf(ir::ValueId(buffer));
  const absl::string_view type = ElementTypeName(emission_.value(value).type.dtype);
  const std::string place = absl::StrCat(emission_.MemoryOf(value), "<", type, ">(");
  const std::string offset =
      ByLayer(plan_.groups[group], numbers, "nullptr", absl::StrCat(place, SlotText(group, buffers)), ")");
  return {absl::StrCat(type, "* const ", name, " = ", offset, ";"), TensorText(emission_, value)};
}

bool LayeredText::IsInputOfMicroBatches(ir::ValueId value) const {
  const ir::Compute* source = emission_.SourceOf(value);
  return emission_.program.time.has_value() && source != nullptr && source->kind == ir::OpKind::kInput;
}

int64_t LayeredText::PiecesOf(ir::ValueId value) const {
  return IsInputOfMicroBatches(value) ? ir::MicroBatches(emission_.program) : emission_.storage.PiecesOf(value);
}

int64_t LayeredText::StrideOf(ir::ValueId value) const {
  return IsInputOfMicroBatches(value) ? ir::InputStride(emission_.program, value).value()
                                      : emission_.storage.StrideOf(value);
}

std::string LayeredText::SlotText(size_t group, const std::map<int64_t, int>& buffers) const {
  std::map<int64_t, int64_t> pieces, strides;
  for (const auto& [layer, buffer] : buffers) {
    pieces[layer] = PiecesOf(ir::ValueId(buffer));
    strides[layer] = StrideOf(ir::ValueId(buffer));
  }
  const LayerGroup& planned = plan_.groups[group];
  const auto waits = [](const auto& layer) { return layer.second > 0; };
  if (std::none_of(strides.begin(), strides.end(), waits)) return "";
  const int64_t slots = SlotsOf(group);
  const bool has_all = std::all_of(pieces.begin(), pieces.end(),
                                   [&](const auto& own) { return own.second == slots || own.second == 1; });
  const std::string piece = has_all ? "" : absl::StrCat(" % (", ByLayer(planned, pieces, "1"), ")");
  return absl::StrCat("slot", piece, " * (", ByLayer(planned, strides, "0"), ") + ");
}

int64_t LayeredText::SlotsOf(size_t group) const {
  int64_t slots = 1;
  for (const LayerField& field : plan_.groups[group].fields) {
    for (const auto& [layer, buffer] : field.buffers) {
      if (!IsNumber(buffer)) slots = std::lcm(slots, PiecesOf(ir::ValueId(buffer)));
    }
  }
  return std::min(slots, ir::MicroBatches(emission_.program));
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

void LayeredText::WriteBegin(absl::string_view number, SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty() && SlotsOf(group) > 1)
      writer.Line(absl::StrCat(groups_[group].layers, ".Begin(", number, ");"));
  }
}

void LayeredText::WriteFields(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].fields.empty()) continue;
    const LayerGroup& planned = plan_.groups[group];
    const std::string& type = groups_[group].type;
    const std::string layers =
        absl::StrCat(planned.first, ", ", planned.count, planned.step == 1 ? "" : absl::StrCat(", ", planned.step));
    if (const int64_t slots = SlotsOf(group); slots > 1) {
      writer.Line(
          absl::StrCat("LayersUnderWay<", type, "> ", groups_[group].layers, "{arena, ", slots, ", ", layers, "};"));
    } else {
      writer.Line(absl::StrCat("const std::vector<", type, "> ", groups_[group].layers, " = MakeLayers<", type,
                               ">(arena, ", layers, ");"));
    }
  }
  if (pending_count_ == 0) return;
  writer.Line(absl::StrCat("std::array<Pending, ", pending_count_, "> ", pending_,
                           ";  // Collectives that run beside the work of other layers."));
}

}  // namespace cleave::codegen
