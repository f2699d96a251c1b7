// A thread takes one element after another; the distance between them is the number of threads. Where everything that
// it reads and writes lies in one piece, it takes several neighbours at a time: one load of 16 bytes instead of four
// loads.
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

namespace cleave::codegen {
namespace {

// A buffer that the kernel uses, under the name that its values share.
struct Buffer {
  ir::ValueId value;
  bool written = false;
};

// Neighbouring elements of a buffer that a thread holds.
struct Registers {
  std::string name;
  std::string place;  // "h2_matmul + at"
  ir::DType dtype = ir::DType::kF32;
  bool loaded = false;
  bool stored = false;
};

class KernelEmitter {
 public:
  KernelEmitter(Emission& emission, const ir::FusedLoop& loop)
      : emission_(emission), loop_(loop), shape_(ShapeOf(emission, loop)), width_(Width()) {
    for (const int i : loop_.steps) {
      const ir::Compute& compute = ComputeAt(i);
      for (const ir::ValueId value : compute.inputs) names_.Reserve(emission_.names[value]);
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
                 {.read = [this](ir::ValueId value, const LoopSpan& span) { return Read(value, span); },
                  .write = [this](ir::ValueId value) { return Write(value); },
                  .step_number = [this](ir::ValueId value) { return StepNumber(value); }},
                 statements);
    const std::string name = KernelName(emission_, loop_.steps.back());
    EmitKernel(name, statements);
    EmitLaunch(name, writer);
  }

 private:
  const ir::Compute& ComputeAt(int i) const { return *ir::ComputeOf(emission_.step(i)); }
  ir::DType TypeOf(ir::ValueId value) const { return emission_.value(value).type.dtype; }
  bool HasMemory(ir::ValueId value) const { return emission_.storage.root[value].has_value(); }

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
        if (HasMemory(value) && shape_.AxesOf(span).back()) is_narrow &= TypeOf(value) == ir::DType::kBf16;
      }
      if (HasMemory(compute.output)) is_narrow &= TypeOf(compute.output) == ir::DType::kBf16;
    }
    const SizeProduct& run = shape_.axes.back().size;
    if (is_narrow && run.IsMultipleOf(8)) return 8;
    return run.IsMultipleOf(4) ? 4 : 1;
  }

  // Sizes that differ between ranks are members of the program's struct, so they are passed to the kernel.
  void PassSizes() {
    SizeProduct count(1);
    for (const LoopShape::Axis& axis : shape_.axes) count *= axis.size;
    count_ = count;
    bound_ = count.Text();
    if (count.is_constant()) return;
    bound_ = names_.Unique("count");
    sizes_.push_back({bound_, count.Text()});
    // No index uses the outermost size.
    for (size_t i = 1; i < shape_.axes.size(); ++i) {
      LoopShape::Axis& axis = shape_.axes[i];
      if (axis.size.is_constant()) continue;
      const std::string name = names_.Unique(absl::StrCat("size_", axis.index));
      sizes_.push_back({name, axis.size.Text()});
      axis.size = SizeProduct::Symbol(name);
    }
  }

  std::string Read(ir::ValueId value, const LoopSpan& span) {
    BufferOf(value);
    const std::vector<bool> has = shape_.AxesOf(span);
    const std::string index = IndexText(span);
    if (width_ == 1 || !has.back()) return absl::StrCat(emission_.names[value], "[", index, "]");
    Registers& registers = RegistersOf(value, index);
    registers.loaded |= !registers.stored;
    return absl::StrCat(registers.name, "[", lane_, "]");
  }

  std::string Write(ir::ValueId value) {
    BufferOf(value).written = true;
    if (width_ == 1) return absl::StrCat(emission_.names[value], "[", at_, "]");
    Registers& registers = RegistersOf(value, at_);
    registers.stored = true;
    return absl::StrCat(registers.name, "[", lane_, "]");
  }

  std::string StepNumber(ir::ValueId value) {
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

  Buffer& BufferOf(ir::ValueId value) {
    for (Buffer& buffer : buffers_) {
      if (emission_.names[buffer.value] == emission_.names[value]) return buffer;
    }
    return buffers_.emplace_back(Buffer{.value = value});
  }

  Registers& RegistersOf(ir::ValueId value, const std::string& index) {
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
    for (const ir::ValueId number : step_numbers_) {
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

  // "float* __restrict__ x": memory that is read and written only under this name.
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
    for (const ir::ValueId number : step_numbers_) arguments.push_back(emission_.StepNumberPlace(number));
    for (const Buffer& buffer : buffers_) {
      if (buffer.written) arguments.push_back(emission_.names[buffer.value]);
    }
    writer.Call("Launch(", arguments, ");");
    WatchOtherResults(emission_, outputs, writer);
  }

  Emission& emission_;
  const ir::FusedLoop& loop_;
  LoopShape shape_;
  int width_;
  Identifiers names_;  // Those of the kernel.
  std::string at_;     // The element's number.
  std::string lane_;   // Its number among those that a thread takes at once.
  SizeProduct count_;
  std::string bound_;
  std::vector<std::pair<std::string, std::string>> sizes_;  // Parameter and argument.
  std::vector<Buffer> buffers_;                             // In the order in which they are named.
  std::vector<Registers> registers_;
  std::vector<ir::ValueId> step_numbers_;
  std::set<size_t> indexed_axes_;
};

}  // namespace

void EmitKernelOfLoop(Emission& emission, const ir::FusedLoop& loop, SourceWriter& writer) {
  KernelEmitter(emission, loop).Run(writer);
}

}  // namespace cleave::codegen
