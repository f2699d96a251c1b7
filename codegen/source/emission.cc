#include "codegen/source/emission.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check/check.h"
#include "base/layer_names/layer_names.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/program/fuse/image_blocks.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::codegen {
namespace {

// Checks read results, because a loss that is not finite makes forward and backward pass run again.
bool IsChecked(ir::Phase phase) { return phase != ir::Phase::kMetric && phase != ir::Phase::kUpdate; }

std::string NamesOf(const Emission& emission, const std::vector<int>& steps, size_t begin, size_t end) {
  constexpr size_t kNamed = 4;
  constexpr size_t kShort = 90;  // With the place in the model on one line.
  std::vector<std::string> names;
  for (size_t i = begin; i < end; ++i) names.push_back(ShownName(emission.layer, emission.step(steps[i]).name));
  const std::string all = absl::StrJoin(names, ", ");
  if (names.size() <= kNamed || all.size() <= kShort) return all;
  return absl::StrCat(names.front(), " ... ", names.back(), " (", names.size(), " ops)");
}

// The part of the model that an op belongs to: "x.3.attn" of "x.3.attn.query.slice", "normal" of "normal.layer_norm".
std::string SectionOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  size_t taken = 1;
  int64_t number = 0;
  const auto is_pass = [&](const std::string& part) { return part == "#" || absl::SimpleAtoi(part, &number); };
  while (taken + 1 < parts.size() && is_pass(parts[taken])) taken += 2;
  return absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(taken), ".");
}

}  // namespace

const Passes& Emission::PassesOf(const ir::Step& step) const {
  const ir::StepValues written = ir::Writes(step);
  return PassesOf(written.empty() ? ir::Reads(step).front() : written.front());
}

const Passes& Emission::PassesOf(ir::ValueId id) const { return graph.op(value(id).origin).repetition.passes; }

Groups GroupsOf(const ir::Program& whole, const Sizes& sizes, Identifiers& identifiers) {
  Groups groups;
  std::optional<ir::Timetable> timetable;
  for (const ir::Step& step : whole.steps) {
    if (const auto* send = std::get_if<ir::Send>(&step.action)) {
      if (!timetable.has_value()) timetable = ir::TimetableOf(whole);
      const int from = *whole.value(send->input).stage;
      const int number = ir::LaneOf(whole, from, send->to);
      const auto [lane, is_new] = groups.lanes.emplace(number, Lane());
      lane->second.ways.emplace(timetable->PartOf(from), timetable->PartOf(send->to));
      if (!is_new) continue;
      std::string name = absl::StrCat("group_", sizes.AxisName(whole.pipeline->axis));
      if (number != 0) absl::StrAppend(&name, number > 0 ? "_forward_" : "_backward_", std::abs(number));
      lane->second.group = identifiers.Unique(name);
    }
    const ir::Collective* const collective = ir::CommunicationOf(whole, step);
    if (collective == nullptr) continue;
    const auto [group, is_new] = groups.by_axes.emplace(collective->axes, "group");
    if (!is_new) continue;
    for (const ir::AxisId axis : collective->axes) absl::StrAppend(&group->second, "_", sizes.AxisName(axis));
    group->second = identifiers.Unique(group->second);
  }
  return groups;
}

std::map<int, std::string> NameBuckets(const ir::Program& program, const ir::Storage& storage,
                                       Identifiers& identifiers) {
  std::map<int, std::string> names;
  for (const auto& [number, bucket] : storage.buckets) {
    const ir::Step& step = program.steps[static_cast<size_t>(number)];
    // A step's name is "gradients.all_reduce_1", or that of an op of the model.
    const auto& kind = std::get<ir::Collective>(step.action).kind;
    const std::string suffix = absl::StrCat(".", ir::CollectiveKindName(kind));
    std::string wish = step.name;
    const size_t place = wish.rfind(suffix);
    if (place != std::string::npos) wish.erase(place, suffix.size());
    names[number] = identifiers.Unique(wish.insert(std::min(place, wish.size()), "_bucket"));
  }
  return names;
}

const std::string& Emission::GroupBetween(int from, int to) const {
  return groups.lanes.at(ir::LaneOf(program, from, to)).group;
}

std::optional<cpp::Expr> Emission::PendingPlace(int i) const {
  const auto in_layer = names.in_layer.find(NumberOf(i));
  if (in_layer != names.in_layer.end()) return in_layer->second;
  const auto found = pending.find(i);
  return found == pending.end() ? std::nullopt : std::make_optional(found->second);
}

cpp::Expr Emission::LookNumber(int i) const {
  const auto in_layer = names.in_layer.find(NumberOf(i));
  return in_layer != names.in_layer.end() ? in_layer->second : std::get<ir::Glance>(step(i).action).number;
}

cpp::Expr Emission::PlainNumberExpr(int64_t number) const {
  const auto in_layer = names.in_layer.find(PlainNumber(number));
  return in_layer != names.in_layer.end() ? in_layer->second : number;
}

cpp::Expr Emission::ElementTypeOf(ir::ValueId id) const { return cpp::Name(ElementTypeName(value(id).type.dtype)); }

cpp::Expr Emission::PointerTo(ir::ValueId id, const cpp::Expr& offset) const {
  return cpp::Call(cpp::Template(MemoryOf(id), {ElementTypeOf(id)}), {offset});
}

std::string Emission::Place(int line) const { return PlaceIn(program, line); }

std::string PlaceIn(const ir::Program& program, int line) {
  const size_t slash = program.file.rfind('/');
  const std::string file = slash == std::string::npos ? program.file : program.file.substr(slash + 1);
  return line > 0 ? absl::StrCat(file, ":", line) : file;
}

std::string TensorText(const Emission& emission, ir::ValueId value) {
  const ir::Value& info = emission.value(value);
  const ir::Layout cut = {.dimensions = info.layout.dimensions, .partial = {}};
  std::string text = info.type.ToString();
  if (cut != ir::Layout::Replicated(info.type.rank())) {
    absl::StrAppend(&text, " cut as ", ir::LayoutText(cut, emission.program.mesh));
  }
  if (emission.fusion.in_blocks.contains(value)) {
    const bool is_last = emission.fusion.images == ir::ImageOrder::kChannelsLast;
    absl::StrAppend(
        &text, is_last ? " with its channels last" : absl::StrCat(" in blocks of ", ir::kBlockChannels, " channels"));
  }
  return text;
}

std::vector<StoredDimension> StoredDimensions(const Emission& emission, ir::ValueId value) {
  std::vector<StoredDimension> stored;
  for (size_t d = 0; d < emission.value(value).type.shape.size(); ++d) {
    stored.push_back({d, emission.sizes.Size(value, static_cast<int>(d))});
  }
  if (!emission.fusion.in_blocks.contains(value)) return stored;
  const ir::Shape sizes = ir::SizesInBlocks(emission.fusion.images, ir::LargestLocalShape(emission.program, value));
  stored[1].size = SizeProduct(sizes[1]);
  stored.push_back({1, SizeProduct(sizes.back())});
  return stored;
}

IdVector<ir::ValueId, const ir::Compute*> SourcesOf(const ir::Program& program) {
  IdVector<ir::ValueId, const ir::Compute*> sources(program.values.size(), nullptr);
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute != nullptr && ir::IsSource(step)) sources[compute->output] = compute;
  }
  return sources;
}

absl::string_view ElementTypeName(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
      return "float";
    case ir::DType::kBf16:
      return "BFloat16";
    case ir::DType::kF16:
      return "Float16";
    case ir::DType::kF8E4M3:
      return "Float8E4M3";
    case ir::DType::kF8E5M2:
      return "Float8E5M2";
    case ir::DType::kI32:
      return "int32_t";
    case ir::DType::kI8:
      return "int8_t";
  }
  return "";
}

cpp::Expr ElementLiteral(ir::DType dtype, double value) {
  switch (dtype) {
    case ir::DType::kF32:
      return cpp::Float(value);
    case ir::DType::kBf16:
    case ir::DType::kF16:
    case ir::DType::kF8E4M3:
    case ir::DType::kF8E5M2:
      return cpp::Call(ElementTypeName(dtype), {cpp::Float(value)});
    case ir::DType::kI32:
    case ir::DType::kI8:
      return cpp::Braces(cpp::Name(ElementTypeName(dtype)), {static_cast<int64_t>(value)});
  }
  CLEAVE_UNREACHABLE();
}

void Watch(Emission& emission, int step, ir::ValueId value, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  const bool lies_alone = emission.storage.root[value].has_value() && !emission.fusion.parts.contains(value);
  if (!IsChecked(info.phase) || !lies_alone) return WatchName(emission, step, code);
  code.Do(cpp::Call("watch.Start", {OpNameOf(emission.layer, info.name), LineOf(emission.layer, info.name, info.line),
                                    emission.names[value], emission.sizes.Count(value).Value()}));
}

void WatchName(Emission& emission, int step, cpp::Code& code) {
  const ir::Step& info = emission.step(step);
  code.Do(
      cpp::Call("watch.Start", {OpNameOf(emission.layer, info.name), LineOf(emission.layer, info.name, info.line)}));
}

cpp::Expr IsFirstMicroBatch(const Emission& emission) {
  return cpp::Infix(cpp::Name(emission.sizes.AxisName(*emission.program.time)), "==", 0);
}

void Announce(Emission& emission, const std::vector<int>& steps, absl::string_view comment, cpp::Code& code) {
  std::string section = SectionOf(NameOfAll(emission.layer, emission.step(steps.front()).name));
  if (section != emission.section) code.Gap();
  emission.section = std::move(section);
  if (steps.size() == 1 && comment.empty()) return;
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < steps.size();) {
    const auto line_of = [&](size_t i) {
      return ShownLine(emission.layer, emission.step(steps[i]).name, emission.step(steps[i]).line);
    };
    const int line = line_of(begin);
    size_t end = begin;
    while (end < steps.size() && line_of(end) == line) ++end;
    std::string part = NamesOf(emission, steps, begin, end);
    if (line > 0) absl::StrAppend(&part, ", ", emission.Place(line));
    parts.push_back(std::move(part));
    begin = end;
  }
  if (parts.size() > 4) parts = {parts.front(), "...", parts.back()};
  const std::string more = emission.layer == nullptr ? std::string(comment) : FoldedText(comment);
  code.Comment(absl::StrCat(absl::StrJoin(parts, "; "), more.empty() ? "" : ": ", more));
}

}  // namespace cleave::codegen
