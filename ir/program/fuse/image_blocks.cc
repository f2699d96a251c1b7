#include "ir/program/fuse/image_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/disjoint_sets/disjoint_sets.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/program/fuse/fuse.h"

namespace cleave::ir {
namespace {

bool IsConvolution(OpKind kind) {
  return kind == OpKind::kConv2d || kind == OpKind::kConv2dGradientInput || kind == OpKind::kConv2dGradientFilter;
}

// Values that must lie alike are one class, known by one of them.
class ImageClasses {
 public:
  ImageClasses(const Program& program, ImageOrder order)
      : program_(program),
        order_(order),
        classes_(program.values.size()),
        refuses_(program.values.size(), 0),
        is_convolved_(program.values.size(), 0) {
    for (size_t i = 0; i < program.values.size(); ++i) {
      const ValueId value(static_cast<int64_t>(i));
      refuses_[value] = CanBeInBlocks(value) ? 0 : 1;
    }
  }

  void Refuse(ValueId value) { refuses_[classes_.Of(value)] = 1; }
  void Convolve(ValueId value) { is_convolved_[classes_.Of(value)] = 1; }

  void Join(ValueId a, ValueId b) {
    const char refuses = refuses_[classes_.Of(a)] | refuses_[classes_.Of(b)];
    const char is_convolved = is_convolved_[classes_.Of(a)] | is_convolved_[classes_.Of(b)];
    classes_.Join(a, b);
    refuses_[classes_.Of(a)] = refuses;
    is_convolved_[classes_.Of(a)] = is_convolved;
  }

  bool Refuses(ValueId value) { return refuses_[classes_.Of(value)] != 0; }
  bool IsInBlocks(ValueId value) { return !Refuses(value) && is_convolved_[classes_.Of(value)] != 0; }

 private:
  // Whether it is an image of full blocks, with more than one place. Of images whose places are cut, kernels may look
  // at a part alone, which oneDNN wants as a tensor of its own.
  bool CanBeInBlocks(ValueId id) const {
    const Value& value = program_.value(id);
    if (value.type.rank() < 3) return false;
    const auto& cuts = value.layout.dimensions;
    if (std::any_of(cuts.begin() + 2, cuts.end(), [](const AxisList& axes) { return !axes.empty(); })) {
      return false;
    }
    const int64_t least = order_ == ImageOrder::kBlocks ? kBlockChannels : 1;
    if (value.type.shape[1] % (least * program_.mesh.Size(value.layout.dimensions[1])) != 0) return false;
    const Shape local = LargestLocalShape(program_, id);
    if (local[1] == 1) return false;
    return std::any_of(local.begin() + 2, local.end(), [](int64_t size) { return size > 1; });
  }

  const Program& program_;
  const ImageOrder order_;
  DisjointSets<ValueId> classes_;
  IdVector<ValueId, char> refuses_;  // Of the value that stands for its class.
  IdVector<ValueId, char> is_convolved_;
};

class BlocksFinder {
 public:
  BlocksFinder(const Program& program, ImageOrder order) : program_(program), order_(order), classes_(program, order) {}

  ValueSet Run() && {
    for (const Step& step : program_.steps) Look(step);
    for (const ProgramUpdate& update : program_.updates) {
      classes_.Refuse(update.state);
      classes_.Refuse(update.value);
    }
    if (program_.loss.has_value()) classes_.Refuse(*program_.loss);
    for (const ProgramMetric& metric : program_.metrics) classes_.Refuse(metric.value);
    ValueSet found;
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const ValueId value(static_cast<int64_t>(i));
      if (classes_.IsInBlocks(value)) found.insert(value);
    }
    return found;
  }

 private:
  void Look(const Step& step) {
    const Compute* const compute = ComputeOf(step);
    if (compute == nullptr || IsSource(step)) return RefuseAll(step);
    const StepValues reads = Reads(step);
    const bool has_images = !classes_.Refuses(compute->output) ||
                            std::any_of(reads.begin(), reads.end(), [&](ValueId v) { return !classes_.Refuses(v); });
    if (!has_images) return RefuseAll(step);
    const OpDefinition& op = DefinitionOf(compute->kind);
    if (op.is_alias) return LookAtReshape(*compute);
    if (CanBeLooped(op)) return LookAtElements(*compute);
    LookAtCalls(*compute);
  }

  void RefuseAll(const Step& step) {
    for (const ValueId value : Reads(step)) classes_.Refuse(value);
    for (const ValueId value : Writes(step)) classes_.Refuse(value);
  }

  void LookAtReshape(const Compute& reshape) {
    const ValueId from = reshape.inputs[0];
    const auto begins = [&](const auto& of) {
      return std::pair(of.size() < 3 ? -1 : of[0], of.size() < 3 ? -1 : of[1]);
    };
    const bool keeps_channels =
        begins(program_.value(from).type.shape) == begins(program_.value(reshape.output).type.shape) &&
        begins(LargestLocalShape(program_, from)) == begins(LargestLocalShape(program_, reshape.output));
    if (!keeps_channels) classes_.Refuse(from);
    if (!keeps_channels) classes_.Refuse(reshape.output);
    classes_.Join(from, reshape.output);
  }

  // An input without all dimensions lies as it does ordinarily: it is read by its samples and channels, or by its
  // samples and places.
  void LookAtElements(const Compute& compute) {
    const Rule& rule = RuleOf(program_, compute, rules_);
    for (size_t i = 0; i < compute.inputs.size(); ++i) {
      const ValueId input = compute.inputs[i];
      if (program_.value(input).type.shape == program_.value(compute.output).type.shape) {
        classes_.Join(input, compute.output);
        continue;
      }
      classes_.Refuse(input);
      const std::optional<std::vector<bool>> span = SpanOfInput(rule, static_cast<int>(i));
      const bool has_places = !span.has_value() || std::find(span->begin() + 2, span->end(), true) != span->end();
      if (has_places && (!span.has_value() || (*span)[1])) classes_.Refuse(compute.output);
    }
  }

  void LookAtCalls(const Compute& compute) {
    std::vector<int> free;
    const auto value_of = [&](int tensor) {
      return tensor == kResult ? compute.output : compute.inputs[static_cast<size_t>(tensor)];
    };
    for (const KernelCall& call : CallsOf(program_, compute)) {
      for (const CallArgument& argument : call.arguments) {
        if (const auto* sizes = std::get_if<StoredSizes>(&argument)) free.push_back(sizes->tensor);
        const auto* const sides = std::get_if<ImageSides>(&argument);
        if (sides == nullptr || (order_ == ImageOrder::kBlocks && !sides->in_small_blocks)) continue;
        for (const std::vector<int>& side : {sides->x, sides->y}) {
          for (const int tensor : side) {
            free.push_back(tensor);
            classes_.Join(value_of(tensor), value_of(side.front()));
            if (IsConvolution(compute.kind)) classes_.Convolve(value_of(tensor));
          }
        }
      }
    }
    for (int tensor = kResult; tensor < static_cast<int>(compute.inputs.size()); ++tensor) {
      if (std::find(free.begin(), free.end(), tensor) == free.end()) classes_.Refuse(value_of(tensor));
    }
  }

  const Program& program_;
  const ImageOrder order_;
  RuleTable rules_;
  ImageClasses classes_;
};

}  // namespace

ValueSet FindImagesInBlocks(const Program& program, ImageOrder order) {
  if (order == ImageOrder::kPlanes) return {};
  const bool has_convolutions = std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const Compute* const compute = ComputeOf(step);
    return compute != nullptr && IsConvolution(compute->kind);
  });
  return has_convolutions ? BlocksFinder(program, order).Run() : ValueSet();
}

int64_t ChannelsOfBlock(ImageOrder order, const Shape& local) {
  return order == ImageOrder::kBlocks ? kBlockChannels : local[1];
}

Shape SizesInBlocks(ImageOrder order, const Shape& local) {
  Shape sizes = local;
  const int64_t block = ChannelsOfBlock(order, local);
  sizes[1] /= block;
  sizes.push_back(block);
  return sizes;
}

}  // namespace cleave::ir
