// Convolutions by oneDNN, in its preferred layouts: images and filters are reordered on the way in and results on the
// way out.
//
// A rank's piece has the image's padding only at the image's own ends, so each side has its own. Rows and columns that
// no place of the kernel looks at are left out: oneDNN sees the box of the images between them.
#include "runtime/math/convolution.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/device/workspace.h"
#include "runtime/math/onednn/engine.h"

namespace cleave::runtime {
namespace {

struct Shape {
  ConvolutionSizes sizes;
  Sliding rows;
  Sliding columns;
};

enum class Direction { kForward, kGradientInput, kGradientFilter };

bool SameSliding(const Sliding& a, const Sliding& b) {
  return a.input.size == b.input.size && a.output.size == b.output.size && a.kernel == b.kernel &&
         a.stride == b.stride && a.dilation == b.dilation && a.first() == b.first();
}

bool SameShape(const Shape& a, const Shape& b) {
  return a.sizes.samples == b.sizes.samples && a.sizes.channels == b.sizes.channels &&
         a.sizes.filters == b.sizes.filters && a.sizes.filter_channels == b.sizes.filter_channels &&
         SameSliding(a.rows, b.rows) && SameSliding(a.columns, b.columns);
}

// What oneDNN sees along one dimension: elements [begin, end) of the input, and padding on both sides of them.
struct Side {
  int64_t begin;
  int64_t end;
  int64_t padding_before;
  int64_t padding_behind;

  explicit Side(const Sliding& sliding)
      : begin(std::max<int64_t>(sliding.first(), 0)),
        end(std::min(sliding.end(), sliding.input.size)),
        padding_before(std::max<int64_t>(-sliding.first(), 0)),
        padding_behind(std::max<int64_t>(sliding.end() - sliding.input.size, 0)) {}

  int64_t size() const { return end - begin; }
};

// Whether any product of an image's element and a weight is part of a result.
bool HasProducts(const Shape& shape) {
  const ConvolutionSizes& sizes = shape.sizes;
  if (sizes.samples == 0 || sizes.channels == 0 || sizes.filters == 0 || sizes.filter_channels == 0) return false;
  if (shape.rows.output.size == 0 || shape.columns.output.size == 0) return false;
  return Side(shape.rows).size() > 0 && Side(shape.columns).size() > 0;
}

int64_t ElementsOfX(const Shape& shape) {
  return shape.sizes.samples * shape.sizes.channels * shape.rows.input.size * shape.columns.input.size;
}
int64_t ElementsOfFilter(const Shape& shape) {
  return shape.sizes.filters * shape.sizes.filter_channels * shape.rows.kernel * shape.columns.kernel;
}
int64_t ElementsOfY(const Shape& shape) {
  return shape.sizes.samples * shape.sizes.filters * shape.rows.output.size * shape.columns.output.size;
}

void FillZeros(float* values, int64_t count) { std::fill(values, values + count, 0.0f); }

dnnl_memory_desc_t Strided(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  dnnl_memory_desc_t description;
  Check(dnnl_memory_desc_init_by_strides(&description, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32,
                                         strides.data()),
        "describing a tensor");
  return description;
}

// The same sizes in whatever layout is fastest.
dnnl_memory_desc_t AnyLayout(const dnnl_memory_desc_t& plain) {
  dnnl_memory_desc_t description;
  Check(dnnl_memory_desc_init_by_tag(&description, plain.ndims, plain.dims, dnnl_f32, dnnl_format_tag_any),
        "describing a tensor");
  return description;
}

struct TensorDescriptions {
  dnnl_memory_desc_t x;  // The box of the images that oneDNN sees.
  dnnl_memory_desc_t filter;
  dnnl_memory_desc_t y;
};

TensorDescriptions DescribeTensors(const Shape& shape) {
  const int64_t row = shape.columns.input.size;
  const int64_t image = shape.rows.input.size * row;
  const int64_t places = shape.rows.output.size * shape.columns.output.size;
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
  return {.x = Strided({shape.sizes.samples, shape.sizes.channels, Side(shape.rows).size(), Side(shape.columns).size()},
                       {shape.sizes.channels * image, image, row, 1}),
          .filter = Strided(sizes, strides),
          .y = Strided({shape.sizes.samples, shape.sizes.filters, shape.rows.output.size, shape.columns.output.size},
                       {shape.sizes.filters * places, places, shape.columns.output.size, 1})};
}

dnnl_primitive_t MakeReorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  const dnnl_engine_t engine = TheEngine().engine;
  dnnl_primitive_desc_t description;
  Check(dnnl_reorder_primitive_desc_create(&description, &from, engine, &to, engine, nullptr), "choosing a reorder");
  dnnl_primitive_t reorder;
  Check(dnnl_primitive_create(&reorder, description), "preparing a reorder");
  dnnl_primitive_desc_destroy(description);
  return reorder;
}

// One of the three tensors: as the caller has it, and as the convolution wants it.
struct Operand {
  int argument = 0;  // Of the primitive.
  bool is_result = false;
  dnnl_memory_t plain = nullptr;
  dnnl_memory_t inner = nullptr;       // `plain` where both layouts are the same.
  dnnl_primitive_t reorder = nullptr;  // From plain to inner, of a result the other way round; null for none.
  size_t inner_bytes = 0;

  Operand(int argument_index, bool result, const dnnl_memory_desc_t& plain_layout,
          const dnnl_memory_desc_t& inner_layout)
      : argument(argument_index), is_result(result), plain(MakeMemory(plain_layout)), inner(plain) {
    if (dnnl_memory_desc_equal(&plain_layout, &inner_layout) != 0) return;
    inner = MakeMemory(inner_layout);
    inner_bytes = dnnl_memory_desc_get_size(&inner_layout);
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
  Shape shape;
  dnnl_primitive_t primitive;
  std::vector<Operand> operands;  // x, filter, y.
};

dnnl_primitive_desc_t Choose(Direction direction, const Shape& shape, const TensorDescriptions& plain) {
  const dnnl_memory_desc_t x = AnyLayout(plain.x);
  const dnnl_memory_desc_t filter = AnyLayout(plain.filter);
  const dnnl_memory_desc_t y = AnyLayout(plain.y);
  const Side rows(shape.rows);
  const Side columns(shape.columns);
  const dnnl_dims_t strides = {shape.rows.stride, shape.columns.stride};
  const dnnl_dims_t gaps = {shape.rows.dilation - 1, shape.columns.dilation - 1};
  const dnnl_dims_t before = {rows.padding_before, columns.padding_before};
  const dnnl_dims_t behind = {rows.padding_behind, columns.padding_behind};
  constexpr dnnl_alg_kind_t kAlgorithm = dnnl_convolution_direct;
  dnnl_convolution_desc_t operation;
  // A gradient is chosen with the forward convolution as a hint.
  Check(dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, kAlgorithm, &x, &filter, nullptr,
                                                   &y, strides, gaps, before, behind),
        "describing a convolution");
  dnnl_primitive_desc_t forward;
  Check(dnnl_primitive_desc_create(&forward, &operation, nullptr, TheEngine().engine, nullptr),
        "choosing a convolution");
  switch (direction) {
    case Direction::kForward:
      return forward;
    case Direction::kGradientInput:
      Check(dnnl_dilated_convolution_backward_data_desc_init(&operation, kAlgorithm, &x, &filter, &y, strides, gaps,
                                                             before, behind),
            "describing a convolution's gradient");
      break;
    case Direction::kGradientFilter:
      Check(dnnl_dilated_convolution_backward_weights_desc_init(&operation, kAlgorithm, &x, &filter, nullptr, &y,
                                                                strides, gaps, before, behind),
            "describing a convolution's gradient");
      break;
  }
  dnnl_primitive_desc_t gradient;
  Check(dnnl_primitive_desc_create(&gradient, &operation, nullptr, TheEngine().engine, forward),
        "choosing a convolution's gradient");
  dnnl_primitive_desc_destroy(forward);
  return gradient;
}

PreparedConvolution PrepareConvolution(Direction direction, const Shape& shape) {
  const TensorDescriptions plain = DescribeTensors(shape);
  const dnnl_primitive_desc_t description = Choose(direction, shape, plain);
  const auto layout = [&](int argument) {
    return *dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, argument);
  };
  const auto operand = [&](int argument, Direction makes_it, const dnnl_memory_desc_t& plain_layout) {
    return Operand(argument, direction == makes_it, plain_layout, layout(argument));
  };
  const int x = direction == Direction::kGradientInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
  const int filter = direction == Direction::kGradientFilter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
  const int y = direction == Direction::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
  PreparedConvolution prepared = {.direction = direction,
                                  .shape = shape,
                                  .primitive = nullptr,
                                  .operands = {operand(x, Direction::kGradientInput, plain.x),
                                               operand(filter, Direction::kGradientFilter, plain.filter),
                                               operand(y, Direction::kForward, plain.y)}};
  Check(dnnl_primitive_create(&prepared.primitive, description), "preparing a convolution");
  dnnl_primitive_desc_destroy(description);
  return prepared;
}

void Run(Direction direction, const Shape& shape, const float* x, const float* filter, const float* y) {
  static auto& all = *new PreparedList<PreparedConvolution>;
  // One piece for each of x, filter and y, as long as the program lives: a call is done with it when it returns.
  static auto* const scratch = new Scratch[3];
  const PreparedConvolution& prepared = all.Get(
      [&](const PreparedConvolution& known) { return known.direction == direction && SameShape(known.shape, shape); },
      [&] { return PrepareConvolution(direction, shape); });
  const float* const seen = x + Side(shape.rows).begin * shape.columns.input.size + Side(shape.columns).begin;
  const float* const pointers[] = {seen, filter, y};
  std::vector<dnnl_exec_arg_t> arguments;
  for (size_t i = 0; i < prepared.operands.size(); ++i) {
    const Operand& operand = prepared.operands[i];
    SetPointer(operand.plain, pointers[i]);
    if (operand.reorder != nullptr) SetPointer(operand.inner, scratch[i].AtLeast(static_cast<int64_t>(operand.inner_bytes)));
    if (operand.reorder != nullptr && !operand.is_result) operand.Reorder();
    arguments.push_back({operand.argument, operand.inner});
  }
  Execute(prepared.primitive, arguments, "a convolution");
  for (const Operand& operand : prepared.operands) {
    if (operand.reorder != nullptr && operand.is_result) operand.Reorder();
  }
}

// Whether the kernel looks at all that the rank has of a dimension.
bool SeesAll(const Sliding& sliding) { return Side(sliding).size() == sliding.input.size; }

}  // namespace

void Conv2d(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const float* x,
            const float* filter, float* y) {
  const Shape shape = {sizes, rows, columns};
  if (!HasProducts(shape)) return FillZeros(y, ElementsOfY(shape));
  Run(Direction::kForward, shape, x, filter, y);
}

void Conv2dGradientInput(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const float* dy,
                         const float* filter, float* dx) {
  const Shape shape = {sizes, rows, columns};
  const bool has_products = HasProducts(shape);
  if (!has_products || !SeesAll(rows) || !SeesAll(columns)) FillZeros(dx, ElementsOfX(shape));
  if (has_products) Run(Direction::kGradientInput, shape, dx, filter, dy);
}

void Conv2dGradientFilter(const ConvolutionSizes& sizes, const Sliding& rows, const Sliding& columns, const float* dy,
                          const float* x, float* dfilter) {
  const Shape shape = {sizes, rows, columns};
  if (!HasProducts(shape)) return FillZeros(dfilter, ElementsOfFilter(shape));
  Run(Direction::kGradientFilter, shape, x, dfilter, dy);
}

}  // namespace cleave::runtime
