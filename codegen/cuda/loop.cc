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
// A batch of loops is one kernel, which finds the tensors of a block's loop in a table (loop_batch.cuh). There a group
// that is not whole reaches into the gap behind its tensor, so that loops of all sizes have one width.
//
//   struct AdamwUpdateLoop {
//     int64_t count;
//     const float* gradient;
//     …
//   };
//   std::vector<AdamwUpdateLoop> adamw_update_loops;
//   adamw_update_loops.push_back({2048, h1_weight_grad, …});
//   …
//   LaunchBatch(AdamwUpdate<4>, adamw_update_loops, learning_rate_place);
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
#include "ir/program/fuse/loop_batches.h"

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

// The kernel of a loop, or of one of a batch.
class KernelEmitter {
 public:
  // `common`: of a batch, the tensors that all of its loops read; the others are in the table.
  KernelEmitter(Emission& emission, const ir::FusedLoop& loop, const std::set<ir::ValueId>* common = nullptr)
      : emission_(emission),
        loop_(loop),
        common_(common),
        words_(emission, loop),
        shape_(ShapeOf(emission, loop)),
        count_(Count()),
        width_(Width()) {
    for (const char* own : {"batch", "part", "of", "count"}) {
      if (IsOfBatch()) names_.Reserve(own);
    }
    // With one axis its index is the element's number.
    at_ = shape_.axes.size() > 1 ? names_.Unique("at") : "i";
    lane_ = names_.Unique("v");
    if (!IsOfBatch()) bound_ = names_.Unique("count");
    // No index uses the outermost size.
    for (size_t i = 1; i < shape_.axes.size(); ++i) NameSize(shape_.axes[i]);
  }

  void Run(cpp::Code& code) { EmitLaunch(WriteKernel(emission_, Kernel(Body(), nullptr)), code); }

  // Of a batch: the kernel, the type of its table's rows, and what is in the row of this loop.
  std::string WriteBatchKernel() {
    cpp::Code body = Body();
    const std::string type = WriteType();
    return WriteKernel(emission_, Kernel(std::move(body), &type));
  }
  std::string WriteType() const {
    cpp::Code fields(2);
    fields.Member({cpp::Name("int64_t"), "count"});
    for (const Buffer* buffer : InTable()) {
      const cpp::Expr element = emission_.ElementTypeOf(buffer->value);
      fields.Member({cpp::Pointer(buffer->written ? element : cpp::Const(element)), buffer->parameter});
    }
    return WriteKernelStruct(emission_, absl::StrCat(words_.Kernel(), "Loop"), std::move(fields));
  }
  cpp::Expr Row() const {
    std::vector<cpp::Expr> row = {count_.Value()};
    for (const Buffer* buffer : InTable()) row.push_back(emission_.names[buffer->value]);
    return cpp::Braces(std::move(row));
  }
  // What a launch of the batch gives the kernel besides the table.
  std::vector<cpp::Expr> Arguments() const {
    std::vector<cpp::Expr> arguments;
    for (const Buffer& buffer : buffers_) {
      if (IsCommon(buffer)) arguments.push_back(emission_.names[buffer.value]);
    }
    for (const StepNumber& number : step_numbers_) {
      arguments.push_back(cpp::Name(emission_.number_places.at(number.value)));
    }
    return arguments;
  }
  std::string wish() const { return words_.Kernel(); }
  int width() const { return width_; }

 private:
  bool IsOfBatch() const { return common_ != nullptr; }
  bool IsCommon(const Buffer& buffer) const { return common_->count(buffer.value) > 0; }

  cpp::Code Body() {
    cpp::Code statements(6);
    EmitLoopBody(emission_, loop_,
                 {.read = [this](ir::ValueId value, const LoopSpan& span) { return Read(value, span); },
                  .write = [this](ir::ValueId value) { return Write(value); },
                  .step_number = [this](ir::ValueId value) { return NumberOf(value); },
                  .local = [this](ir::ValueId value) { return names_.Unique(words_.Of(value)); },
                  .term = [this](ir::ValueId value) { return names_.Unique(absl::StrCat(words_.Of(value), "_term")); }},
                 statements);
    return BodyOf(std::move(statements));
  }

  // Those of the table, as kernels have their parameters: first what is read only.
  std::vector<const Buffer*> InTable() const {
    std::vector<const Buffer*> buffers;
    for (const bool written : {false, true}) {
      for (const Buffer& buffer : buffers_) {
        if (buffer.written == written && !IsCommon(buffer)) buffers.push_back(&buffer);
      }
    }
    return buffers;
  }

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
    if (shape_.axes.empty() && !IsOfBatch()) return 1;
    bool is_narrow = true;
    for (const int i : loop_.steps) {
      const ir::Compute& compute = ComputeAt(i);
      for (size_t input = 0; input < compute.inputs.size(); ++input) {
        const LoopSpan span = *ir::SpanOfInput(emission_.program, compute, static_cast<int>(input));
        const ir::ValueId value = compute.inputs[input];
        if (HasMemory(value) && HasInnermostAxis(span)) is_narrow &= ir::IsNarrow(TypeOf(value));
      }
      if (HasMemory(compute.output)) is_narrow &= ir::IsNarrow(TypeOf(compute.output));
    }
    if (IsOfBatch()) return is_narrow ? 8 : 4;
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
    const Buffer& buffer = BufferOf(value);
    const cpp::Expr index = Index(span);
    if (!HasInnermostAxis(span)) return PlaceOf(buffer).At(index);
    Registers& registers = RegistersOf(buffer, index);
    registers.loaded |= !registers.stored;
    return cpp::Name(registers.name).At(cpp::Name(lane_));
  }

  cpp::Expr Write(ir::ValueId value) {
    Buffer& buffer = BufferOf(value);
    buffer.written = true;
    Registers& registers = RegistersOf(buffer, cpp::Name(at_));
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

  // "x", or "of.x".
  cpp::Expr PlaceOf(const Buffer& buffer) const {
    const bool is_in_table = IsOfBatch() && !IsCommon(buffer);
    return is_in_table ? cpp::Name("of").Member(buffer.parameter) : cpp::Name(buffer.parameter);
  }

  Registers& RegistersOf(const Buffer& buffer, const cpp::Expr& index) {
    const cpp::Expr place = cpp::Offset(PlaceOf(buffer), index);
    for (Registers& registers : registers_) {
      if (registers.place == place) return registers;
    }
    return registers_.emplace_back(Registers{.name = names_.Unique(absl::StrCat(buffer.parameter, "_vector")),
                                             .place = place,
                                             .dtype = TypeOf(buffer.value)});
  }

  // What is between the braces of the kernel.
  cpp::Code BodyOf(cpp::Code statements) const {
    const cpp::Expr width = cpp::Name("kWidth"), at = cpp::Name(at_), lane = cpp::Name(lane_);
    const cpp::Expr part = cpp::Name("part");
    cpp::Code body;
    cpp::Code& group =
        IsOfBatch()
            ? body.Open(cpp::For{at_, part.Member("begin"), cpp::Infix(at, "<", part.Member("end")),
                                 cpp::Infix(at, "+=", part.Member("stride"))})
            : body.Open(cpp::For{at_, width * cpp::Call("FirstElement", {}), cpp::Infix(at, "<", cpp::Name(bound_)),
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

  // `row`: of a batch, the type of its table's rows.
  KernelText Kernel(cpp::Code body, const std::string* row) const {
    const cpp::Expr number = cpp::Name("int64_t");
    cpp::Function head = {.result = cpp::Name("__global__ void"), .constants = {{cpp::Name("int"), "kWidth"}}};
    for (const AxisSize& size : UsedSizes(true)) head.constants.push_back({number, size.name});
    if (row != nullptr) {
      head.parameters.push_back({cpp::Template("LoopBatch", {cpp::Name(*row)}), "batch"});
      cpp::Code find;
      find.Declare({cpp::Name("const BatchPart"), "part"},
                   cpp::Call(cpp::Template("PartOfBlock", {cpp::Name("kWidth")}), {cpp::Name("batch")}));
      find.Declare({cpp::Const(cpp::Name(*row)), "of"},
                   cpp::Name("batch").Member("loops").At(cpp::Name("part").Member("loop")));
      find.Append(std::move(body));
      body = std::move(find);
    } else {
      head.parameters.push_back({number, bound_});
    }
    for (const AxisSize& size : UsedSizes(false)) head.parameters.push_back({number, size.name});
    const auto is_parameter = [&](const Buffer& buffer) { return row == nullptr || IsCommon(buffer); };
    for (const Buffer& buffer : buffers_) {
      if (!buffer.written && is_parameter(buffer))
        head.parameters.push_back({TypeOfParameter(buffer), buffer.parameter});
    }
    for (const StepNumber& step : step_numbers_) {
      head.parameters.push_back({cpp::RestrictPointer(cpp::Name("const float")), step.parameter});
    }
    for (const Buffer& buffer : buffers_) {
      if (buffer.written && is_parameter(buffer))
        head.parameters.push_back({TypeOfParameter(buffer), buffer.parameter});
    }
    const std::string over = row == nullptr ? OverText() : "";
    return {.wish = absl::StrCat(words_.Kernel(), over), .head = std::move(head), .body = std::move(body)};
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
  const std::set<ir::ValueId>* const common_;
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

// The launches of a batch: one, or several where loops that are alike differ in which of their tensors are one, or in
// the order in which they read what all of them read.
class BatchEmitter {
 public:
  BatchEmitter(Emission& emission, const ir::LoopBatch& batch)
      : emission_(emission), batch_(batch), common_(ir::ReadByAll(emission.program, batch)) {
    for (const ir::FusedLoop& loop : batch.loops) {
      for (const int i : loop.steps) steps_.push_back(i);
      Launched own = LaunchOf(loop);
      const auto known = std::find_if(launches_.begin(), launches_.end(), [&](const Launched& launch) {
        return launch.kernel == own.kernel && launch.arguments == own.arguments;
      });
      of_loops_.push_back(static_cast<size_t>(known - launches_.begin()));
      if (known == launches_.end()) launches_.push_back(std::move(own));
    }
    for (Launched& launch : launches_) {
      launch.list.name = emission.identifiers.Local(absl::StrCat(launch.list.name, "_loops"));
    }
  }

  void Run(cpp::Code& code) {
    const std::vector<int> outputs = WritingSteps(emission_, steps_);
    Announce(emission_, steps_, absl::StrCat(batch_.loops.size(), " loops at once"), code);
    Watch(emission_, outputs.front(), ir::ComputeOf(emission_.step(outputs.front()))->output, code);
    std::vector<cpp::Variable> lists;
    for (const Launched& launch : launches_) {
      code.Member(launch.list);
      lists.push_back(launch.list);
    }
    const auto emit_loop = [this](size_t loop, cpp::Code& entry) {
      entry.Do(cpp::Name(launches_[of_loops_[loop]].list.name).Call("push_back", {RowOf(loop)}));
    };
    const auto in_loops = emission_.rows_in_loops.find(steps_.front());
    if (emission_.layer == nullptr && in_loops != emission_.rows_in_loops.end()) {
      in_loops->second(lists, emit_loop, code);
    } else {
      for (size_t loop = 0; loop < batch_.loops.size(); ++loop) emit_loop(loop, code);
    }
    for (const Launched& launch : launches_) {
      std::vector<cpp::Expr> arguments = {launch.kernel, cpp::Name(launch.list.name)};
      arguments.insert(arguments.end(), launch.arguments.begin(), launch.arguments.end());
      code.Do(cpp::Call("LaunchBatch", std::move(arguments)));
    }
    WatchOtherResults(emission_, outputs, code);
  }

 private:
  struct Launched {
    cpp::Expr kernel;
    cpp::Variable list;
    std::vector<cpp::Expr> arguments;
  };

  Launched LaunchOf(const ir::FusedLoop& loop) {
    KernelEmitter emitter(emission_, loop, &common_);
    const std::string kernel = emitter.WriteBatchKernel();
    const cpp::Expr type = cpp::Template("std::vector", {cpp::Name(emitter.WriteType())});
    return {.kernel = cpp::Template(kernel, {emitter.width()}),
            .list = {type, SnakeCase(emitter.wish())},
            .arguments = emitter.Arguments()};
  }

  cpp::Expr RowOf(size_t loop) {
    KernelEmitter emitter(emission_, batch_.loops[loop], &common_);
    emitter.WriteBatchKernel();
    return emitter.Row();
  }

  // "adamw_update" of "AdamwUpdate".
  static std::string SnakeCase(absl::string_view name) {
    std::string snake;
    for (const char letter : name) {
      if (absl::ascii_isupper(static_cast<unsigned char>(letter)) && !snake.empty()) snake += '_';
      snake += absl::ascii_tolower(static_cast<unsigned char>(letter));
    }
    return snake;
  }

  Emission& emission_;
  const ir::LoopBatch& batch_;
  const std::set<ir::ValueId> common_;
  std::vector<int> steps_;
  std::vector<Launched> launches_;
  std::vector<size_t> of_loops_;  // By loop: its launch.
};

}  // namespace

void EmitBatchOfLoops(Emission& emission, const ir::LoopBatch& batch, cpp::Code& code) {
  BatchEmitter(emission, batch).Run(code);
}

void EmitKernelOfLoop(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code) {
  KernelEmitter(emission, loop).Run(code);
}

}  // namespace cleave::codegen
