#include "codegen/source/kernels.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "base/text/text.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::codegen {
namespace {

// "a + layer.begin - b", without what is 0.
std::string DifferenceText(const std::string& a, const std::string& number, const std::string& b) {
  std::string text = a == "0" ? number : absl::StrCat(a, " + ", number);
  return b == "0" ? text : absl::StrCat(text, " - ", b);
}

// "a + number - b", with numbers put together.
std::string DifferenceText(const std::string& a, int64_t number, const std::string& b) {
  int64_t value = 0;
  const bool a_is_number = absl::SimpleAtoi(a, &value);
  number += a_is_number ? value : 0;
  const bool b_is_number = absl::SimpleAtoi(b, &value);
  number -= b_is_number ? value : 0;
  if (a_is_number && b_is_number) return absl::StrCat(number);
  std::string text = a_is_number ? "" : a;
  if (text.empty()) {
    text = absl::StrCat(number);
  } else if (number != 0) {
    absl::StrAppend(&text, number > 0 ? " + " : " - ", std::abs(number));
  }
  return b_is_number ? text : absl::StrCat(text, " - ", b);
}

// Writes the calls of one op.
class CallWriter {
 public:
  // `output`: the name of the value that the calls compute.
  CallWriter(Emission& emission, const ir::Step& step, const std::string& output)
      : emission_(emission), compute_(*ir::ComputeOf(step)), output_(output) {}

  // `bias`, if there is one, is the last argument. `is_first`, if it is not empty, says when the result holds nothing
  // yet, to which the call adds.
  void Write(const ir::KernelCall& call, const std::string& bias, const std::string& is_first, SourceWriter& writer) {
    const SizeProduct repetitions = Product(call.repetitions);
    repeated_ = !repetitions.is_one();
    if (repeated_) writer.Open(absl::StrCat("for (int64_t i = 0; i < ", repetitions.Text(), "; ++i) {"));
    std::vector<std::string> arguments;
    if (!is_first.empty()) arguments.push_back(is_first);
    for (const ir::CallArgument& argument : call.arguments) {
      if (std::string text = Text(argument); !text.empty()) arguments.push_back(std::move(text));
    }
    if (!bias.empty()) arguments.push_back(bias);
    // `::` is needed because a value of the program may have the name of a function of the model.
    const std::string& function = is_first.empty() ? call.function : call.accumulating;
    writer.Call(absl::StrCat(call.header.empty() ? "" : "::", function, "("), arguments, ");");
    if (repeated_) writer.Close("}");
  }

 private:
  ir::ValueId Value(int tensor) const {
    return tensor == ir::kResult ? compute_.output : compute_.inputs[static_cast<size_t>(tensor)];
  }
  const std::string& Name(int tensor) const { return tensor == ir::kResult ? output_ : emission_.names[Value(tensor)]; }
  SizeProduct Size(const ir::LocalDimension& of) { return emission_.sizes.Size(Value(of.tensor), of.dimension); }
  std::string Begin(const ir::LocalDimension& of) { return emission_.sizes.Begin(Value(of.tensor), of.dimension); }

  SizeProduct Product(const ir::LocalSize& size) {
    SizeProduct product(1);
    for (const ir::LocalDimension& dimension : size.dimensions) product *= Size(dimension);
    return product;
  }

  const ir::AxisList& AxesOf(int factor) const { return compute_.strategy.cuts[static_cast<size_t>(factor)]; }

  std::string Text(const ir::CallArgument& argument) {
    return Match(argument, [this](const auto& of_kind) { return TextOf(of_kind); });
  }

  std::string TextOf(const ir::Pointer& pointer) {
    const std::string& name = Name(pointer.tensor);
    if (!repeated_ || !pointer.step.has_value()) return name;
    return absl::StrCat(name, " + i * ", Product(*pointer.step).FactorText());
  }
  std::string TextOf(const ir::ScalarInput& scalar) {
    const ir::ValueId value = Value(scalar.input);
    if (emission_.storage.root[value].has_value()) return Name(scalar.input);
    const ir::Compute* source = emission_.SourceOf(value);
    CLEAVE_CHECK(source != nullptr && source->kind == ir::OpKind::kConstant)
        << "`" << Name(scalar.input) << "` has no memory";
    return FloatLiteral(source->attributes.Get(ir::attribute::kValue));
  }
  std::string TextOf(const ir::LocalSize& size) { return Product(size).Text(); }
  std::string TextOf(const ir::FirstIndex& index) { return Begin(index.of); }
  std::string TextOf(const ir::LocalRange& range) {
    return emission_.sizes.RangeText(Value(range.of.tensor), range.of.dimension);
  }
  std::string TextOf(const ir::IndexDifference& difference) {
    const std::string from = Begin(difference.from);
    const std::string number = emission_.PlainNumberText(difference.number);
    if (number != absl::StrCat(difference.number)) return DifferenceText(from, number, Begin(difference.to));
    return DifferenceText(from, difference.number, Begin(difference.to));
  }
  std::string TextOf(const ir::FirstPiece& first) {
    return emission_.sizes.PieceBegin(first.pieces, AxesOf(first.factor));
  }
  std::string TextOf(const ir::PieceCount& count) {
    return emission_.sizes.PieceSize(count.pieces, AxesOf(count.factor)).Text();
  }
  std::string TextOf(const ir::LocalSizes& shape) { return emission_.sizes.ShapeList(Value(shape.tensor)); }
  std::string TextOf(const ir::StoredSizes& shape) {
    std::vector<std::string> texts;
    for (const StoredDimension& stored : StoredDimensions(emission_, Value(shape.tensor))) {
      texts.push_back(stored.size.Text());
    }
    return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
  }
  std::string TextOf(const ir::ImageSides& sides) {
    std::vector<std::string> texts;
    if (emission_.fusion.in_blocks.contains(Value(sides.x.front()))) texts.push_back(".x = true");
    if (emission_.fusion.in_blocks.contains(Value(sides.y.front()))) texts.push_back(".y = true");
    return texts.empty() ? "" : absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
  }
  std::string TextOf(const ir::LocalRegion& region) {
    return emission_.sizes.RegionText(Value(region.tensor), region.first_dimension);
  }
  std::string TextOf(const ir::RankNumber& number) {
    return emission_.rank_numbers.Text(number.by_rank, absl::StrCat(output_, "_", number.name));
  }
  std::string TextOf(const ir::ZeroElement& zero) {
    return ElementLiteral(emission_.value(Value(zero.tensor)).type.dtype, 0);
  }
  std::string TextOf(const ir::FloatNumber& number) { return FloatLiteral(number.value); }
  std::string TextOf(const ir::DoubleNumber& number) { return FormatDouble(number.value); }
  std::string TextOf(ir::RunValue value) {
    switch (value) {
      case ir::RunValue::kSeed:
        return "seed";
      case ir::RunValue::kStep:
        return "step";
    }
    CLEAVE_UNREACHABLE();
  }
  std::string TextOf(bool truth) { return truth ? "true" : "false"; }
  std::string TextOf(int64_t number) { return absl::StrCat(number); }
  std::string TextOf(const std::string& text) { return NameCharactersText(emission_.layer, text); }
  std::string TextOf(const ir::BracedList& list) {
    std::vector<std::string> texts;
    for (const ir::Field& field : list.fields) {
      const std::string text = Text(field.value);
      if (field.default_number.has_value() && text == absl::StrCat(*field.default_number)) continue;
      texts.push_back(field.name.empty() ? text : absl::StrCat(".", field.name, " = ", text));
    }
    return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
  }

  Emission& emission_;
  const ir::Compute& compute_;
  const std::string& output_;
  bool repeated_ = false;
};

void WriteCalls(Emission& emission, const ir::Step& step, const std::string& output, const std::string& bias,
                const std::string& is_first, SourceWriter& writer) {
  CallWriter calls(emission, step, output);
  for (const ir::KernelCall& call : ir::CallsOf(emission.program, *ir::ComputeOf(step)))
    calls.Write(call, bias, is_first, writer);
}

}  // namespace

bool HasKernel(const ir::OpDefinition& op) { return op.calls != nullptr || op.is_alias; }

void EmitKernel(Emission& emission, int step, SourceWriter& writer) {
  const ir::Step& info = emission.step(step);
  const ir::ValueId output = ir::ComputeOf(info)->output;
  if (ir::IsAlias(info)) {
    Announce(emission, {step}, absl::StrCat(emission.names[output], " as ", emission.value(output).type.ToString()),
             writer);
    return;
  }
  EmitBeforeCalls(emission, step, writer);
  WriteCalls(emission, info, emission.names[output], "", "", writer);
}

std::vector<ir::KernelCall> SeparateCalls(const Emission& emission, const ir::FusedStage& stage) {
  constexpr size_t kFew = 8;
  const auto* single = std::get_if<ir::SingleStep>(&stage.action);
  const ir::Compute* compute = single == nullptr ? nullptr : ir::ComputeOf(emission.step(single->step));
  if (compute == nullptr || compute->inputs.size() <= kFew || ir::IsAlias(emission.step(single->step))) return {};
  std::vector<ir::KernelCall> calls = ir::CallsOf(emission.program, *compute);
  return calls.size() > kFew ? calls : std::vector<ir::KernelCall>();
}

void EmitBeforeCalls(Emission& emission, int step, SourceWriter& writer) {
  Announce(emission, {step}, "", writer);
  Watch(emission, step, ir::ComputeOf(emission.step(step))->output, writer);
}

void EmitCall(Emission& emission, int step, const ir::KernelCall& call, SourceWriter& writer) {
  const ir::Step& info = emission.step(step);
  CallWriter(emission, info, emission.names[ir::ComputeOf(info)->output]).Write(call, "", "", writer);
}

void EmitMatMulWithBias(Emission& emission, const ir::MatMulWithBias& product, SourceWriter& writer) {
  const ir::Compute& sum = *ir::ComputeOf(emission.step(product.bias_add));
  Announce(emission, {product.matmul, product.bias_add}, "", writer);
  Watch(emission, product.bias_add, sum.output, writer);
  WriteCalls(emission, emission.step(product.matmul), emission.names[sum.output], emission.names[sum.inputs[1]], "",
             writer);
}

void EmitAccumulatedProduct(Emission& emission, const ir::AccumulatedProduct& product, SourceWriter& writer) {
  const ir::ValueId sum = ir::Writes(emission.step(product.sum)).front();
  Announce(emission, {product.product, product.sum}, "", writer);
  Watch(emission, product.sum, sum, writer);
  WriteCalls(emission, emission.step(product.product), emission.names[sum], "", IsFirstMicroBatch(emission), writer);
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
