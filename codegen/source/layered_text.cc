#include "codegen/source/layered_text.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/match/match.h"
#include "codegen/emit/identifiers.h"
#include "codegen/roll/unroll.h"

namespace cleave::codegen {
namespace {

// Fewer statements are not worth a function.
constexpr int kLeastSaved = 2;

// Elements of a list are numbered from 0: "i", "i - 1", "(i - 1) / 2" for layer i.
std::string IndexText(const LayerGroup& group, int64_t shift = 0) {
  const int64_t distance = shift - group.first;
  std::string index = distance == 0 ? "i" : absl::StrCat("i ", distance < 0 ? "- " : "+ ", std::abs(distance));
  if (group.step == 1) return index;
  return absl::StrCat(distance == 0 ? index : absl::StrCat("(", index, ")"), " / ", group.step);
}

// A number in each pass x: "i * 4096 + 128", "i == 0 ? 64 : i * 4096 + 128".
std::string FormText(const NumberForm& form, const std::string& x, const std::string& index) {
  switch (form.kind) {
    case NumberForm::Kind::kTurns:
      return absl::StrCat(form.base, form.stride > 0 ? " + " : " - ", x, " % 2 * ", std::abs(form.stride));
    case NumberForm::Kind::kTable:
      return absl::StrCat("std::array<int64_t, ", form.table.size(), ">{", absl::StrJoin(form.table, ", "), "}[", index,
                          "]");
    case NumberForm::Kind::kLine:
      break;
  }
  std::string text;
  for (const auto& [pass, number] : form.exceptions) absl::StrAppend(&text, x, " == ", pass, " ? ", number, " : ");
  if (form.stride == 0) return absl::StrCat(text, form.base);
  const std::string product = std::abs(form.stride) == 1 ? x : absl::StrCat(x, " * ", std::abs(form.stride));
  if (form.base == 0 && form.stride > 0) return absl::StrCat(text, product);
  return absl::StrCat(text, form.base, form.stride > 0 ? " + " : " - ", product);
}

// The same in each layer i, between `begin` and `end`; `absent` in layers that have none. A `begin` that ends with
// " + " adds the number to something.
std::string ByLayer(const LayerGroup& group, const NumberForm& form, absl::string_view absent,
                    absl::string_view begin = "", absl::string_view end = "") {
  const auto layer = [&](int64_t pass) { return group.step == 1 ? pass : group.first + pass * group.step; };
  std::string choice;
  if (layer(form.least) > group.first) absl::StrAppend(&choice, "i < ", layer(form.least), " ? ", absent, " : ");
  if (layer(form.greatest) < group.last()) absl::StrAppend(&choice, "i > ", layer(form.greatest), " ? ", absent, " : ");
  const std::string x = group.step == 1 ? "i" : IndexText(group);
  const std::string index = form.least == 0 ? x : absl::StrCat(x, " - ", form.least);
  const std::string number = FormText(form, x, index);
  const bool is_choice = absl::EndsWith(begin, " + ") && number.find(" ? ") != std::string::npos;
  return absl::StrCat(choice, begin, is_choice ? "(" : "", number, is_choice ? ")" : "", end);
}

// The lines of a text that are not comments: these say why something is done, which may differ between layers.
std::vector<std::string> CodeOf(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  std::erase_if(
      lines, [](const std::string& line) { return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "//"); });
  return lines;
}

// The first lines in which two texts differ.
std::string FirstDifference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return absl::StrCat(at == a.end() ? "" : *at, "\n", other == b.end() ? "" : *other);
}

}  // namespace

LayeredText::LayeredText(Emission& emission, std::vector<StatementList> lists, bool repeats_layers)
    : emission_(emission), lists_(std::move(lists)) {
  std::vector<std::vector<Statement>> statements;
  for (const StatementList& list : lists_) statements.push_back(list.statements);
  const int64_t micro_batches = ir::MicroBatches(emission_.program);
  // Handles of collectives that layers keep are numbered as they are asked for.
  const auto field_of = [&](int buffer) {
    if (IsPending(buffer)) pendings_.try_emplace(buffer, static_cast<int64_t>(pendings_.size()));
    return BufferOf(buffer);
  };
  rolled_ =
      Roll(statements, {.least_saved = kLeastSaved, .micro_batches = micro_batches, .repeats_layers = repeats_layers},
           field_of);
  check_ = CheckUnrolled(rolled_, statements, micro_batches, [&](int buffer) { return BufferOf(buffer); });
  NameTensors();
  NamePendings();
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

Buffer LayeredText::BufferOf(int buffer) const {
  if (IsPlainNumber(buffer)) {
    return {.name = "begin", .place = {.begin = buffer - emission_.PlainNumber(0).value()}};
  }
  if (IsNumber(buffer)) {
    const ir::Step& step = emission_.step(StepOfNumber(buffer));
    if (const auto* look = std::get_if<ir::Glance>(&step.action)) {
      return {.name = absl::StrCat(step.name, ".look"),
              .passes = emission_.PassesOf(step),
              .place = {.begin = look->number}};
    }
    const auto kept = pendings_.find(buffer);
    const int64_t number = kept == pendings_.end() ? -1 - StepOfNumber(buffer) : kept->second;
    return {
        .name = absl::StrCat(step.name, ".pending"), .passes = emission_.PassesOf(step), .place = {.begin = number}};
  }
  const ir::ValueId value(buffer);
  const ir::Compute* source = emission_.SourceOf(value);
  const bool moves_on = emission_.program.time.has_value() && source != nullptr && source->kind == ir::OpKind::kInput;
  const bool is_on_host = emission_.storage.host.Find(*emission_.storage.root[value]) != nullptr;
  return {.name = emission_.value(value).name,
          .passes = emission_.PassesOf(value),
          .place = {.kind = is_on_host ? Place::Kind::kHost : Place::Kind::kDevice,
                    .begin = emission_.OffsetOf(value),
                    .pieces = moves_on ? ir::MicroBatches(emission_.program) : emission_.storage.PiecesOf(value),
                    .stride = moves_on ? ir::InputStride(emission_.program, value).value()
                                       : emission_.storage.StrideOf(value)}};
}

// Where the handles lie of collectives that functions of layers begin or await.
void LayeredText::NamePendings() {
  if (pendings_.empty()) return;
  pending_ = emission_.identifiers.Unique("pending");
  for (const auto& [buffer, number] : pendings_) {
    const auto owner = rolled_.owners.find(buffer);
    const std::string place = owner == rolled_.owners.end() ? absl::StrCat(number) : OwnedName(owner->second);
    emission_.pending[StepOfNumber(buffer)] = absl::StrCat(pending_, "[", place, "]");
  }
}

// "x_layers[3].norm1_weight"
std::string LayeredText::OwnedName(const RolledProgram::Owner& owner) const {
  const Group& group = groups_[owner.group];
  return absl::StrCat(group.layers, "[", rolled_.groups[owner.group].IndexOf(owner.layer), "].",
                      group.fields[owner.field]);
}

void LayeredText::NameTensors() {
  for (const LayerGroup& group : rolled_.groups) {
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
    const auto owner = rolled_.owners.find(static_cast<int>(emission_.names.named[value].value()));
    if (owner == rolled_.owners.end()) continue;
    emission_.names.names[value] = OwnedName(owner->second);
  }
}

void LayeredText::Write(size_t list, SourceWriter& functions, SourceWriter& statements) {
  for (const RolledItem& item : rolled_.lists[list]) {
    Match(
        item, [&](int place) { lists_[list].emit(place, statements); },
        [&](const BodyLoop& loop) {
          statements.Gap();
          WriteLoop(loop, functions, statements);
        });
  }
}

void LayeredText::WriteLoop(const BodyLoop& loop, SourceWriter& functions, SourceWriter& statements) {
  const auto call = [&](const BodyCall& of, const std::string& layer) {
    const StatementList& list = lists_[static_cast<size_t>(rolled_.bodies[of.body].list)];
    return absl::StrCat(FunctionOf(of.body, functions), "(", layer, list.arguments, ");");
  };
  const BodyCall& first = loop.calls.front();
  const LayerBody& body = rolled_.bodies[first.body];
  const LayerGroup& group = rolled_.groups[body.group];
  const Group& named = groups_[body.group];
  if (loop.passes == 1) {
    return statements.Line(call(first, absl::StrCat(named.layers, "[", group.IndexOf(first.layer), "]")));
  }
  const int64_t last = first.layer + loop.distance * (loop.passes - 1);
  const bool is_whole = first.layer == group.first && last == group.last() && loop.distance == group.step;
  if (loop.calls.size() == 1 && is_whole) {
    const std::string head = absl::StrCat("for (const ", named.type, "& layer : ", named.layers, ") ");
    const bool is_only_loop = loop.passes == static_cast<int64_t>(body.occurrences.size());
    if (!is_only_loop || !lists_[static_cast<size_t>(body.list)].is_inline) {
      return statements.Line(absl::StrCat(head, call(first, "layer")));
    }
    statements.Open(absl::StrCat(head, "{"));
    WriteModel(body, /*is_function=*/false, statements);
    return statements.Close("}");
  }
  const bool is_up = loop.distance > 0;
  const int64_t distance = std::abs(loop.distance);
  const std::string next =
      distance == 1 ? absl::StrCat(is_up ? "++" : "--", "i") : absl::StrCat("i ", is_up ? "+= " : "-= ", distance);
  const std::string head =
      absl::StrCat("for (int64_t i = ", first.layer, "; i ", is_up ? "<= " : ">= ", last, "; ", next, ") ");
  std::vector<std::string> lines;
  for (const BodyCall& of : loop.calls) {
    const size_t g = rolled_.bodies[of.body].group;
    const std::string index = IndexText(rolled_.groups[g], of.layer - first.layer);
    lines.push_back(call(of, absl::StrCat(groups_[g].layers, "[", index, "]")));
  }
  if (lines.size() == 1) return statements.Line(absl::StrCat(head, lines[0]));
  statements.Open(absl::StrCat(head, "{"));
  for (const std::string& line : lines) statements.Line(line);
  statements.Close("}");
}

// The function of a body, which is written when it is first called.
const std::string& LayeredText::FunctionOf(size_t number, SourceWriter& functions) {
  const auto [name, is_new] = functions_.try_emplace(number);
  if (!is_new) return name->second;
  const LayerBody& body = rolled_.bodies[number];
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

// Writes the body by its model. Any other layer by which it could be written has to give the same text: whatever the
// emitters look at, layers that differ in it are not taken for equal.
void LayeredText::WriteModel(const LayerBody& body, bool is_function, SourceWriter& writer) {
  const size_t first_local = emission_.identifiers.local_count();
  SourceWriter written(writer.indent());
  WriteOccurrence(body, body.model(), is_function, written);
  const std::vector<std::string> locals = emission_.identifiers.Locals(first_local);
  const std::vector<std::string> code = CodeOf(written.text());
  for (const size_t occurrence : body.clear) {
    const Identifiers::Replay replay(emission_.identifiers, locals);
    SourceWriter trial(writer.indent());
    WriteOccurrence(body, occurrence, is_function, trial);
    const std::vector<std::string> own = CodeOf(trial.text());
    if (own == code || !check_.ok()) continue;
    check_ = absl::InternalError(
        absl::StrCat("layers ", body.occurrences[body.model()].layer, " and ", body.occurrences[occurrence].layer,
                     " of ", rolled_.groups[body.group].prefix, " do not say the same:\n", FirstDifference(code, own)));
  }
  writer.Append(written);
}

// Writes the body by one of its occurrences, with the names that stand for those of all layers.
void LayeredText::WriteOccurrence(const LayerBody& body, size_t occurrence, bool is_function, SourceWriter& writer) {
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  LayerScope scope{.number = "layer.i", .step = rolled_.groups[body.group].step, .is_function = is_function};
  const auto [least, most] = std::minmax_element(
      body.occurrences.begin(), body.occurrences.end(),
      [](const LayerBody::Occurrence& a, const LayerBody::Occurrence& b) { return a.layer < b.layer; });
  scope.first = least->layer;
  scope.last = most->layer;
  const std::string section = std::exchange(emission_.section, "");
  const int begin = body.occurrences[occurrence].begin;
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
      if (name.empty()) name = emission_.identifiers.Local(LocalWish(&scope, wish));
    }
    emission_.layer = &scope;
    list.emit(begin + i, writer);
  }
  emission_.layer = nullptr;
  emission_.names.in_layer.clear();
  emission_.section = section;
}

bool LayeredText::HasLayers(size_t list) const {
  return std::any_of(rolled_.bodies.begin(), rolled_.bodies.end(),
                     [&](const LayerBody& body) { return body.list == static_cast<int>(list); });
}

void LayeredText::WriteStructs(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty()) WriteStruct(group, writer);
  }
}

void LayeredText::WriteStruct(size_t group, SourceWriter& writer) const {
  const LayerGroup& planned = rolled_.groups[group];
  writer.Gap();
  const std::string numbers = absl::StrCat("i is ", LayerNumbers(planned.first, planned.last(), planned.step), ".");
  if (planned.step == 1) {
    writer.Comment(absl::StrCat("The tensors of layer i, whose names begin with ", planned.prefix, "i: ", numbers));
  } else {
    writer.Comment(absl::StrCat("The tensors of layers i to i + ", planned.step - 1, ", whose names begin with ",
                                planned.prefix, "i and so on: ", numbers));
  }
  writer.Open(absl::StrCat("struct ", groups_[group].type, " {"));
  writer.Line("const Arena& arena;");
  writer.Line("const int64_t i;");
  if (planned.slots > 1) writer.Line("const int64_t slot;  // Of the micro-batch under way.");
  writer.Gap();
  std::vector<SourceWriter::Commented> rows;
  for (size_t field = 0; field < planned.fields.size(); ++field) rows.push_back(FieldRow(group, field));
  writer.Table(rows);
  writer.Close("};");
}

SourceWriter::Commented LayeredText::FieldRow(size_t g, size_t f) const {
  const LayerGroup& group = rolled_.groups[g];
  const LayerField& field = group.fields[f];
  const std::string& name = groups_[g].fields[f];
  const int first = field.buffers.begin()->second;
  if (IsNumber(first)) {
    std::string what = "among all looks";
    if (IsPending(first)) what = absl::StrCat("in `", pending_, "`");
    if (IsPlainNumber(first)) what = "where its part of a tensor begins";
    return {absl::StrCat("const int64_t ", name, " = ", ByLayer(group, field.begin, "-1"), ";"), what};
  }
  const ir::ValueId value(first);
  const absl::string_view type = ElementTypeName(emission_.value(value).type.dtype);
  const std::string place = absl::StrCat(emission_.MemoryOf(value), "<", type, ">(", SlotText(group, field));
  return {absl::StrCat(type, "* const ", name, " = ", ByLayer(group, field.begin, "nullptr", place, ")"), ";"),
          TensorText(emission_, value)};
}

std::string LayeredText::SlotText(const LayerGroup& group, const LayerField& field) {
  if (!field.stride.has_value()) return "";
  const std::string piece =
      field.pieces.has_value() ? absl::StrCat(" % (", ByLayer(group, *field.pieces, "1"), ")") : "";
  return absl::StrCat("slot", piece, " * (", ByLayer(group, *field.stride, "0"), ") + ");
}

std::string LayeredText::LayersIn(const std::vector<ir::ValueId>& values) const {
  std::map<size_t, int> counts;
  for (const ir::ValueId value : values) {
    const auto owner = rolled_.owners.find(static_cast<int>(emission_.names.named[value].value()));
    if (owner != rolled_.owners.end()) ++counts[owner->second.group];
  }
  std::string text;
  for (const auto& [group, count] : counts) {
    absl::StrAppend(&text, ", with ", count, " tensors of ", groups_[group].layers);
  }
  return text;
}

void LayeredText::WriteBegin(absl::string_view number, SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty() && rolled_.groups[group].slots > 1)
      writer.Line(absl::StrCat(groups_[group].layers, ".Begin(", number, ");"));
  }
}

void LayeredText::WriteFields(SourceWriter& writer) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].fields.empty()) continue;
    const LayerGroup& planned = rolled_.groups[group];
    const std::string& type = groups_[group].type;
    const std::string layers =
        absl::StrCat(planned.first, ", ", planned.count, planned.step == 1 ? "" : absl::StrCat(", ", planned.step));
    if (planned.slots > 1) {
      writer.Line(absl::StrCat("LayersUnderWay<", type, "> ", groups_[group].layers, "{arena, ", planned.slots, ", ",
                               layers, "};"));
    } else {
      writer.Line(absl::StrCat("const std::vector<", type, "> ", groups_[group].layers, " = MakeLayers<", type,
                               ">(arena, ", layers, ");"));
    }
  }
  if (pendings_.empty()) return;
  writer.Line(absl::StrCat("std::array<Pending, ", pendings_.size(), "> ", pending_,
                           ";  // Collectives that run beside the work of other layers."));
}

}  // namespace cleave::codegen
