// A thread takes one element after another, as far apart as there are threads; where everything that it reads and
// writes lies together, several neighbours at a time: one load of 16 bytes instead of four.
//
//   __global__ void H2Relu(const float* __restrict__ h2_matmul, const float* __restrict__ h2_bias,
//                          float* __restrict__ h2_relu) {
//     for (int64_t at = 4 * FirstElement(); at < k256By4 * 512; at += 4 * ElementStride()) {
//       const int64_t j = at % 512;
//       const auto h2_matmul_4 = Load<4>(h2_matmul + at);
//       const auto h2_bias_4 = Load<4>(h2_bias + j);
//       Vector<float, 4> h2_relu_4;
//   #pragma unroll
//       for (int v = 0; v < 4; ++v) {
//         h2_relu_4[v] = Maximum(h2_matmul_4[v] + h2_bias_4[v], 0.0f);
//       }
//       Store(h2_relu_4, h2_relu + at);
//     }
//   }
#include "codegen/cuda/loop.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/kernel_name.h"
#include "codegen/source/loop.h"

namespace cleave {
namespace {

// A buffer that the kernel works on, under the name that its values share.
struct Buffer {
  ValueId value;
  bool written = false;
};

// Neighbouring elements of a buffer in a thread.
struct Registers {
  std::string name;
  std::string place;  // "h2_matmul + at"
  DType dtype = DType::kF32;
  bool loaded = false;
  bool stored = false;
};

class KernelEmitter {
 public:
  KernelEmitter(Emission& emission, const FusedLoop& loop)
      : emission_(emission), loop_(loop), shape_(ShapeOf(emission, loop)), width_(Width()) {
    for (const int i : loop_.steps) {
      const Compute& compute = ComputeAt(i);
      for (const ValueId value : compute.inputs) names_.Reserve(emission_.names[value]);
      names_.Reserve(emission_.names[compute.output]);
    }
    // With one axis its index is the element's number.
    at_ = shape_.axes.size() > 1 ? names_.Unique("at") : "i";
    lane_ = names_.Unique("v");
    PassSizes();
  }

  void Run(SourceWriter& writer) {
    SourceWriter statements(width_ > 1 ? 6 : 4);
    EmitLoopBody(emission_, loop_,
                 {.read = [this](ValueId value, const LoopSpan& span) { return Read(value, span); },
                  .write = [this](ValueId value) { return Write(value); },
                  .step_number = [this](ValueId value) { return StepNumber(value); }},
                 statements);
    const std::string name = KernelName(emission_, loop_.steps.back());
    EmitKernel(name, statements);
    EmitLaunch(name, writer);
  }

 private:
  const Compute& ComputeAt(int i) const { return *ComputeOf(emission_.step(i)); }
  DType TypeOf(ValueId value) const { return emission_.value(value).type.dtype; }
  bool HasMemory(ValueId value) const { return emission_.storage.root[value].has_value(); }

  // Elements that a thread takes at once: 16 bytes of the widest type, where every operand has whole runs of so many
  // (buffers begin at multiples of 64 bytes), else one.
  int Width() const {
    if (shape_.axes.empty()) return 1;
    bool is_narrow = true;
    for (const int i : loop_.steps) {
      const Compute& compute = ComputeAt(i);
      for (size_t input = 0; input < compute.inputs.size(); ++input) {
        const LoopSpan span = *SpanOfInput(emission_.program, compute, static_cast<int>(input));
        const ValueId value = compute.inputs[input];
        if (HasMemory(value) && shape_.AxesOf(span).back()) is_narrow &= TypeOf(value) == DType::kBf16;
      }
      if (HasMemory(compute.output)) is_narrow &= TypeOf(compute.output) == DType::kBf16;
    }
    const SizeProduct& run = shape_.axes.back().size;
    if (is_narrow && run.IsMultipleOf(8)) return 8;
    return run.IsMultipleOf(4) ? 4 : 1;
  }

  // Sizes that differ between ranks stand in the program's struct: the kernel is given them.
  void PassSizes() {
    SizeProduct count(1);
    for (const LoopShape::Axis& axis : shape_.axes) count *= axis.size;
    count_ = count;
    bound_ = count.Text();
    if (count.is_constant()) return;
    bound_ = names_.Unique("count");
    sizes_.push_back({bound_, count.Text()});
    // The outermost size is in no index.
    for (size_t i = 1; i < shape_.axes.size(); ++i) {
      LoopShape::Axis& axis = shape_.axes[i];
      if (axis.size.is_constant()) continue;
      const std::string name = names_.Unique(absl::StrCat("size_", axis.index));
      sizes_.push_back({name, axis.size.Text()});
      axis.size = SizeProduct::Symbol(name);
    }
  }

  std::string Read(ValueId value, const LoopSpan& span) {
    BufferOf(value);
    const std::vector<bool> has = shape_.AxesOf(span);
    const std::string index = IndexText(span);
    if (width_ == 1 || !has.back()) return absl::StrCat(emission_.names[value], "[", index, "]");
    Registers& registers = RegistersOf(value, index);
    registers.loaded |= !registers.stored;
    return absl::StrCat(registers.name, "[", lane_, "]");
  }

  std::string Write(ValueId value) {
    BufferOf(value).written = true;
    if (width_ == 1) return absl::StrCat(emission_.names[value], "[", at_, "]");
    Registers& registers = RegistersOf(value, at_);
    registers.stored = true;
    return absl::StrCat(registers.name, "[", lane_, "]");
  }

  std::string StepNumber(ValueId value) {
    if (std::find(step_numbers_.begin(), step_numbers_.end(), value) == step_numbers_.end()) {
      step_numbers_.push_back(value);
    }
    return absl::StrCat(emission_.names[value], "[0]");
  }

  std::string IndexText(const LoopSpan& span) {
    const std::vector<bool> has = shape_.AxesOf(span);
    if (std::find(has.begin(), has.end(), false) == has.end()) return at_;
    for (size_t axis = 0; axis < has.size(); ++axis) {
      if (has[axis]) indexed_axes_.insert(axis);
    }
    return shape_.IndexText(span);
  }

  Buffer& BufferOf(ValueId value) {
    for (Buffer& buffer : buffers_) {
      if (emission_.names[buffer.value] == emission_.names[value]) return buffer;
    }
    return buffers_.emplace_back(Buffer{.value = value});
  }

  Registers& RegistersOf(ValueId value, const std::string& index) {
    const std::string place = absl::StrCat(emission_.names[value], " + ", index);
    for (Registers& registers : registers_) {
      if (registers.place == place) return registers;
    }
    return registers_.emplace_back(Registers{.name = names_.Unique(absl::StrCat(emission_.names[value], "_", width_)),
                                             .place = place,
                                             .dtype = TypeOf(value)});
  }

  void EmitKernel(const std::string& name, const SourceWriter& statements) {
    SourceWriter& writer = emission_.kernels;
    Announce(emission_, loop_.steps, "", writer);
    std::vector<std::string> parameters;
    for (const auto& [size, text] : sizes_) parameters.push_back(absl::StrCat("int64_t ", size));
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written) parameters.push_back(absl::StrCat("const ", ParameterText(buffer)));
    }
    for (const ValueId number : step_numbers_) {
      parameters.push_back(absl::StrCat("const float* __restrict__ ", emission_.names[number]));
    }
    for (const Buffer& buffer : buffers_) {
      if (buffer.written) parameters.push_back(ParameterText(buffer));
    }
    writer.Function(absl::StrCat("__global__ void ", name, "("), parameters, ") {");
    SourceWriter body(2);
    const std::string step = width_ > 1 ? absl::StrCat(width_, " * ") : "";
    body.Open(absl::StrCat("for (int64_t ", at_, " = ", step, "FirstElement(); ", at_, " < ", bound_, "; ", at_,
                           " += ", step, "ElementStride()) {"));
    EmitIndexes(body);
    if (width_ > 1) {
      EmitLoads(body);
      body.Unindented("#pragma unroll");
      body.Open(absl::StrCat("for (int ", lane_, " = 0; ", lane_, " < ", width_, "; ++", lane_, ") {"));
      body.Append(statements);
      body.Close("}");
      EmitStores(body);
    } else {
      body.Append(statements);
    }
    body.Close("}");
    writer.Append(body);
    writer.Line("}");
  }

  // "float* __restrict__ x": memory that is read and written under one name only.
  std::string ParameterText(const Buffer& buffer) const {
    const bool has_two_names = std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& other) {
      return emission_.names[other.value] != emission_.names[buffer.value] &&
             emission_.storage.SameBuffer(other.value, buffer.value) && (other.written || buffer.written);
    });
    return absl::StrCat(ElementTypeName(TypeOf(buffer.value)), has_two_names ? "* " : "* __restrict__ ",
                        emission_.names[buffer.value]);
  }

  // Row-major: the last axis changes fastest.
  void EmitIndexes(SourceWriter& writer) const {
    for (const size_t axis : indexed_axes_) {
      SizeProduct inner(1);
      for (size_t i = axis + 1; i < shape_.axes.size(); ++i) inner *= shape_.axes[i].size;
      std::string text = at_;
      if (!inner.is_one()) absl::StrAppend(&text, " / ", inner.FactorText());
      if (axis > 0) absl::StrAppend(&text, " % ", shape_.axes[axis].size.FactorText());
      writer.Assign(absl::StrCat("const int64_t ", shape_.axes[axis].index), text);
    }
  }

  void EmitLoads(SourceWriter& writer) const {
    for (const Registers& registers : registers_) {
      if (registers.loaded) {
        writer.Assign(absl::StrCat(registers.stored ? "auto " : "const auto ", registers.name),
                      absl::StrCat("Load<", width_, ">(", registers.place, ")"));
      } else {
        writer.Line(absl::StrCat("Vector<", ElementTypeName(registers.dtype), ", ", width_, "> ", registers.name, ";"));
      }
    }
  }

  void EmitStores(SourceWriter& writer) const {
    for (const Registers& registers : registers_) {
      if (registers.stored) writer.Line(absl::StrCat("Store(", registers.name, ", ", registers.place, ");"));
    }
  }

  void EmitLaunch(const std::string& name, SourceWriter& writer) {
    const std::vector<int> outputs = WritingSteps(emission_, loop_);
    Announce(emission_, loop_.steps, "", writer);
    Watch(emission_, outputs.front(), ComputeAt(outputs.front()).output, writer);
    const std::string count = width_ > 1 ? absl::StrCat(count_.Text(), " / ", width_) : count_.Text();
    std::vector<std::string> arguments = {name, absl::StrCat("ForElements(", count, ")")};
    for (const auto& [size, text] : sizes_) arguments.push_back(text);
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written) arguments.push_back(emission_.names[buffer.value]);
    }
    for (const ValueId number : step_numbers_) arguments.push_back(emission_.StepNumberPlace(number));
    for (const Buffer& buffer : buffers_) {
      if (buffer.written) arguments.push_back(emission_.names[buffer.value]);
    }
    writer.Call("Launch(", arguments, ");");
    WatchOtherResults(emission_, outputs, writer);
  }

  Emission& emission_;
  const FusedLoop& loop_;
  LoopShape shape_;
  int width_;
  Identifiers names_;  // Of the kernel.
  std::string at_;     // The element's number.
  std::string lane_;   // Its number among those that a thread takes at once.
  SizeProduct count_;
  std::string bound_;
  std::vector<std::pair<std::string, std::string>> sizes_;  // Parameter and argument.
  std::vector<Buffer> buffers_;                             // In the order in which they are named.
  std::vector<Registers> registers_;
  std::vector<ValueId> step_numbers_;
  std::set<size_t> indexed_axes_;
};

}  // namespace

void EmitKernelOfLoop(Emission& emission, const FusedLoop& loop, SourceWriter& writer) {
  KernelEmitter(emission, loop).Run(writer);
}

}  // namespace cleave
