// CallWriter writes one call: it looks up what each argument of the call, as the op's definition states it, is in this
// program. The functions behind it decide what stands before the call, which calls are written, and where a call does
// more than its op: a sum over micro-batches, companions.
#include "codegen/source/kernels.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "codegen/source/loop.h"
#include "codegen/source/parts.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::codegen {
namespace {

// Writes the calls of one op.
class CallWriter {
 public:
  // `output`: the name of the value that the calls compute. `joint`: what they compute with companions, if they do.
  CallWriter(Emission& emission, const ir::Step& step, cpp::Expr output, const ir::JointCall* joint = nullptr)
      : emission_(emission), compute_(*ir::ComputeOf(step)), output_(std::move(output)), joint_(joint) {}

  // `is_first`, if there is one, says when the result holds nothing yet, to which the call adds.
  void Write(const ir::KernelCall& call, const std::optional<cpp::Expr>& is_first, cpp::Code& code) {
    const SizeProduct repetitions = Product(call.repetitions);
    repeated_ = !repetitions.is_one();
    std::vector<cpp::Expr> arguments = Arguments(call);
    if (is_first.has_value()) arguments.insert(arguments.begin(), *is_first);
    // `::` is needed because a value of the program may have the name of a function of the model.
    const std::string& function = is_first.has_value() ? call.accumulating : call.function;
    const cpp::Expr statement = cpp::Call(absl::StrCat(call.header.empty() ? "" : "::", function), arguments);
    if (!repeated_) return code.Do(statement);
    code.Open(cpp::Counting("i", repetitions.Value())).Do(statement);
  }

  std::vector<cpp::Expr> Arguments(const ir::KernelCall& call) {
    std::vector<cpp::Expr> arguments;
    for (const ir::CallArgument& argument : call.arguments) {
      if (std::optional<cpp::Expr> value = ExprOf(argument)) arguments.push_back(*std::move(value));
    }
    return arguments;
  }

 private:
  ir::ValueId Value(int tensor) const {
    if (joint_ != nullptr) return *ir::ValueOf(emission_.program, *joint_, tensor);
    return tensor == ir::kResult ? compute_.output : compute_.inputs[static_cast<size_t>(tensor)];
  }
  cpp::Expr Name(int tensor) const { return tensor == ir::kResult ? output_ : PlaceOf(emission_, Value(tensor)); }
  SizeProduct Size(const ir::LocalDimension& of) { return emission_.sizes.Size(Value(of.tensor), of.dimension); }
  cpp::Expr Begin(const ir::LocalDimension& of) { return emission_.sizes.Begin(Value(of.tensor), of.dimension); }

  SizeProduct Product(const ir::LocalSize& size) {
    SizeProduct product(1);
    for (const ir::LocalDimension& dimension : size.dimensions) product *= Size(dimension);
    return product;
  }

  const ir::AxisList& AxesOf(int factor) const { return compute_.strategy.cuts[static_cast<size_t>(factor)]; }

  // Nullopt for an argument that has its default.
  std::optional<cpp::Expr> ExprOf(const ir::CallArgument& argument) {
    return Match(argument, [this](const auto& of_kind) -> std::optional<cpp::Expr> { return Of(of_kind); });
  }

  // What only companions read or give may not be there, and what nothing reads has no memory.
  bool IsMissing(int tensor) const {
    if (joint_ == nullptr) return tensor < ir::kResult || tensor >= static_cast<int>(compute_.inputs.size());
    const std::optional<ir::ValueId> value = ir::ValueOf(emission_.program, *joint_, tensor);
    return !value.has_value() || emission_.fusion.inside.contains(*value);
  }

  cpp::Expr Of(const ir::NoTensor&) { return cpp::Name("nullptr"); }
  cpp::Expr Of(const ir::Pointer& pointer) {
    if (IsMissing(pointer.tensor)) return Of(ir::NoTensor());
    cpp::Expr name = Name(pointer.tensor);
    if (!repeated_ || !pointer.step.has_value()) return name;
    return name + cpp::Name("i") * Product(*pointer.step).Value();
  }
  cpp::Expr Of(const ir::FirstPointer& first) {
    for (const int tensor : first.tensors) {
      if (!IsMissing(tensor)) return Name(tensor);
    }
    return Of(ir::NoTensor());
  }
  cpp::Expr Of(const ir::ResultWithGradients& result) {
    const cpp::Expr name = Name(ir::ResultOf(result.companion));
    const int step = *joint_->companions[static_cast<size_t>(result.companion)];
    // Without gradients the pass of the companion does not follow.
    const bool is_early = emission_.step(step).phase != emission_.step(joint_->op).phase;
    return is_early ? cpp::Choice(cpp::Name("with_gradients"), name, Of(ir::NoTensor())) : name;
  }
  cpp::Expr Of(const ir::ScalarInput& scalar) {
    const ir::ValueId value = Value(scalar.input);
    if (emission_.storage.root[value].has_value()) return Name(scalar.input);
    const ir::Compute* source = emission_.SourceOf(value);
    CLEAVE_CHECK(source != nullptr && source->kind == ir::OpKind::kConstant)
        << "`" << Name(scalar.input).Text() << "` has no memory";
    return cpp::Float(source->attributes.Get(ir::attribute::kValue));
  }
  cpp::Expr Of(const ir::LocalSize& size) { return Product(size).Value(); }
  cpp::Expr Of(const ir::FirstIndex& index) { return Begin(index.of); }
  cpp::Expr Of(const ir::LocalRange& range) {
    return emission_.sizes.Range(Value(range.of.tensor), range.of.dimension);
  }
  cpp::Expr Of(const ir::IndexDifference& difference) {
    return Difference(Begin(difference.from), emission_.PlainNumberExpr(difference.number), Begin(difference.to));
  }
  cpp::Expr Of(const ir::FirstPiece& first) { return emission_.sizes.PieceBegin(first.pieces, AxesOf(first.factor)); }
  cpp::Expr Of(const ir::PieceCount& count) {
    return emission_.sizes.PieceSize(count.pieces, AxesOf(count.factor)).Value();
  }
  cpp::Expr Of(const ir::LocalSizes& shape) { return emission_.sizes.ShapeList(Value(shape.tensor)); }
  cpp::Expr Of(const ir::StoredSizes& shape) {
    std::vector<cpp::Expr> sizes;
    for (const StoredDimension& stored : StoredDimensions(emission_, Value(shape.tensor))) {
      sizes.push_back(stored.size.Value());
    }
    return cpp::Braces(std::move(sizes));
  }
  std::optional<cpp::Expr> Of(const ir::ImageSides& sides) {
    std::vector<cpp::Field> fields;
    const auto add = [&](const char* name, ir::ValueId image) {
      if (!emission_.fusion.in_blocks.contains(image)) return;
      const ir::Shape local = ir::LargestLocalShape(emission_.program, image);
      fields.push_back({name, ir::ChannelsOfBlock(emission_.fusion.images, local)});
    };
    add("x", Value(sides.x.front()));
    add("y", Value(sides.y.front()));
    return fields.empty() ? std::nullopt : std::make_optional(cpp::Fields(std::move(fields)));
  }
  cpp::Expr Of(const ir::LocalRegion& region) {
    return emission_.sizes.Region(Value(region.tensor), region.first_dimension);
  }
  cpp::Expr Of(const ir::RankNumber& number) {
    return emission_.rank_numbers.Of(number.by_rank, absl::StrCat(output_.Text(), "_", number.name));
  }
  cpp::Expr Of(const ir::ZeroElement& zero) {
    return ElementLiteral(emission_.value(Value(zero.tensor)).type.dtype, 0);
  }
  cpp::Expr Of(const ir::FloatNumber& number) { return cpp::Float(number.value); }
  cpp::Expr Of(const ir::DoubleNumber& number) { return cpp::Double(number.value); }
  cpp::Expr Of(ir::RunValue value) { return cpp::Name(value == ir::RunValue::kSeed ? "seed" : "step"); }
  cpp::Expr Of(bool truth) { return cpp::Bool(truth); }
  cpp::Expr Of(int64_t number) { return number; }
  cpp::Expr Of(const std::string& text) { return NameCharacters(emission_.layer, text); }
  cpp::Expr Of(const ir::BracedList& list) {
    std::vector<cpp::Field> fields;
    for (const ir::Field& field : list.fields) {
      std::optional<cpp::Expr> value = ExprOf(field.value);
      if (!value.has_value() || (field.default_number.has_value() && value->number() == *field.default_number))
        continue;
      fields.push_back({field.name, *std::move(value)});
    }
    return cpp::Fields(std::move(fields));
  }

  Emission& emission_;
  const ir::Compute& compute_;
  const cpp::Expr output_;
  const ir::JointCall* const joint_;
  bool repeated_ = false;
};

void WriteCalls(Emission& emission, const ir::Step& step, const cpp::Expr& output,
                const std::optional<cpp::Expr>& is_first, cpp::Code& code) {
  CallWriter calls(emission, step, output);
  for (const ir::KernelCall& call : ir::CallsOf(emission.program, *ir::ComputeOf(step)))
    calls.Write(call, is_first, code);
}

}  // namespace

bool HasKernel(const ir::OpDefinition& op) { return op.calls != nullptr || op.is_alias; }

void EmitKernel(Emission& emission, int step, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  const ir::ValueId output = ir::ComputeOf(info)->output;
  EmitBeforeCalls(emission, step, code);
  WriteCalls(emission, info, PlaceOf(emission, output), std::nullopt, code);
}

std::vector<ir::KernelCall> SeparateCalls(const Emission& emission, const ir::FusedStage& stage) {
  constexpr size_t kFew = 8;
  const auto* single = std::get_if<ir::SingleStep>(&stage.action);
  const ir::Compute* compute = single == nullptr ? nullptr : ir::ComputeOf(emission.step(single->step));
  if (compute == nullptr || compute->inputs.size() <= kFew) return {};
  if (emission.fusion.DoesNothing(emission.step(single->step))) return {};
  std::vector<ir::KernelCall> calls = ir::CallsOf(emission.program, *compute);
  return calls.size() > kFew ? calls : std::vector<ir::KernelCall>();
}

void EmitBeforeCalls(Emission& emission, int step, cpp::Code& code) {
  const bool overwrites = ir::DefinitionOf(ir::ComputeOf(emission.step(step))->kind).overwrites.has_value();
  Announce(emission, {step}, overwrites ? InPlaceText(emission, {step}) : "", code);
  Watch(emission, step, ir::ComputeOf(emission.step(step))->output, code);
}

void EmitCall(Emission& emission, int step, const ir::KernelCall& call, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  CallWriter(emission, info, PlaceOf(emission, ir::ComputeOf(info)->output)).Write(call, std::nullopt, code);
}

void EmitJointCall(Emission& emission, const ir::JointCall& joint, cpp::Code& code) {
  const ir::Compute& op = *ir::ComputeOf(emission.step(joint.op));
  const std::vector<ir::KernelCall> calls = ir::CallsOf(emission.program, op, joint.companions);
  CLEAVE_CHECK(calls.size() == 1) << "`" << emission.step(joint.op).name << "` has companions and more than one call";
  const std::vector<int> writing = WritingSteps(emission, joint.steps);
  Announce(emission, joint.steps, InPlaceText(emission, joint.steps), code);
  Watch(emission, writing.front(), ir::ComputeOf(emission.step(writing.front()))->output, code);
  CallWriter(emission, emission.step(joint.op), PlaceOf(emission, op.output), &joint)
      .Write(calls.front(), std::nullopt, code);
  WatchOtherResults(emission, writing, code);
}

void EmitCallBatch(Emission& emission, const ir::CallBatch& batch, cpp::Code& code) {
  std::vector<int> steps;
  for (const ir::JointCall& joint : batch.calls) steps.insert(steps.end(), joint.steps.begin(), joint.steps.end());
  const std::vector<int> writing = WritingSteps(emission, steps);
  Announce(emission, steps, absl::StrCat(batch.calls.size(), " calls at once"), code);
  Watch(emission, writing.front(), ir::ComputeOf(emission.step(writing.front()))->output, code);
  const auto call_of = [&](const ir::JointCall& joint) {
    return ir::CallsOf(emission.program, *ir::ComputeOf(emission.step(joint.op)), joint.companions).front();
  };
  const ir::CallList list = *ir::CallListOf(call_of(batch.calls.front()).function);
  const cpp::Variable rows{cpp::Template("std::vector", {cpp::Name(list.row)}), emission.identifiers.Local("calls")};
  code.Member(rows);
  const auto emit_row = [&](size_t number, cpp::Code& entry) {
    const ir::JointCall& joint = batch.calls[number];
    const ir::Step& op = emission.step(joint.op);
    CallWriter writer(emission, op, PlaceOf(emission, ir::ComputeOf(op)->output), &joint);
    entry.Do(cpp::Name(rows.name).Call("push_back", {cpp::Braces(writer.Arguments(call_of(joint)))}));
  };
  const auto in_loops = emission.rows_in_loops.find(steps.front());
  if (emission.layer == nullptr && in_loops != emission.rows_in_loops.end()) {
    in_loops->second({rows}, emit_row, code);
  } else {
    for (size_t number = 0; number < batch.calls.size(); ++number) emit_row(number, code);
  }
  code.Do(cpp::Call(list.function, {cpp::Name(rows.name)}));
  WatchOtherResults(emission, writing, code);
}

void EmitAccumulatedProduct(Emission& emission, const ir::AccumulatedProduct& product, cpp::Code& code) {
  const ir::ValueId sum = ir::Writes(emission.step(product.sum)).front();
  const ir::Compute* const add = ir::ComputeOf(emission.step(product.sum));
  Announce(emission, {product.product, product.sum}, "", code);
  Watch(emission, product.sum, sum, code);
  if (add != nullptr) {
    const ir::ValueId part = ir::ComputeOf(emission.step(product.product))->output;
    const ir::ValueId other = add->inputs[add->inputs[0] == part ? 1 : 0];
    if (!emission.storage.SameBuffer(other, sum))
      code.Do(cpp::Call("Copy", {emission.names[other], emission.sizes.Count(sum).Value(), emission.names[sum]}));
  }
  WriteCalls(emission, emission.step(product.product), emission.names[sum],
             add != nullptr ? cpp::Bool(false) : IsFirstMicroBatch(emission), code);
}

std::set<std::string> KernelHeaders(const ir::Program& program) {
  std::set<std::string> headers;
  if (program.time.has_value()) headers.insert("runtime/kernels/reduce.h");  // Accumulate.
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr) continue;
    for (const ir::KernelCall& call : ir::CallsOf(program, *compute)) {
      if (!call.header.empty()) headers.insert(call.header);
    }
  }
  return headers;
}

}  // namespace cleave::codegen
