#include "codegen/program/layered_text.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "codegen/cpp/cpp.h"
#include "codegen/roll/unroll.h"

namespace cleave::codegen {
namespace {

// Fewer statements are not worth a function.
constexpr int kLeastSaved = 2;

cpp::Expr ReferenceTo(absl::string_view type) { return cpp::Reference(cpp::Const(cpp::Name(type))); }

// The number of the layer, in the struct of its tensors and in loops over layers.
cpp::Expr LayerNumber() { return cpp::Name("i"); }

// Elements of a list are numbered from 0: "i", "i - 1", "(i - 1) / 2" for layer i.
cpp::Expr IndexOf(const LayerGroup& group, int64_t shift = 0) {
  const cpp::Expr index = cpp::Shifted(LayerNumber(), shift - group.first);
  return group.step == 1 ? index : index / group.step;
}

// A number in each pass x: "i * 4096 + 128", "i == 0 ? 64 : i * 4096 + 128". `index`: the number of the pass among
// those that have one.
cpp::Expr FormExpr(const NumberForm& form, const cpp::Expr& x, const cpp::Expr& index) {
  const auto plus = [&](const cpp::Expr& addend) { return form.stride > 0 ? form.base + addend : form.base - addend; };
  const int64_t stride = std::abs(form.stride);
  switch (form.kind) {
    case NumberForm::Kind::kTurns:
      return plus(x % 2 * stride);
    case NumberForm::Kind::kTable: {
      const cpp::Expr type = cpp::Template("std::array", {cpp::Name("int64_t"), form.table.size()});
      return cpp::Braces(type, cpp::Numbers(form.table).node().operands).At(index);
    }
    case NumberForm::Kind::kLine:
      break;
  }
  cpp::Expr number = form.base;
  if (form.stride != 0) {
    const cpp::Expr product = stride == 1 ? x : x * stride;
    number = form.base == 0 && form.stride > 0 ? product : plus(product);
  }
  for (auto other = form.exceptions.rbegin(); other != form.exceptions.rend(); ++other) {
    number = cpp::Choice(cpp::Infix(x, "==", other->first), other->second, number);
  }
  return number;
}

// What follows from the number in each layer i; `absent` in layers that have none.
cpp::Expr ByLayer(const LayerGroup& group, const NumberForm& form, const cpp::Expr& absent,
                  const std::function<cpp::Expr(const cpp::Expr& number)>& of) {
  const auto layer = [&](int64_t pass) { return group.step == 1 ? pass : group.first + pass * group.step; };
  const cpp::Expr x = group.step == 1 ? LayerNumber() : IndexOf(group);
  cpp::Expr result = of(FormExpr(form, x, cpp::Shifted(x, -form.least)));
  if (layer(form.greatest) < group.last()) {
    result = cpp::Choice(cpp::Infix(LayerNumber(), ">", layer(form.greatest)), absent, result);
  }
  if (layer(form.least) > group.first) {
    result = cpp::Choice(cpp::Infix(LayerNumber(), "<", layer(form.least)), absent, result);
  }
  return result;
}

cpp::Expr ByLayer(const LayerGroup& group, const NumberForm& form, const cpp::Expr& absent) {
  return ByLayer(group, form, absent, [](const cpp::Expr& number) { return number; });
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
  const cpp::Expr i = LayerNumber();
  const bool is_up = loop.distance > 0;
  const int64_t distance = std::abs(loop.distance);
  const cpp::Expr next =
      distance == 1 ? cpp::Prefix(is_up ? "++" : "--", i) : cpp::Infix(i, is_up ? "+=" : "-=", distance);
  const cpp::For head{"i", first.layer, cpp::Infix(i, is_up ? "<=" : ">=", last), next};
  std::vector<cpp::Expr> calls;
  for (const BodyCall& of : loop.calls) {
    const size_t g = rolled_.bodies[of.body].group;
    const cpp::Expr index = IndexOf(rolled_.groups[g], of.layer - first.layer);
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
  cpp::Code statements(functions.indent() + 2);
  list.begin(statements);
  WriteModel(body, /*is_function=*/true, statements);
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
  LayerScope scope{.number = layer.Member("i"), .step = rolled_.groups[body.group].step, .is_function = is_function};
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
  const std::string numbers = absl::StrCat("i is ", LayerNumbers(planned.first, planned.last(), planned.step), ".");
  if (planned.step == 1) {
    code.Comment(absl::StrCat("The tensors of layer i, whose names begin with ", planned.prefix, "i: ", numbers));
  } else {
    code.Comment(absl::StrCat("The tensors of layers i to i + ", planned.step - 1, ", whose names begin with ",
                              planned.prefix, "i and so on: ", numbers));
  }
  cpp::Code& fields = code.Open(cpp::Struct{groups_[group].type});
  const cpp::Expr number = cpp::Const(cpp::Name("int64_t"));
  fields.Member({ReferenceTo("Arena"), "arena"});
  fields.Member({number, "i"});
  if (planned.slots > 1) fields.Member({number, "slot"}, "Of the micro-batch under way.");
  fields.Gap();
  for (size_t field = 0; field < planned.fields.size(); ++field) WriteField(group, field, fields);
}

void LayeredText::WriteField(size_t g, size_t f, cpp::Code& code) const {
  const LayerGroup& group = rolled_.groups[g];
  const LayerField& field = group.fields[f];
  const std::string& name = groups_[g].fields[f];
  const int first = field.buffers.begin()->second;
  if (IsNumber(first)) {
    std::string what = "among all looks";
    if (IsPending(first)) what = absl::StrCat("in `", pending_, "`");
    if (IsPlainNumber(first)) what = "where its part of a tensor begins";
    return code.Declare({cpp::Const(cpp::Name("int64_t")), name}, ByLayer(group, field.begin, -1), what);
  }
  const ir::ValueId value(first);
  const cpp::Expr slot = cpp::Name("slot");
  const cpp::Expr pointer = ByLayer(group, field.begin, cpp::Name("nullptr"), [&](const cpp::Expr& begin) {
    if (!field.stride.has_value()) return emission_.PointerTo(value, begin);
    const cpp::Expr piece = field.pieces.has_value() ? slot % ByLayer(group, *field.pieces, 1) : slot;
    return emission_.PointerTo(value, cpp::Offset(piece * ByLayer(group, *field.stride, 0), begin));
  });
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
    arguments.push_back(planned.first);
    arguments.push_back(planned.count);
    if (planned.step != 1) arguments.push_back(planned.step);
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
