#include "frontend/evaluate/sample_mask.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

// The slice by rank of an input's samples among the operands; null where there is none.
const ir::Op* SamplesOfRank(const std::vector<Operand>& operands, const std::map<ir::OpId, Span>& inputs,
                            const ir::Graph& graph) {
  for (const Operand& operand : operands) {
    const ir::Op& op = graph.op(operand.op);
    if (op.kind != ir::OpKind::kRankSlice || op.attributes.Get(ir::attribute::kAxis) != 0) continue;
    if (inputs.count(op.inputs[0]) > 0) return &op;
  }
  return nullptr;
}

}  // namespace

void SampleMask::BeginMetric() {
  in_metric_ = true;
  masked_ = false;
}

bool SampleMask::EndMetric() {
  in_metric_ = false;
  return masked_;
}

std::optional<ir::OpId> SampleMask::MaskFor(const ir::OpDefinition& op, const std::vector<Operand>& operands,
                                            const std::map<ir::OpId, Span>& inputs, const Origin& origin,
                                            OpWriter& ops) {
  if (!in_metric_ || operands.empty() || inputs.empty()) return std::nullopt;
  size_t tensors = 0;
  bool takes_mask = false;
  for (const ::cleave::ir::Argument& formal : op.signature) {
    tensors += formal.kind == ir::ArgumentKind::kTensor ? 1 : 0;
    takes_mask |= formal.kind == ir::ArgumentKind::kOptionalTensor && formal.name == ir::kSampleWeight;
  }
  if (!takes_mask) return std::nullopt;
  if (operands.size() != tensors) {
    masked_ = true;  // The user has given a mask.
    return std::nullopt;
  }
  return MaskOf(operands, inputs, origin, ops);
}

Value SampleMask::Call(const CallSite& site, bool is_mapped, const std::map<ir::OpId, Span>& inputs,
                       const Context& context) {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{.callee = "sample_mask", .arguments = {{"x", "x: tensor", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& argument = *(*matched)[0]->value;
  const Value x = context.Evaluate(argument, frame);
  if (x.is_poison() || !CheckInMetric("sample_mask", span, context.reporter)) return Value{Poison()};
  std::optional<ir::OpId> mask;
  if (x.is_tensor() && !is_mapped && !inputs.empty()) {
    mask = MaskOf({{&argument, x.as_tensor()}}, inputs, frame.At(span), context.ops);
  }
  if (!mask.has_value()) {
    context.reporter.Report(Error(Code::kE0204, "`sample_mask` takes a tensor with the samples of the batch")
                                .At(argument.span, absl::StrCat("this is ", DescribeType(x, context.graph())))
                                .Note("its first dimension is the first dimension of the model's inputs"));
    return Value{Poison()};
  }
  ir::Shape shape(context.ops.type(x.as_tensor()).shape.size(), 1);
  shape[0] = context.ops.type(*mask).shape[0];
  if (shape.size() == 1) return Value{TensorValue{*mask}};
  return context.ops.AddOp(ir::OpKind::kReshape, {{nullptr, *mask}}, {{ir::attribute::kShape, shape}}, frame.At(span));
}

bool SampleMask::CheckInMetric(const std::string& callee, Span span, Reporter& reporter) const {
  if (in_metric_) return true;
  reporter.Report(Error(Code::kE0211, absl::StrCat("`", callee, "` outside a metric"))
                      .At(span, "has a meaning only while a metric is computed")
                      .Help("call it in the expression of a `metric`, or in a function that this calls"));
  return false;
}

Value SampleMask::HasPadding(const CallSite& site, bool is_mapped, const std::map<ir::OpId, Span>& inputs,
                             const Context& context) const {
  const auto& [call, span, frame] = site;
  static const Signature kSignature{.callee = "has_padding", .arguments = {{"x", "x: tensor", true}}};
  const auto matched = MatchArguments(kSignature, call.arguments, span, context.reporter);
  if (!matched) return Value{Poison()};
  const dsl::syntax::Expression& argument = *(*matched)[0]->value;
  const Value x = context.Evaluate(argument, frame);
  if (x.is_poison()) return x;
  if (!x.is_tensor()) {
    context.reporter.Report(Error(Code::kE0204, "`has_padding` takes a tensor")
                                .At(argument.span, absl::StrCat("this is ", DescribeType(x, context.graph()))));
    return Value{Poison()};
  }
  return Value{in_metric_ && !is_mapped && !inputs.empty() &&
               FindBatch({{&argument, x.as_tensor()}}, inputs, context.ops).has_value()};
}

std::optional<const ir::Op*> SampleMask::FindBatch(const std::vector<Operand>& operands,
                                                   const std::map<ir::OpId, Span>& inputs, const OpWriter& ops) {
  const ir::Shape& batch_shape = ops.type(inputs.begin()->first).shape;
  const ir::Shape& shape = ops.type(operands[0].op).shape;
  if (batch_shape.empty() || shape.empty()) return std::nullopt;
  const ir::Op* slice = SamplesOfRank(operands, inputs, ops.graph());
  if (shape[0] != batch_shape[0] && slice == nullptr) return std::nullopt;
  return slice;
}

std::optional<ir::OpId> SampleMask::MaskOf(const std::vector<Operand>& operands, const std::map<ir::OpId, Span>& inputs,
                                           const Origin& origin, OpWriter& ops) {
  const std::optional<const ir::Op*> found = FindBatch(operands, inputs, ops);
  if (!found.has_value()) return std::nullopt;
  const ir::Op* const slice = *found;
  const ir::Shape batch_shape = ops.type(inputs.begin()->first).shape;
  const ir::Shape shape = ops.type(operands[0].op).shape;
  const ir::Attributes own = slice == nullptr ? ir::Attributes() : slice->attributes;
  if (!mask_) {
    ops.builder().SetLine(0);
    mask_ = ops.builder().Add(ir::OpKind::kInput, {},
                              {{ir::attribute::kDType, ir::DType::kF32},
                               {ir::attribute::kShape, std::vector<int64_t>{batch_shape[0]}},
                               {ir::attribute::kData, "sample_mask"}},
                              "sample_mask");
  }
  masked_ = true;
  if (shape[0] == batch_shape[0]) return mask_;
  return ops.AddOp(ir::OpKind::kRankSlice, {{nullptr, *mask_}}, own, origin).as_tensor();
}

}  // namespace cleave::frontend
