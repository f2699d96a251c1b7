#include "codegen/program/statements.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "codegen/source/buckets.h"
#include "codegen/source/parts.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/reader.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::codegen {
namespace {

std::string AxesText(const ir::AxisList& axes) {
  return absl::StrJoin(axes, ",", [](std::string* out, ir::AxisId axis) { absl::StrAppend(out, axis.value()); });
}

class StatementBuilder {
 public:
  explicit StatementBuilder(const Emission& emission) : emission_(emission) {}

  void Add(absl::string_view text) { absl::StrAppend(&statement_.shape, text, " "); }
  void Add(int64_t number) { absl::StrAppend(&statement_.shape, number, " "); }

  void AddStep(int index) {
    const ir::Step& step = emission_.step(index);
    Add(static_cast<int64_t>(step.phase));
    step_ = &step;
    AddName(index);
    Match(step.action, [this, index](const auto& action) { AddAction(index, action); });
    Add("\n");
  }

  void AddValue(ir::ValueId value) {
    const ir::Value& info = emission_.value(value);
    Add(info.type.ToString());
    Add(ir::LayoutText(info.layout, emission_.program.mesh));
    Add(static_cast<int64_t>(emission_.fusion.in_blocks.contains(value)));
    const std::optional<ir::ValueId> root = emission_.storage.root[value];
    if (!root.has_value()) return AddWithoutMemory(value);
    Add(emission_.MemoryOf(value));
    const ir::ValueId named = emission_.names.named[value];
    // Which values of the statement share a buffer, and which a name.
    Add(places_.try_emplace({'r', *root}, places_.size()).first->second);
    Add(places_.try_emplace({'n', named}, places_.size()).first->second);
    statement_.buffers.push_back(named.value());
    if (const ir::Part* const part = PartOf(emission_, value)) AddPart(*part);
  }

  void AddTransfer(const ir::Transfer& transfer) {
    AddNameOf(transfer.input);
    AddTensors(transfer);
  }

  // All that a call of an op says, but for the names of its tensors. Layers may differ in the key of a random draw and
  // in the places of slices.
  void AddCall(const ir::Compute& compute, const ir::KernelCall& call) {
    call_of_ = &compute;
    Add(call.function);
    AddArgument(call.repetitions);
    for (const ir::CallArgument& argument : call.arguments) {
      Match(argument, [this](const auto& of_kind) { AddArgument(of_kind); });
    }
  }

  // Which of its parameter's states the optimizer keeps here: lists of parameters name it.
  void AddStateName(int step) {
    const ir::Step& info = emission_.step(step);
    if (ir::ComputeOf(info)->kind == ir::OpKind::kState) Add(info.name.substr(info.name.rfind('.') + 1));
  }

  void AddNumber(int step) { statement_.buffers.push_back(static_cast<int>(emission_.NumberOf(step).value())); }

  void AddNameOf(ir::ValueId value) {
    statement_.names.push_back({emission_.value(value).name, 0, emission_.PassesOf(value)});
  }

  void AddName(int step) { AddName(emission_.step(step), emission_.step(step).name); }

  Statement Take() && { return std::move(statement_); }

 private:
  // What is the same in all passes: how the value lies in the buffer of another. Where it begins may differ.
  void AddPart(const ir::Part& part) {
    Add("part");
    for (const ir::Extents& stride : part.strides) AddExtents(stride);
    for (const ir::Shift& shift : part.shifts) {
      AddExtents(shift.stride);
      AddExtents({{shift.box, shift.dimension}, {shift.whole, shift.dimension}});
      AddPlainNumber(shift.number);
    }
  }
  void AddExtents(const ir::Extents& extents) {
    for (const ir::Extent& extent : extents) {
      const ir::Value& value = emission_.value(extent.value);
      Add(value.type.ToString());
      Add(ir::LayoutText(value.layout, emission_.program.mesh));
      Add(extent.dimension);
    }
    Add("elements");
  }

  // A number that may differ between layers.
  void AddPlainNumber(int64_t number) {
    constexpr int64_t kMost = int64_t{1} << 24;  // What stands for a number is an int.
    if (number > kMost || number < 0) return Add(number);
    statement_.buffers.push_back(static_cast<int>(emission_.PlainNumber(number).value()));
  }

  // A tensor of a call by what its size and place follow from: calls of one op name several of its inputs in turn.
  void AddTensor(int tensor) {
    // Those of companions are in the statements of their own steps.
    if (tensor < ir::kResult || tensor >= static_cast<int>(call_of_->inputs.size())) return Add("of companion");
    const ir::ValueId id = tensor == ir::kResult ? call_of_->output : call_of_->inputs[static_cast<size_t>(tensor)];
    const ir::Value& value = emission_.value(id);
    Add(value.type.ToString());
    Add(ir::LayoutText(value.layout, emission_.program.mesh));
    Add(static_cast<int64_t>(emission_.fusion.in_blocks.contains(id)));
  }

  void AddArgument(const ir::LocalDimension& of) {
    AddTensor(of.tensor);
    Add(of.dimension);
  }
  void AddArgument(const ir::LocalSize& size) {
    for (const ir::LocalDimension& dimension : size.dimensions) AddArgument(dimension);
    Add("size");
  }
  void AddArgument(const ir::Pointer& pointer) {
    AddTensor(pointer.tensor);
    AddArgument(pointer.step.value_or(ir::LocalSize()));
  }
  void AddArgument(const ir::FirstPointer& first) {
    for (const int tensor : first.tensors) AddTensor(tensor);
  }
  void AddArgument(const ir::ResultWithGradients& result) { AddTensor(ir::ResultOf(result.companion)); }
  void AddArgument(const ir::NoTensor&) { Add("none"); }
  void AddArgument(const ir::ScalarInput& scalar) { AddTensor(scalar.input); }
  void AddArgument(const ir::FirstIndex& index) { AddArgument(index.of); }
  void AddArgument(const ir::LocalRange& range) { AddArgument(range.of); }
  void AddArgument(const ir::IndexDifference& place) {
    AddArgument(place.from);
    AddArgument(place.to);
    AddPlainNumber(place.number);
  }
  void AddArgument(const ir::FirstPiece& first) {
    Add(first.factor);
    Add(first.pieces);
  }
  void AddArgument(const ir::PieceCount& count) {
    Add(count.factor);
    Add(count.pieces);
  }
  void AddArgument(const ir::LocalSizes& sizes) { AddTensor(sizes.tensor); }
  void AddArgument(const ir::StoredSizes& sizes) { AddTensor(sizes.tensor); }
  void AddArgument(const ir::ImageSides& sides) {
    Add(absl::StrCat(absl::StrJoin(sides.x, ","), "|", absl::StrJoin(sides.y, ",")));
  }
  void AddArgument(const ir::LocalRegion& region) {
    AddTensor(region.tensor);
    Add(region.first_dimension);
  }
  void AddArgument(const ir::RankNumber& number) { Add(absl::StrJoin(number.by_rank, ",")); }
  void AddArgument(const ir::ZeroElement& zero) { AddTensor(zero.tensor); }
  void AddArgument(const ir::FloatNumber& number) { Add(FormatDouble(number.value)); }
  void AddArgument(const ir::DoubleNumber& number) { Add(FormatDouble(number.value)); }
  void AddArgument(ir::RunValue value) { Add(static_cast<int64_t>(value)); }
  void AddArgument(bool truth) { Add(static_cast<int64_t>(truth)); }
  void AddArgument(int64_t number) { Add(number); }
  void AddArgument(const std::string& text) {
    const ir::Attributes& attributes = call_of_->attributes;
    const bool is_key = attributes.Has(ir::attribute::kKey) && attributes.Get(ir::attribute::kKey) == text;
    Add(is_key ? "key" : text);
  }
  void AddArgument(const ir::BracedList& list) {
    for (const ir::Field& field : list.fields) {
      Add(field.name);
      Match(field.value, [this](const auto& of_kind) { AddArgument(of_kind); });
    }
    Add("list");
  }

  void AddName(const ir::Step& step, const std::string& name) {
    statement_.names.push_back({name, step.line, emission_.PassesOf(step)});
  }

  void AddTensors(const ir::Transfer& transfer) {
    AddValue(transfer.input);
    AddValue(transfer.output);
    Add(transfer.from_dimension);
    Add(transfer.to_dimension);
  }

  // What exists only within the statement, or is written as a number.
  void AddWithoutMemory(ir::ValueId value) {
    if (emission_.fusion.written_by[value] >= 0) {
      statement_.locals.push_back(value.value());
      return Add(absl::StrCat("local", places_.try_emplace({'l', value}, places_.size()).first->second));
    }
    const ir::Compute* source = emission_.SourceOf(value);
    if (source != nullptr && source->kind == ir::OpKind::kConstant) {
      return Add(absl::StrCat("constant ", FormatDouble(source->attributes.Get(ir::attribute::kValue))));
    }
    Add(absl::StrCat("value ", value.value()));
  }

  void AddAction(int, const ir::Compute& compute) {
    ir::Attributes attributes = compute.attributes;
    for (const auto& name : {ir::attribute::kKey, ir::attribute::kStores}) {
      if (!attributes.Has(name)) continue;
      AddName(*step_, attributes.Get(name));
      attributes.Erase(name);
    }
    Add(ir::OpKindName(compute.kind));
    for (const ir::KernelCall& call : ir::CallsOf(emission_.program, compute)) AddCall(compute, call);
    if (compute.kind != ir::OpKind::kSlice && compute.kind != ir::OpKind::kPad) Add(ir::AttributesText(attributes));
    for (const ir::AxisList& cut : compute.strategy.cuts) Add(absl::StrCat("cut", AxesText(cut)));
    for (const ir::ValueId input : compute.inputs) AddValue(input);
    AddValue(compute.output);
    Add(static_cast<int64_t>(emission_.fusion.inside.contains(compute.output)));
  }

  void AddAction(int index, const ir::Collective& collective) {
    Add(ir::CollectiveKindName(collective.kind));
    Add(AxesText(collective.axes));
    Add(static_cast<int64_t>(collective.reduction));
    Add(collective.root);
    for (const ir::Transfer& transfer : collective.transfers) {
      AddTensors(transfer);
    }
    if (collective.messages.has_value()) {
      const ir::Messages& messages = *collective.messages;
      for (const auto* numbers :
           {&messages.send_sizes, &messages.receive_sizes, &messages.send_ranks, &messages.receive_ranks}) {
        Add(absl::StrCat("messages ", absl::StrJoin(*numbers, ",")));
      }
    }
    Add(emission_.storage.buckets.count(index) > 0 ? BucketBytes(emission_, index) : 0);
  }

  void AddAction(int, const ir::Slice& slice) {
    Add("slice");
    AddValue(slice.input);
    AddValue(slice.output);
  }

  void AddAction(int, const ir::View& view) {
    Add("view");
    AddValue(view.input);
    AddValue(view.output);
  }

  void AddAction(int, const ir::HostCopy& copy) {
    Add("host copy");
    Add(static_cast<int64_t>(copy.direction));
    AddValue(copy.input);
    AddValue(copy.output);
  }

  // Each has a box of its own.
  void AddAction(int index, const ir::Send& send) {
    Add("send");
    Add(index);
    Add(send.to);
    AddValue(send.input);
  }

  void AddAction(int, const ir::Receive& receive) {
    Add("receive");
    Add(receive.from);
    AddValue(receive.output);
  }

  void AddAction(int index, const ir::Glance& glance) {
    Add("glance");
    Add(static_cast<int64_t>(glance.kind));
    Add(step_->line);
    AddNumber(index);
    AddValue(glance.input);
  }

  const Emission& emission_;
  Statement statement_;
  const ir::Step* step_ = nullptr;        // The current one.
  const ir::Compute* call_of_ = nullptr;  // The op of the current call.
  std::map<std::pair<char, ir::ValueId>, int64_t> places_;
};

}  // namespace

Statement StatementOf(const Emission& emission, const OrderedStage& ordered) {
  StatementBuilder builder(emission);
  builder.Add(static_cast<int64_t>(ordered.what));
  if (ordered.what != StageAction::What::kRun) builder.AddNumber(ir::StepsOf(*ordered.stage).front());
  if (ordered.what == StageAction::What::kFinish) {
    const int step = ir::StepsOf(*ordered.stage).front();
    builder.AddName(step);
    const ir::Repetition& repetition = ir::RepetitionOf(emission.program, emission.step(step));
    // Each of a layer's is a statement of its own.
    builder.Add(repetition.is_repeated() ? absl::StrCat("in layers ", repetition.place) : emission.step(step).name);
    return std::move(builder).Take();
  }
  builder.Add(static_cast<int64_t>(ordered.stage->action.index()));
  for (const int step : ir::StepsOf(*ordered.stage)) builder.AddStep(step);
  return std::move(builder).Take();
}

Statement StatementBeforeCalls(const Emission& emission, int step) {
  const ir::Compute& compute = *ir::ComputeOf(emission.step(step));
  StatementBuilder builder(emission);
  builder.Add("before calls of");
  builder.Add(ir::OpKindName(compute.kind));
  builder.AddName(step);
  builder.AddValue(compute.output);
  return std::move(builder).Take();
}

Statement StatementOfCall(const Emission& emission, int step, const ir::KernelCall& call) {
  const ir::Compute& compute = *ir::ComputeOf(emission.step(step));
  StatementBuilder builder(emission);
  builder.Add("call of");
  builder.Add(ir::OpKindName(compute.kind));
  for (const ir::CallArgument& argument : call.arguments) {
    const auto* pointer = std::get_if<ir::Pointer>(&argument);
    if (pointer == nullptr || pointer->tensor == ir::kResult) continue;
    builder.AddNameOf(compute.inputs[static_cast<size_t>(pointer->tensor)]);
    builder.AddValue(compute.inputs[static_cast<size_t>(pointer->tensor)]);
  }
  builder.AddCall(compute, call);
  builder.AddValue(compute.output);
  return std::move(builder).Take();
}

Statement StatementOfTransfer(const Emission& emission, int step, size_t transfer) {
  const auto& collective = std::get<ir::Collective>(emission.step(step).action);
  StatementBuilder builder(emission);
  builder.Add(step);  // The lists of several collectives differ.
  builder.AddTransfer(collective.transfers[transfer]);
  return std::move(builder).Take();
}

Statement StatementOfLoop(const Emission& emission, const ir::LoopBatch& batch, size_t loop,
                          const std::set<ir::ValueId>& common) {
  StatementBuilder builder(emission);
  builder.Add(batch.loops.front().steps.front());  // The lists of several batches differ.
  for (const int step : batch.loops[loop].steps) {
    builder.AddStep(step);
    // The list does not say where each loop reads these, the kernel does.
    for (const ir::ValueId value : ir::Reads(emission.step(step))) {
      if (common.count(value) > 0) builder.Add(value.value());
    }
  }
  return std::move(builder).Take();
}

Statement StatementOfBatchedCall(const Emission& emission, const ir::CallBatch& batch, size_t call) {
  StatementBuilder builder(emission);
  builder.Add(batch.calls.front().steps.front());  // The lists of several batches differ.
  for (const int step : batch.calls[call].steps) builder.AddStep(step);
  return std::move(builder).Take();
}

Statement StatementOfSources(const Emission& emission, const std::vector<int>& steps) {
  StatementBuilder builder(emission);
  for (const int step : steps) {
    builder.AddStep(step);
    builder.AddStateName(step);
  }
  return std::move(builder).Take();
}

}  // namespace cleave::codegen
