// Convolutions by oneDNN, in its preferred layouts: images and filters are reordered on the way in and results on the
// way out. Images in blocks of channels usually lie as it wants them: then nothing is.
//
// A rank's piece has the image's padding only at the image's own ends, so each side has its own. Rows and columns that
// no place of the kernel looks at are left out: oneDNN sees the box of the images between them.
#include "runtime/math/convolution.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/math/convolution_shape.h"
#include "runtime/math/onednn/engine.h"
#include "runtime/math/onednn/in_float.h"
#include "runtime/math/prepared_list.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// The types of the two tensors that are read, and of the one that is written.
struct Types {
  dnnl_data_type_t factors = dnnl_f32;
  dnnl_data_type_t result = dnnl_f32;

  bool operator==(const Types& other) const { return factors == other.factors && result == other.result; }
};

int64_t BytesOf(dnnl_data_type_t type) { return type == dnnl_f32 ? 4 : 2; }

template <typename T>
void FillZeros(T* values, int64_t count) {
  std::fill(values, values + count, T(0.0f));
}

// A tensor as the caller has it.
struct Tensor {
  dnnl_data_type_t type;
  std::vector<int64_t> sizes;
  OwnedLayout layout;
};

Tensor Strided(dnnl_data_type_t type, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  return {type, sizes,
          MakeLayout("describing a tensor", kLayoutByStrides, static_cast<int>(sizes.size()), sizes.data(), type,
                     strides.data())};
}

// A box of images: the first rows and columns of all that they have. The images lie row-major or in blocks of channels.
Tensor Box(dnnl_data_type_t type, const std::vector<int64_t>& images, int64_t rows, int64_t columns, bool in_blocks) {
  static_assert(kBlockChannels == 16);
  const std::vector<int64_t> sizes = {images[0], images[1], rows, columns};
  const dnnl_dims_t begin = {};
  const OwnedLayout whole =
      MakeLayout("describing images", kLayoutByTag, 4, images.data(), type, in_blocks ? dnnl_nChw16c : dnnl_nchw);
  return {type, sizes, MakeLayout("describing a part of images", kLayoutOfPart, whole.get(), sizes.data(), begin)};
}

// The same sizes in whatever layout is fastest.
OwnedLayout AnyLayout(const Tensor& tensor, dnnl_data_type_t type) {
  return MakeLayout("describing a tensor", kLayoutByTag, static_cast<int>(tensor.sizes.size()), tensor.sizes.data(),
                    type, dnnl_format_tag_any);
}

// What oneDNN is shown of a dimension: what the kernel looks at, with elements behind that no place looks at because
// the stride leaves them over. So it is shown whole images where it can be.
Side Shown(const Sliding& sliding) {
  Side side(sliding);
  if (side.padding_behind == 0 && sliding.input.size - side.end < sliding.stride) side.end = sliding.input.size;
  return side;
}

struct Tensors {
  Tensor x;  // The box of the images that oneDNN sees.
  Tensor filter;
  Tensor y;
};

Tensors DescribeTensors(Direction direction, const Types& types, const ConvolutionShape& shape) {
  const auto type = [&](Direction makes_it) { return direction == makes_it ? types.result : types.factors; };
  const int64_t taps = shape.rows.kernel * shape.columns.kernel;
  const int64_t groups = shape.sizes.channels / shape.sizes.filter_channels;
  std::vector<int64_t> sizes = {shape.sizes.filters, shape.sizes.filter_channels, shape.rows.kernel,
                                shape.columns.kernel};
  std::vector<int64_t> strides = {shape.sizes.filter_channels * taps, taps, shape.columns.kernel, 1};
  if (groups > 1) {
    sizes[0] /= groups;
    sizes.insert(sizes.begin(), groups);
    strides.insert(strides.begin(), sizes[1] * strides[0]);
  }
  const int64_t samples = shape.sizes.samples;
  const int64_t rows = shape.rows.output.size;
  const int64_t columns = shape.columns.output.size;
  return {.x = Box(type(Direction::kGradientInput),
                   {samples, shape.sizes.channels, shape.rows.input.size, shape.columns.input.size},
                   Shown(shape.rows).size(), Shown(shape.columns).size(), shape.blocks.x),
          .filter = Strided(type(Direction::kGradientFilter), sizes, strides),
          .y = Box(type(Direction::kForward), {samples, shape.sizes.filters, rows, columns}, rows, columns,
                   shape.blocks.y)};
}

dnnl_primitive_t MakeReorder(const Layout* from, const Layout* to) {
  const Kernel kernel = ChooseKernel("choosing a reorder", [&](dnnl_primitive_desc_t* chosen, dnnl_engine_t engine) {
    return dnnl_reorder_primitive_desc_create(chosen, from, engine, to, engine, nullptr);
  });
  return MakePrimitive(kernel, "preparing a reorder");
}

// One of the three tensors: as the caller has it, and as the convolution wants it.
struct Operand {
  int argument = 0;  // Of the primitive.
  bool is_result = false;
  dnnl_memory_t plain = nullptr;
  dnnl_memory_t inner = nullptr;       // `plain` where both layouts are the same.
  dnnl_primitive_t reorder = nullptr;  // From plain to inner, for a result from inner to plain; null: none.
  size_t inner_bytes = 0;

  Operand(int argument_index, bool result, const Layout* plain_layout, const Layout* inner_layout)
      : argument(argument_index), is_result(result), plain(MakeMemory(plain_layout)), inner(plain) {
    if (dnnl_memory_desc_equal(plain_layout, inner_layout) != 0) return;
    inner = MakeMemory(inner_layout);
    inner_bytes = dnnl_memory_desc_get_size(inner_layout);
    reorder = is_result ? MakeReorder(inner_layout, plain_layout) : MakeReorder(plain_layout, inner_layout);
  }

  void Reorder() const {
    const dnnl_memory_t from = is_result ? inner : plain;
    const dnnl_memory_t to = is_result ? plain : inner;
    Execute(reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, "a reorder");
  }
};

struct PreparedConvolution {
  Direction direction;
  Types types;
  ConvolutionShape shape;
  dnnl_primitive_t primitive = nullptr;  // Null where the processor has no kernel.
  std::vector<Operand> operands;         // x, filter, y.
};

ConvolutionSteps StepsOf(const ConvolutionShape& shape) {
  const Side rows = Shown(shape.rows), columns = Shown(shape.columns);
  return {.strides = {shape.rows.stride, shape.columns.stride},
          .gaps = {shape.rows.dilation - 1, shape.columns.dilation - 1},
          .before = {rows.padding_before, columns.padding_before},
          .behind = {rows.padding_behind, columns.padding_behind}};
}

// The tensors in any layouts: of their own types, or all of one.
struct AnyLayouts {
  OwnedLayout x, filter, y;

  explicit AnyLayouts(const Tensors& of)
      : x(AnyLayout(of.x, of.x.type)), filter(AnyLayout(of.filter, of.filter.type)), y(AnyLayout(of.y, of.y.type)) {}
  AnyLayouts(const Tensors& of, dnnl_data_type_t type)
      : x(AnyLayout(of.x, type)), filter(AnyLayout(of.filter, type)), y(AnyLayout(of.y, type)) {}

  ConvolutionLayouts pointers() const { return {x.get(), filter.get(), y.get()}; }
};

Kernel ChooseForward(const ConvolutionSteps& steps, const AnyLayouts& layouts) {
  return ChooseKernel("choosing a convolution", [&](dnnl_primitive_desc_t* chosen, dnnl_engine_t engine) {
    return ChooseConvolution(chosen, engine, layouts.pointers(), steps);
  });
}

const Layout* LayoutIn(const Kernel& kernel, int argument) {
  return dnnl_primitive_desc_query_md(kernel.get(), dnnl_query_exec_arg_md, argument);
}

// Null where oneDNN has no kernel for these types on this processor.
//
// With strides, the first kernel that version 3 has for the gradient of x wants channels last, also where the forward
// convolution wants blocks: with what is then reordered it takes up to seven times as long as the one that reads dy as
// the forward convolution writes y.
Kernel Choose(Direction direction, const Types& types, const ConvolutionShape& shape, const Tensors& plain) {
  const ConvolutionSteps steps = StepsOf(shape);
  const AnyLayouts layouts(plain);
  if (direction == Direction::kForward) return ChooseForward(steps, layouts);
  const Kernel forward = ChooseForward(steps, AnyLayouts(plain, types.factors));
  if (forward == nullptr) return nullptr;
  const auto choose = direction == Direction::kGradientInput ? ChooseGradientInput : ChooseGradientFilter;
  const auto first = [&] {
    return ChooseKernel("choosing a convolution's gradient", [&](dnnl_primitive_desc_t* chosen, dnnl_engine_t engine) {
      return choose(chosen, engine, layouts.pointers(), steps, forward.get());
    });
  };
  Kernel kernel = first();
  if (kernel == nullptr || direction == Direction::kGradientFilter) return kernel;
  do {
    if (dnnl_memory_desc_equal(LayoutIn(kernel, DNNL_ARG_DIFF_DST), LayoutIn(forward, DNNL_ARG_DST)) != 0)
      return kernel;
  } while (TakeNext(kernel));
  return first();
}

PreparedConvolution PrepareConvolution(Direction direction, const Types& types, const ConvolutionShape& shape) {
  const Tensors plain = DescribeTensors(direction, types, shape);
  const Kernel kernel = Choose(direction, types, shape, plain);
  if (kernel == nullptr) return {direction, types, shape, nullptr, {}};
  const auto operand = [&](int argument, Direction makes_it, const Tensor& tensor) {
    return Operand(argument, direction == makes_it, tensor.layout.get(), LayoutIn(kernel, argument));
  };
  const int x = direction == Direction::kGradientInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
  const int filter = direction == Direction::kGradientFilter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
  const int y = direction == Direction::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
  return {direction,
          types,
          shape,
          MakePrimitive(kernel, "preparing a convolution"),
          {operand(x, Direction::kGradientInput, plain.x), operand(filter, Direction::kGradientFilter, plain.filter),
           operand(y, Direction::kForward, plain.y)}};
}

// The tensors of a convolution, or of some of its samples.
struct Pointers {
  const void* x;
  const void* filter;
  const void* y;
};

// Returns false where the processor cannot.
bool RunPart(Direction direction, const Types& types, const ConvolutionShape& shape, const Pointers& tensors) {
  thread_local auto& all = *new PreparedList<PreparedConvolution>;
  // One piece for each of x, filter and y. They live as long as the program; a call no longer needs them when it
  // returns.
  thread_local auto* const scratch = new Scratch[3];
  const PreparedConvolution& prepared = all.Get(
      [&](const PreparedConvolution& known) {
        return known.direction == direction && known.types == types && SameShape(known.shape, shape);
      },
      [&] { return PrepareConvolution(direction, types, shape); });
  if (prepared.primitive == nullptr) return false;
  const dnnl_data_type_t type = direction == Direction::kGradientInput ? types.result : types.factors;
  const int64_t skipped = (Shown(shape.rows).begin * shape.columns.input.size + Shown(shape.columns).begin) *
                          (shape.blocks.x ? kBlockChannels : 1);
  const void* const seen = static_cast<const std::byte*>(tensors.x) + skipped * BytesOf(type);
  const void* const pointers[] = {seen, tensors.filter, tensors.y};
  std::vector<dnnl_exec_arg_t> arguments;
  for (size_t i = 0; i < prepared.operands.size(); ++i) {
    const Operand& operand = prepared.operands[i];
    SetPointer(operand.plain, pointers[i]);
    if (operand.reorder != nullptr) {
      SetPointer(operand.inner, scratch[i].AtLeast(static_cast<int64_t>(operand.inner_bytes)));
    }
    if (operand.reorder != nullptr && !operand.is_result) operand.Reorder();
    arguments.push_back({operand.argument, operand.inner});
  }
  Execute(prepared.primitive, arguments, "a convolution");
  for (const Operand& operand : prepared.operands) {
    if (operand.reorder != nullptr && operand.is_result) operand.Reorder();
  }
  return true;
}

// In how many parts the samples are convolved: so many that the copies in oneDNN's layouts stay in the caches, and are
// not written to memory and read again. A gradient of the filter is added up over the parts, in f32 only, because it is
// rounded once. ConvolutionNeed (ir/graph/ops/convolving.h) knows this formula.
int64_t PartsOfSamples(Direction direction, const Types& types, const ConvolutionShape& shape) {
  constexpr int64_t kCachedElements = 1 << 19;
  if (direction == Direction::kGradientFilter && types.result != dnnl_f32) return 1;
  const int64_t copied = (shape.blocks.x ? 0 : ElementsOfX(shape)) + (shape.blocks.y ? 0 : ElementsOfY(shape));
  const int64_t parts = (copied + kCachedElements - 1) / kCachedElements;
  return std::clamp<int64_t>(parts, 1, shape.sizes.samples);
}

bool Run(Direction direction, const Types& types, const ConvolutionShape& shape, const void* x, const void* filter,
         const void* y) {
  const int64_t parts = PartsOfSamples(direction, types, shape);
  if (parts == 1) return RunPart(direction, types, shape, {x, filter, y});
  const bool is_sum = direction == Direction::kGradientFilter;
  WorkspaceVector<float> addend(static_cast<size_t>(is_sum ? ElementsOfFilter(shape) : 0));
  const int64_t samples = shape.sizes.samples;
  const int64_t of_x =
      ElementsOfX(shape) / samples * BytesOf(direction == Direction::kGradientInput ? types.result : types.factors);
  const int64_t of_y =
      ElementsOfY(shape) / samples * BytesOf(direction == Direction::kForward ? types.result : types.factors);
  for (int64_t i = 0; i < parts; ++i) {
    const Range range = Piece(samples, parts, i);
    ConvolutionShape part = shape;
    part.sizes.samples = range.size;
    const bool adds = is_sum && i > 0;
    const Pointers tensors = {static_cast<const std::byte*>(x) + range.begin * of_x, adds ? addend.data() : filter,
                              static_cast<const std::byte*>(y) + range.begin * of_y};
    if (!RunPart(direction, types, part, tensors)) return false;
    if (!adds) continue;
    float* const sum = static_cast<float*>(const_cast<void*>(filter));
    for (size_t j = 0; j < addend.size(); ++j) sum[j] += addend[j];
  }
  return true;
}

// Whether oneDNN is shown all that the rank has of a dimension.
bool SeesAll(const Sliding& sliding) { return Shown(sliding).size() == sliding.input.size; }

}  // namespace

template <typename In, typename Out>
void Conv2d(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* x, const In* filter,
            Out* y, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(y, ElementsOfY(shape));
  if (Run(Direction::kForward, {kDnnlType<In>, kDnnlType<Out>}, shape, x, filter, y)) return;
  const ReadAsFloat wide_x(x, ElementsOfX(shape));
  const ReadAsFloat wide_filter(filter, ElementsOfFilter(shape));
  WrittenAsFloat<Out> wide_y(y, ElementsOfY(shape));
  Run(Direction::kForward, {}, shape, wide_x.values(), wide_filter.values(), wide_y.values());
}

template <typename In, typename Out>
void Conv2dGradientInput(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                         const In* filter, Out* dx, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  const bool has_products = HasProducts(shape);
  if (!has_products || !SeesAll(shape.rows) || !SeesAll(shape.columns)) FillZeros(dx, ElementsOfX(shape));
  if (!has_products || Run(Direction::kGradientInput, {kDnnlType<In>, kDnnlType<Out>}, shape, dx, filter, dy)) return;
  const ReadAsFloat wide_dy(dy, ElementsOfY(shape));
  const ReadAsFloat wide_filter(filter, ElementsOfFilter(shape));
  WrittenAsFloat<Out> wide_dx(dx, ElementsOfX(shape));
  Run(Direction::kGradientInput, {}, shape, wide_dx.values(), wide_filter.values(), wide_dy.values());
}

template <typename In, typename Out>
void Conv2dGradientFilter(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const In* dy,
                          const In* x, Out* dfilter, const ImageBlocks& blocks) {
  const ConvolutionShape shape = {sizes, rows, columns, blocks};
  CountFlops(FlopsOf(shape));
  if (!HasProducts(shape)) return FillZeros(dfilter, ElementsOfFilter(shape));
  if (Run(Direction::kGradientFilter, {kDnnlType<In>, kDnnlType<Out>}, shape, x, dfilter, dy)) return;
  const ReadAsFloat wide_dy(dy, ElementsOfY(shape));
  const ReadAsFloat wide_x(x, ElementsOfX(shape));
  WrittenAsFloat<Out> wide_dfilter(dfilter, ElementsOfFilter(shape));
  Run(Direction::kGradientFilter, {}, shape, wide_x.values(), wide_dfilter.values(), wide_dy.values());
}

#define CLEAVE_CONVOLUTIONS(In, Out)                                                                                \
  template void Conv2d(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*, Out*,         \
                       const ImageBlocks&);                                                                         \
  template void Conv2dGradientInput(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*,  \
                                    Out*, const ImageBlocks&);                                                      \
  template void Conv2dGradientFilter(const ConvolutionSizes&, const Sliding&, const Sliding&, const In*, const In*, \
                                     Out*, const ImageBlocks&);
CLEAVE_CONVOLUTIONS(float, float)
CLEAVE_CONVOLUTIONS(BFloat16, float)
CLEAVE_CONVOLUTIONS(BFloat16, BFloat16)
CLEAVE_CONVOLUTIONS(Float16, float)
CLEAVE_CONVOLUTIONS(Float16, Float16)
#undef CLEAVE_CONVOLUTIONS

}  // namespace cleave::runtime
