#include "codegen/program/layered_text.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "codegen/cpp/cpp.h"
#include "codegen/roll/unroll.h"
#include "codegen/source/form_text.h"

namespace cleave::codegen {
namespace {

// Fewer statements are not worth a function.
constexpr int kLeastSaved = 2;

cpp::Expr ReferenceTo(absl::string_view type) { return cpp::Reference(cpp::Const(cpp::Name(type))); }

// The place of a layer among those of its group, in the struct of its tensors and in loops over layers.
cpp::Expr LayerIndex() { return cpp::Name("i"); }

// Whether the layers' numbers in the model are others than their places.
bool HasNumbers(const LayerGroup& group) { return group.first != 0 || group.step != 1; }

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
  const bool moves_on =
      emission_.program.time.has_value() && source != nullptr && ir::IsSamples(source->kind, source->attributes);
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
    const cpp::Expr place = owner == rolled_.owners.end() ? cpp::Expr(number) : OwnedName(owner->second);
    emission_.pending[StepOfNumber(buffer)] = cpp::Name(pending_).At(place);
  }
}

// "x_layers[3].norm1_weight"
cpp::Expr LayeredText::OwnedName(const RolledProgram::Owner& owner) const {
  const Group& group = groups_[owner.group];
  return cpp::Name(group.layers).At(rolled_.groups[owner.group].IndexOf(owner.layer)).Member(group.fields[owner.field]);
}

void LayeredText::NameTensors() {
  for (const LayerGroup& group : rolled_.groups) {
    Group& named = groups_.emplace_back();
    if (group.fields.empty()) continue;
    named.type = absl::StrCat(TypeName(group.prefix), group.step == 1 ? "Layer" : "Layers");
    while (!emission_.identifiers.Take(named.type)) absl::StrAppend(&named.type, "_");
    named.layers = emission_.identifiers.Unique(absl::StrCat(group.prefix, "layers"));
    Identifiers fields = emission_.identifiers.Fresh();
    for (const char* own : {"arena", "i", "slot", "number"}) fields.Reserve(own);
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

void LayeredText::Write(size_t list, cpp::Code& functions, cpp::Code& statements) {
  for (const RolledItem& item : rolled_.lists[list]) {
    Match(
        item, [&](int place) { lists_[list].emit(place, statements); },
        [&](const BodyLoop& loop) {
          statements.Gap();
          WriteLoop(loop, functions, statements);
        });
  }
}

void LayeredText::WriteLoop(const BodyLoop& loop, cpp::Code& functions, cpp::Code& statements) {
  const auto call = [&](const BodyCall& of, const cpp::Expr& layer) {
    const StatementList& list = lists_[static_cast<size_t>(rolled_.bodies[of.body].list)];
    std::vector<cpp::Expr> arguments = {layer};
    arguments.insert(arguments.end(), list.arguments.begin(), list.arguments.end());
    return cpp::Call(FunctionOf(of.body, functions), std::move(arguments));
  };
  const BodyCall& first = loop.calls.front();
  const LayerBody& body = rolled_.bodies[first.body];
  const LayerGroup& group = rolled_.groups[body.group];
  const Group& named = groups_[body.group];
  if (loop.passes == 1) return statements.Do(call(first, cpp::Name(named.layers).At(group.IndexOf(first.layer))));
  const int64_t last = first.layer + loop.distance * (loop.passes - 1);
  const bool is_whole = first.layer == group.first && last == group.last() && loop.distance == group.step;
  if (loop.calls.size() == 1 && is_whole) {
    const cpp::ForEach each{{ReferenceTo(named.type), "layer"}, cpp::Name(named.layers)};
    const bool is_only_loop = loop.passes == static_cast<int64_t>(body.occurrences.size());
    if (!is_only_loop || !lists_[static_cast<size_t>(body.list)].is_inline) {
      const cpp::Expr of_layer = call(first, cpp::Name("layer"));
      return statements.OnLine(each).Do(of_layer);
    }
    return WriteModel(body, /*is_function=*/false, statements.Open(each));
  }
  // `i` is the place of the first call's layer among those of its group.
  const cpp::Expr i = LayerIndex();
  const int64_t begin = group.IndexOf(first.layer), end = group.IndexOf(last);
  const int64_t stride = loop.distance / group.step;
  const bool is_up = stride > 0;
  const cpp::Expr next = std::abs(stride) == 1 ? cpp::Prefix(is_up ? "++" : "--", i)
                                               : cpp::Infix(i, is_up ? "+=" : "-=", std::abs(stride));
  const cpp::For head{"i", begin, cpp::Infix(i, is_up ? "<=" : ">=", end), next};
  std::vector<cpp::Expr> calls;
  for (const BodyCall& of : loop.calls) {
    const size_t g = rolled_.bodies[of.body].group;
    const int64_t own_begin = rolled_.groups[g].IndexOf(of.layer);
    const int64_t own_stride = loop.distance / rolled_.groups[g].step;
    const cpp::Expr index = own_stride == stride
                                ? cpp::Shifted(i, own_begin - begin)
                                : cpp::Shifted(cpp::Shifted(i, -begin) / stride * own_stride, own_begin);
    calls.push_back(call(of, cpp::Name(groups_[g].layers).At(index)));
  }
  cpp::Code& passes = calls.size() == 1 ? statements.OnLine(head) : statements.Open(head);
  for (const cpp::Expr& of_layer : calls) passes.Do(of_layer);
}

// The function of a body, which is written when it is first called.
const std::string& LayeredText::FunctionOf(size_t number, cpp::Code& functions) {
  const auto [name, is_new] = functions_.try_emplace(number);
  if (!is_new) return name->second;
  const LayerBody& body = rolled_.bodies[number];
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  name->second = absl::StrCat(list.function, group.type);
  for (int number = 2; !emission_.identifiers.Take(name->second); ++number) {
    name->second = absl::StrCat(list.function, group.type, number);
  }
  cpp::Function head = {.result = cpp::Name("void"), .name = name->second};
  head.parameters = {{ReferenceTo(group.type), "layer"}};
  head.parameters.insert(head.parameters.end(), list.parameters.begin(), list.parameters.end());
  cpp::Code model(functions.indent() + 2), statements(functions.indent() + 2);
  WriteModel(body, /*is_function=*/true, model);
  list.begin(model, statements);
  statements.Append(std::move(model));
  functions.Gap();
  functions.Open(head).Append(std::move(statements));  // Behind the functions that it calls.
  return name->second;
}

// Writes the body by its model. Any other layer by which it could be written has to do the same: whatever the emitters
// look at, layers that differ in it are not taken for equal. Comments say why something is done, which may differ.
void LayeredText::WriteModel(const LayerBody& body, bool is_function, cpp::Code& code) {
  const size_t first_local = emission_.identifiers.local_count();
  cpp::Code written(code.indent());
  WriteOccurrence(body, body.model(), is_function, written);
  const std::vector<std::string> locals = emission_.identifiers.Locals(first_local);
  for (const size_t occurrence : body.clear) {
    const Identifiers::Replay replay(emission_.identifiers, locals);
    cpp::Code trial(code.indent());
    WriteOccurrence(body, occurrence, is_function, trial);
    if (!check_.ok() || DoTheSame(written, trial)) continue;
    check_ = absl::InternalError(absl::StrCat(
        "layers ", body.occurrences[body.model()].layer, " and ", body.occurrences[occurrence].layer, " of ",
        rolled_.groups[body.group].prefix, " do not say the same:\n", FirstDifference(written, trial)));
  }
  code.Append(std::move(written));
}

// Writes the body by one of its occurrences, with the names that stand for those of all layers.
void LayeredText::WriteOccurrence(const LayerBody& body, size_t occurrence, bool is_function, cpp::Code& code) {
  const StatementList& list = lists_[static_cast<size_t>(body.list)];
  const Group& group = groups_[body.group];
  const cpp::Expr layer = cpp::Name("layer");
  const LayerGroup& planned = rolled_.groups[body.group];
  LayerScope scope{
      .number = layer.Member(HasNumbers(planned) ? "number" : "i"), .step = planned.step, .is_function = is_function};
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
    std::map<ir::ValueId, cpp::Expr>& names = emission_.names.in_layer;
    names.clear();
    for (size_t slot = 0; slot < statement.buffers.size(); ++slot) {
      const int field = body.fields[static_cast<size_t>(i)][slot];
      if (field < 0) continue;
      const cpp::Expr place = layer.Member(group.fields[static_cast<size_t>(field)]);
      names[ir::ValueId(statement.buffers[slot])] =
          IsPending(statement.buffers[slot]) ? cpp::Name(pending_).At(place) : place;
    }
    for (const int local : statement.locals) {
      const auto [name, is_new] = names.try_emplace(ir::ValueId(local));
      const std::string& wish = emission_.value(ir::ValueId(local)).name;
      if (is_new) name->second = cpp::Name(emission_.identifiers.Local(LocalWish(&scope, wish)));
    }
    emission_.layer = &scope;
    list.emit(begin + i, code);
  }
  emission_.layer = nullptr;
  emission_.names.in_layer.clear();
  emission_.section = section;
}

bool LayeredText::HasLayers(size_t list) const {
  return std::any_of(rolled_.bodies.begin(), rolled_.bodies.end(),
                     [&](const LayerBody& body) { return body.list == static_cast<int>(list); });
}

void LayeredText::WriteStructs(cpp::Code& code) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].fields.empty()) WriteStruct(group, code);
  }
}

void LayeredText::WriteStruct(size_t group, cpp::Code& code) const {
  const LayerGroup& planned = rolled_.groups[group];
  code.Gap();
  const std::string i = HasNumbers(planned) ? "number" : "i";
  const std::string numbers = absl::StrCat(i, " is ", LayerNumbers(planned.first, planned.last(), planned.step), ".");
  if (planned.step == 1) {
    code.Comment(
        absl::StrCat("The tensors of layer ", i, ", whose names begin with ", planned.prefix, i, ": ", numbers));
  } else {
    code.Comment(absl::StrCat("The tensors of layers ", i, " to ", i, " + ", planned.step - 1,
                              ", whose names begin with ", planned.prefix, i, " and so on: ", numbers));
  }
  cpp::Code& fields = code.Open(cpp::Struct{groups_[group].type});
  const cpp::Expr number = cpp::Const(cpp::Name("int64_t"));
  fields.Member({ReferenceTo("Arena"), "arena"});
  fields.Member({number, "i"});
  if (planned.slots > 1) fields.Member({number, "slot"}, "Of the micro-batch under way.");
  if (ReadsStage(group)) fields.Member({ReferenceTo("OfStage"), "of_stage"});
  if (HasNumbers(planned)) {
    fields.Declare({number, "number"}, FormExpr({.base = planned.first, .stride = planned.step}, LayerIndex()));
  }
  fields.Gap();
  for (size_t field = 0; field < planned.fields.size(); ++field) WriteField(group, field, fields);
}

// The number in a layer.
cpp::Expr LayeredText::InLayer(const NumberForm& form) const {
  return FormExpr(form, LayerIndex(), /*is_whole=*/emission_.sharing.is_shared);
}

// `present` in the layers that have the number, `absent` in the others.
cpp::Expr LayeredText::WhereItIs(const LayerGroup& group, const NumberForm& form, const cpp::Expr& present,
                                 const cpp::Expr& absent) {
  cpp::Expr result = present;
  if (form.greatest < group.count - 1) {
    result = cpp::Choice(cpp::Infix(LayerIndex(), ">", form.greatest), absent, result);
  }
  if (form.least > 0) result = cpp::Choice(cpp::Infix(LayerIndex(), "<", form.least), absent, result);
  return result;
}

bool LayeredText::ReadsStage(size_t group) const { return emission_.sharing.readers.count(groups_[group].type) > 0; }

void LayeredText::WriteField(size_t g, size_t f, cpp::Code& code) const {
  const LayerGroup& group = rolled_.groups[g];
  const LayerField& field = group.fields[f];
  const std::string& name = groups_[g].fields[f];
  const int first = field.buffers.begin()->second;
  if (IsNumber(first)) {
    std::string what = "among all looks";
    if (IsPending(first)) what = absl::StrCat("in `", pending_, "`");
    if (IsPlainNumber(first)) what = "where its part of a tensor begins";
    return code.Declare({cpp::Const(cpp::Name("int64_t")), name},
                        WhereItIs(group, field.begin, InLayer(field.begin), -1), what);
  }
  const ir::ValueId value(first);
  const cpp::Expr slot = cpp::Name("slot");
  cpp::Expr begin = InLayer(field.begin);
  if (field.stride.has_value()) {
    const cpp::Expr piece = field.pieces.has_value() ? slot % InLayer(*field.pieces) : slot;
    begin = cpp::Offset(piece * InLayer(*field.stride), begin);
  }
  const cpp::Expr pointer = WhereItIs(group, field.begin, emission_.PointerTo(value, begin), cpp::Name("nullptr"));
  code.Declare({cpp::ConstPointer(emission_.ElementTypeOf(value)), name}, pointer, TensorText(emission_, value));
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

void LayeredText::WriteBegin(const cpp::Expr& number, cpp::Code& code) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].fields.empty() || rolled_.groups[group].slots == 1) continue;
    code.Do(cpp::Name(groups_[group].layers).Call("Begin", {number}));
  }
}

void LayeredText::WriteFields(cpp::Code& code) const {
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].fields.empty()) continue;
    const LayerGroup& planned = rolled_.groups[group];
    const cpp::Expr type = cpp::Name(groups_[group].type);
    const bool is_under_way = planned.slots > 1;
    std::vector<cpp::Expr> arguments = {cpp::Name("arena")};
    if (is_under_way) arguments.push_back(planned.slots);
    arguments.push_back(planned.count);
    if (ReadsStage(group)) arguments.push_back(cpp::Name("of_stage"));
    if (is_under_way) {
      code.Construct({cpp::Template("LayersUnderWay", {type}), groups_[group].layers},
                     cpp::Braces(std::move(arguments)));
    } else {
      code.Declare({cpp::Const(cpp::Template("std::vector", {type})), groups_[group].layers},
                   cpp::Call(cpp::Template("MakeLayers", {type}), std::move(arguments)));
    }
  }
  if (pendings_.empty()) return;
  const cpp::Expr handles = cpp::Template("std::array", {cpp::Name("Pending"), pendings_.size()});
  code.Member({handles, pending_}, "Collectives that run beside the work of other layers.");
}

}  // namespace cleave::codegen
