// A thread takes one group of neighbours after another; the distance between them is the number of threads. Where
// everything that the kernel reads and writes lies in one piece, a group is one load of 16 bytes instead of four loads;
// otherwise it is one element.
//
//   template <int kWidth, int64_t kSizeJ>
//   __global__ void BiasAddRelu(int64_t count, const float* __restrict__ x, const float* __restrict__ bias,
//                               float* __restrict__ relu) {
//     for (int64_t at = kWidth * FirstElement(); at < count; at += kWidth * ElementStride()) {
//       const int64_t j = at % kSizeJ;
//       const auto x_vector = Load<kWidth>(x + at);
//       const auto bias_vector = Load<kWidth>(bias + j);
//       Vector<float, kWidth> relu_vector;
//   #pragma unroll
//       for (int v = 0; v < kWidth; ++v) {
//         relu_vector[v] = Maximum(x_vector[v] + bias_vector[v], 0.0f);
//       }
//       Store(relu_vector, relu + at);
//     }
//   }
//
//   Launch(BiasAddRelu<4, 512>, ForElements(k256By4 * 512 / 4), k256By4 * 512, h2_matmul, h2_bias, h2_relu);
//
// Nothing in the text says which tensors of the model it is about: loops that differ only in their sizes and buffers
// are launches of one kernel. The width and the sizes by which indexes are divided are constants of each launch, as
// division by a constant is cheap; the number of elements is only compared, so it is an argument.
#include "codegen/cuda/loop.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/source/kernel_text.h"
#include "codegen/source/kernel_words.h"
#include "codegen/source/loop.h"

namespace cleave::codegen {
namespace {

// A buffer that the kernel uses, under the name that its values share.
struct Buffer {
  ir::ValueId value;
  std::string parameter;
  bool written = false;
};

// Neighbouring elements of a buffer that a thread holds.
struct Registers {
  std::string name;
  cpp::Expr place;  // "x + at"
  ir::DType dtype = ir::DType::kF32;
  bool loaded = false;
  bool stored = false;
};

// The size of an axis as the kernel names it.
struct AxisSize {
  std::string name;
  SizeProduct argument;
};

// A number that differs between steps.
struct StepNumber {
  ir::ValueId value;
  std::string parameter;
};

class KernelEmitter {
 public:
  KernelEmitter(Emission& emission, const ir::FusedLoop& loop)
      : emission_(emission),
        loop_(loop),
        words_(emission, loop),
        shape_(ShapeOf(emission, loop)),
        count_(Count()),
        width_(Width()) {
    // With one axis its index is the element's number.
    at_ = shape_.axes.size() > 1 ? names_.Unique("at") : "i";
    lane_ = names_.Unique("v");
    bound_ = names_.Unique("count");
    // No index uses the outermost size.
    for (size_t i = 1; i < shape_.axes.size(); ++i) NameSize(shape_.axes[i]);
  }

  void Run(cpp::Code& code) {
    cpp::Code statements(6);
    EmitLoopBody(emission_, loop_,
                 {.read = [this](ir::ValueId value, const LoopSpan& span) { return Read(value, span); },
                  .write = [this](ir::ValueId value) { return Write(value); },
                  .step_number = [this](ir::ValueId value) { return NumberOf(value); },
                  .local = [this](ir::ValueId value) { return names_.Unique(words_.Of(value)); },
                  .term = [this](ir::ValueId value) { return names_.Unique(absl::StrCat(words_.Of(value), "_term")); }},
                 statements);
    EmitLaunch(Kernel(BodyOf(std::move(statements))), code);
  }

 private:
  const ir::Compute& ComputeAt(int i) const { return *ir::ComputeOf(emission_.step(i)); }
  ir::DType TypeOf(ir::ValueId value) const { return emission_.value(value).type.dtype; }
  bool HasMemory(ir::ValueId value) const { return emission_.storage.root[value].has_value(); }

  SizeProduct Count() const {
    SizeProduct count(1);
    for (const LoopShape::Axis& axis : shape_.axes) count *= axis.size;
    return count;
  }

  // Whether the elements of a group lie next to each other in an operand, instead of being one and the same.
  bool HasInnermostAxis(const LoopSpan& span) const {
    const std::vector<bool> has = shape_.AxesOf(span);
    return has.empty() || has.back();
  }

  // The number of elements that a thread takes at once: 16 bytes of the widest type if the contiguous runs of every
  // operand are multiples of that number (buffers begin at multiples of 64 bytes), otherwise one.
  int Width() const {
    if (shape_.axes.empty()) return 1;
    bool is_narrow = true;
    for (const int i : loop_.steps) {
      const ir::Compute& compute = ComputeAt(i);
      for (size_t input = 0; input < compute.inputs.size(); ++input) {
        const LoopSpan span = *ir::SpanOfInput(emission_.program, compute, static_cast<int>(input));
        const ir::ValueId value = compute.inputs[input];
        if (HasMemory(value) && HasInnermostAxis(span)) is_narrow &= ir::Is16Bit(TypeOf(value));
      }
      if (HasMemory(compute.output)) is_narrow &= ir::Is16Bit(TypeOf(compute.output));
    }
    const SizeProduct& run = shape_.axes.back().size;
    if (is_narrow && run.IsMultipleOf(8)) return 8;
    return run.IsMultipleOf(4) ? 4 : 1;
  }

  // Sizes that differ between ranks are members of the program's struct, so they are arguments of the kernel.
  void NameSize(LoopShape::Axis& axis) {
    const std::string name = axis.size.is_constant() ? absl::StrCat("kSize", absl::AsciiStrToUpper(axis.index))
                                                     : names_.Unique(absl::StrCat("size_", axis.index));
    axis_sizes_.push_back({name, axis.size});
    axis.size = SizeProduct::Symbol(cpp::Name(name));
  }

  // Those that indexes are made of.
  std::vector<AxisSize> UsedSizes(bool constant) const {
    std::vector<AxisSize> used;
    if (indexed_axes_.empty()) return used;
    for (size_t i = 0; i < axis_sizes_.size(); ++i) {
      if (i + 1 >= *indexed_axes_.begin() && axis_sizes_[i].argument.is_constant() == constant) {
        used.push_back(axis_sizes_[i]);
      }
    }
    return used;
  }

  cpp::Expr Read(ir::ValueId value, const LoopSpan& span) {
    const std::string parameter = BufferOf(value).parameter;
    const cpp::Expr index = Index(span);
    if (!HasInnermostAxis(span)) return cpp::Name(parameter).At(index);
    Registers& registers = RegistersOf(value, parameter, index);
    registers.loaded |= !registers.stored;
    return cpp::Name(registers.name).At(cpp::Name(lane_));
  }

  cpp::Expr Write(ir::ValueId value) {
    Buffer& buffer = BufferOf(value);
    buffer.written = true;
    Registers& registers = RegistersOf(value, buffer.parameter, cpp::Name(at_));
    registers.stored = true;
    return cpp::Name(registers.name).At(cpp::Name(lane_));
  }

  cpp::Expr NumberOf(ir::ValueId value) {
    auto found = std::find_if(step_numbers_.begin(), step_numbers_.end(),
                              [&](const StepNumber& number) { return number.value == value; });
    if (found == step_numbers_.end()) {
      found = step_numbers_.insert(found, {value, names_.Unique(emission_.names[value].Text())});
    }
    return cpp::Name(found->parameter).At(0);
  }

  cpp::Expr Index(const LoopSpan& span) {
    const std::vector<bool> has = shape_.AxesOf(span);
    if (std::find(has.begin(), has.end(), false) == has.end()) return cpp::Name(at_);
    for (size_t axis = 0; axis < has.size(); ++axis) {
      if (has[axis]) indexed_axes_.insert(axis);
    }
    return shape_.Index(span);
  }

  Buffer& BufferOf(ir::ValueId value) {
    for (Buffer& buffer : buffers_) {
      if (emission_.names[buffer.value] == emission_.names[value]) return buffer;
    }
    return buffers_.emplace_back(Buffer{.value = value, .parameter = names_.Unique(words_.Of(value))});
  }

  Registers& RegistersOf(ir::ValueId value, const std::string& parameter, const cpp::Expr& index) {
    const cpp::Expr place = cpp::Offset(cpp::Name(parameter), index);
    for (Registers& registers : registers_) {
      if (registers.place == place) return registers;
    }
    return registers_.emplace_back(
        Registers{.name = names_.Unique(absl::StrCat(parameter, "_vector")), .place = place, .dtype = TypeOf(value)});
  }

  // What is between the braces of the kernel.
  cpp::Code BodyOf(cpp::Code statements) const {
    const cpp::Expr width = cpp::Name("kWidth"), at = cpp::Name(at_), lane = cpp::Name(lane_);
    cpp::Code body;
    cpp::Code& group =
        body.Open(cpp::For{at_, width * cpp::Call("FirstElement", {}), cpp::Infix(at, "<", cpp::Name(bound_)),
                           cpp::Infix(at, "+=", width * cpp::Call("ElementStride", {}))});
    EmitIndexes(group);
    EmitLoads(group);
    group.Directive("#pragma unroll");
    const cpp::For lanes{lane_, 0, cpp::Infix(lane, "<", width), cpp::Prefix("++", lane), cpp::Name("int")};
    group.Open(lanes).Append(std::move(statements));
    for (const Registers& registers : registers_) {
      if (registers.stored) group.Do(cpp::Call("Store", {cpp::Name(registers.name), registers.place}));
    }
    return body;
  }

  // Row-major: the last axis changes fastest.
  void EmitIndexes(cpp::Code& code) const {
    for (const size_t axis : indexed_axes_) {
      SizeProduct inner(1);
      for (size_t i = axis + 1; i < shape_.axes.size(); ++i) inner *= shape_.axes[i].size;
      cpp::Expr index = cpp::Name(at_);
      if (!inner.is_one()) index = index / inner.Value();
      if (axis > 0) index = index % shape_.axes[axis].size.Value();
      code.Declare({cpp::Name("const int64_t"), shape_.axes[axis].index}, index);
    }
  }

  void EmitLoads(cpp::Code& code) const {
    const cpp::Expr width = cpp::Name("kWidth");
    for (const Registers& registers : registers_) {
      if (registers.loaded) {
        code.Declare({cpp::Name(registers.stored ? "auto" : "const auto"), registers.name},
                     cpp::Call(cpp::Template("Load", {width}), {registers.place}));
      } else {
        const cpp::Expr element = cpp::Name(ElementTypeName(registers.dtype));
        code.Member({cpp::Template("Vector", {element, width}), registers.name});
      }
    }
  }

  // The name of the kernel with this body; it is written unless the program has it already.
  std::string Kernel(cpp::Code body) {
    const cpp::Expr number = cpp::Name("int64_t");
    cpp::Function head = {.result = cpp::Name("__global__ void"), .constants = {{cpp::Name("int"), "kWidth"}}};
    for (const AxisSize& size : UsedSizes(true)) head.constants.push_back({number, size.name});
    head.parameters.push_back({number, bound_});
    for (const AxisSize& size : UsedSizes(false)) head.parameters.push_back({number, size.name});
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written) head.parameters.push_back({TypeOfParameter(buffer), buffer.parameter});
    }
    for (const StepNumber& step : step_numbers_) {
      head.parameters.push_back({cpp::RestrictPointer(cpp::Name("const float")), step.parameter});
    }
    for (const Buffer& buffer : buffers_) {
      if (buffer.written) head.parameters.push_back({TypeOfParameter(buffer), buffer.parameter});
    }
    return WriteKernel(
        emission_,
        {.wish = absl::StrCat(words_.Kernel(), OverText()), .head = std::move(head), .body = std::move(body)});
  }

  // "OverX": the kernel writes over what it reads as `x`, under another name.
  std::string OverText() const {
    std::string text;
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written && HasTwoNames(buffer)) absl::StrAppend(&text, "Over", TypeName(buffer.parameter));
    }
    return text;
  }

  bool HasTwoNames(const Buffer& buffer) const {
    return std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& other) {
      return other.parameter != buffer.parameter && emission_.storage.SameBuffer(other.value, buffer.value) &&
             (other.written || buffer.written);
    });
  }

  // "float* __restrict__": memory that is read and written only under this name.
  cpp::Expr TypeOfParameter(const Buffer& buffer) const {
    const cpp::Expr element = emission_.ElementTypeOf(buffer.value);
    const cpp::Expr type = buffer.written ? element : cpp::Const(element);
    return HasTwoNames(buffer) ? cpp::Pointer(type) : cpp::RestrictPointer(type);
  }

  void EmitLaunch(const std::string& name, cpp::Code& code) {
    const std::vector<int> outputs = WritingSteps(emission_, loop_.steps);
    Announce(emission_, loop_.steps, InPlaceText(emission_, loop_.steps), code);
    Watch(emission_, outputs.front(), ComputeAt(outputs.front()).output, code);
    std::vector<cpp::Expr> constants = {width_};
    for (const AxisSize& size : UsedSizes(true)) constants.push_back(size.argument.Value());
    const cpp::Expr count = count_.Value();
    const cpp::Expr groups = width_ > 1 ? count / width_ : count;
    std::vector<cpp::Expr> arguments = {cpp::Template(name, std::move(constants)), cpp::Call("ForElements", {groups}),
                                        count};
    for (const AxisSize& size : UsedSizes(false)) arguments.push_back(size.argument.Value());
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written) arguments.push_back(emission_.names[buffer.value]);
    }
    for (const StepNumber& number : step_numbers_) {
      arguments.push_back(cpp::Name(emission_.number_places.at(number.value)));
    }
    for (const Buffer& buffer : buffers_) {
      if (buffer.written) arguments.push_back(emission_.names[buffer.value]);
    }
    code.Do(cpp::Call("Launch", std::move(arguments)));
    WatchOtherResults(emission_, outputs, code);
  }

  Emission& emission_;
  const ir::FusedLoop& loop_;
  KernelWords words_;
  LoopShape shape_;    // The sizes of its axes are names of the kernel, except for the outermost.
  SizeProduct count_;  // Of the elements.
  int width_;
  Identifiers names_;                 // Those of the kernel.
  std::string at_;                    // The number of the first element of a group.
  std::string lane_;                  // An element's number in its group.
  std::string bound_;                 // The number of elements.
  std::vector<AxisSize> axis_sizes_;  // From the second axis on.
  std::vector<Buffer> buffers_;       // In the order in which they are named.
  std::vector<Registers> registers_;
  std::vector<StepNumber> step_numbers_;
  std::set<size_t> indexed_axes_;
};

}  // namespace

void EmitKernelOfLoop(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code) {
  KernelEmitter(emission, loop).Run(code);
}

}  // namespace cleave::codegen
