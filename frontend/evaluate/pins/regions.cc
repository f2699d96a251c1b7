#include "frontend/evaluate/pins/regions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

std::string Entries(size_t count) { return count == 1 ? "1 entry" : absl::StrCat(count, " entries"); }

// The tensors of a value: itself, or the elements of a tuple.
void CollectTensors(Value& value, const dsl::syntax::Expression* place,
                    std::vector<std::pair<Value*, const dsl::syntax::Expression*>>& tensors) {
  if (value.is_tensor()) tensors.push_back({&value, place});
  if (!value.is_tuple()) return;
  for (Value& element : std::get<TupleValue>(value.kind).elements) CollectTensors(element, place, tensors);
}

const dsl::syntax::Call* OutermostCall(const dsl::syntax::Expression& expression) {
  if (const auto* attributed = std::get_if<dsl::syntax::Attributed>(&expression.kind)) {
    return OutermostCall(*attributed->operand);
  }
  return std::get_if<dsl::syntax::Call>(&expression.kind);
}

// The arguments in the order of the signature; arguments that the last formal argument collects come last.
std::vector<const dsl::syntax::Argument*> InOrder(const dsl::syntax::Call& call,
                                                  absl::Span<const dsl::syntax::Argument* const> matched) {
  std::vector<const dsl::syntax::Argument*> arguments;
  for (const dsl::syntax::Argument* argument : matched) {
    if (argument != nullptr) arguments.push_back(argument);
  }
  for (const dsl::syntax::Argument& argument : call.arguments) {
    if (std::find(arguments.begin(), arguments.end(), &argument) == arguments.end()) arguments.push_back(&argument);
  }
  return arguments;
}

}  // namespace

bool Regions::Open(const std::vector<dsl::syntax::Attribute>& attributes, const dsl::syntax::Expression& expression,
                   bool is_mapped, const IntEvaluator& evaluate) {
  const dsl::syntax::Attribute* region = nullptr;
  for (const dsl::syntax::Attribute& attribute : attributes) {
    if (attribute.name.text != "region") continue;
    if (region != nullptr) {
      reporter_.Report(Error(Code::kE0322, "two regions on one call")
                           .At(attribute.span, "the second")
                           .At(region->span, "the first"));
      return false;
    }
    region = &attribute;
  }
  if (region == nullptr) return false;
  const dsl::syntax::Call* call = OutermostCall(expression);
  if (!MayOpen(*region, call, is_mapped)) return false;
  std::optional<RegionDemand> demand = ReadRegion(*region, evaluate, reporter_);
  if (!demand) return false;
  open_.push_back({.attribute = region, .call = call, .demand = *std::move(demand), .path = "", .first = -1});
  return true;
}

bool Regions::MayOpen(const dsl::syntax::Attribute& region, const dsl::syntax::Call* call, bool is_mapped) {
  const auto refuse = [&](Code code, std::string message, std::string label) {
    reporter_.Report(Error(code, std::move(message)).At(region.span, std::move(label)));
    return false;
  };
  if (call == nullptr) {
    return refuse(Code::kE0305, "`#[region]` applies to no call", "a region consists of the ops of one call");
  }
  if (ops_.graph().is_manual())
    return refuse(Code::kE0322, "a region in a manual model", "every op runs as it is written");
  if (is_mapped)
    return refuse(Code::kE0322, "a region inside of a function that `vmap` maps", "opened for each element");
  for (const OpenRegion& other : open_) {
    if (other.first < 0 && other.call != call) continue;
    reporter_.Report(Error(Code::kE0322, "a region inside a region")
                         .At(region.span, "the inner one")
                         .At(other.attribute->span, "the outer one")
                         .Help("keep one of them"));
    return false;
  }
  return true;
}

void Regions::Enter(const dsl::syntax::Call& call, const std::string& path,
                    absl::Span<const dsl::syntax::Argument* const> matched, ArgumentValues& values) {
  if (open_.empty() || open_.back().call != &call || open_.back().first >= 0) return;
  OpenRegion& region = open_.back();
  region.path = path;
  region.first = ops_.size();
  std::vector<std::pair<Value*, const dsl::syntax::Expression*>> tensors;
  for (const dsl::syntax::Argument* argument : InOrder(call, matched)) {
    CollectTensors(values[argument], &*argument->value, tensors);
  }
  const std::optional<std::vector<RegionInput>>& in = region.demand.in;
  const bool fits = !in || in->size() == tensors.size();
  if (!fits) {
    Diagnostic error = Error(Code::kE0320, absl::StrCat("`in` has ", Entries(in->size()), ", but the call takes ",
                                                        Plural(static_cast<int64_t>(tensors.size()), "tensor")))
                           .At(region.demand.in_span, "one entry for each tensor that the call takes");
    for (size_t i = 0; i < tensors.size(); ++i) {
      const ir::TensorType& type = ops_.type(tensors[i].first->as_tensor());
      error.labels.push_back({tensors[i].second->span, absl::StrCat("tensor ", i, " is ", type.ToString())});
    }
    reporter_.Report(std::move(error).Help("`auto` leaves an entry open"));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ir::OpId argument = tensors[i].first->as_tensor();
    const ir::OpId border = AddBorder(argument, absl::StrCat("in_", i), tensors[i].second->span);
    *tensors[i].first = Value{TensorValue{border}};
    if (!in || !fits || !(*in)[i].counts) continue;
    const RegionInput& entry = (*in)[i];
    if (!CheckBorder(*entry.counts, entry.span, argument, absl::StrCat("tensor ", i), tensors[i].second->span))
      continue;
    pins_.Record({border, ir::ShardPin{.in = {entry.counts}, .out = std::nullopt}, entry.span});
  }
}

ir::OpId Regions::AddBorder(ir::OpId value, const std::string& name, Span place) {
  return ops_.AddValid(ir::OpKind::kIdentity, {value}, {}, JoinPath(open_.back().path, name), place);
}

bool Regions::CheckBorder(const std::vector<ir::Placed<int64_t>>& counts, Span place, ir::OpId tensor,
                          const std::string& what, Span tensor_place) {
  const ir::TensorType& type = ops_.type(tensor);
  if (static_cast<int>(counts.size()) == type.rank()) return true;
  reporter_.Report(
      Error(Code::kE0320, absl::StrCat("slices for ", Plural(static_cast<int64_t>(counts.size()), "dimension"),
                                       ", but ", what, " has ", type.rank()))
          .At(place, "one number for each dimension")
          .At(tensor_place, absl::StrCat("this is ", type.ToString())));
  return false;
}

Value Regions::Close(Value result, const dsl::syntax::Expression& expression,
                     const std::map<ir::OpId, Span>& parameters) {
  const OpenRegion region = open_.back();
  std::vector<std::pair<Value*, const dsl::syntax::Expression*>> tensors;
  CollectTensors(result, &expression, tensors);
  if (region.first < 0 || tensors.empty()) {
    open_.pop_back();
    if (!result.is_poison()) {
      reporter_.Report(Error(Code::kE0305, "`#[region]` applies to no call of a function or an op")
                           .At(region.attribute->span, "a region consists of the ops of such a call")
                           .At(expression.span, absl::StrCat("this is ", DescribeType(result, ops_.graph()))));
    }
    return result;
  }
  PinResults(region, expression.span, tensors);
  PinParameters(region, parameters);
  const int end = ops_.size();
  ir::Region made{.name = region.path,
                  .ops = {},
                  .objective = region.demand.objective.value_or(ir::Objective::kSpeed),
                  .device = region.demand.device,
                  .span = region.attribute->span,
                  .device_span = region.demand.device_span};
  if (made.name.empty() && ops_.last_operation()) made.name = ops_.last_operation()->callee;
  for (int i = region.first; i < end; ++i) {
    if (ir::DefinitionOf(ops_.graph().op(ir::OpId(i))).op_class != ir::OpClass::kSource)
      made.ops.push_back(ir::OpId(i));
  }
  if (!region.demand.objective) open_objectives_.push_back(regions_.size());
  regions_.push_back(std::move(made));
  if (ops_.last_operation()) {
    const Operation call = *ops_.last_operation();
    ops_.EndOperation(call.span, call.callee, region.first);
  }
  open_.pop_back();
  return result;
}

void Regions::PinResults(const OpenRegion& region, Span place, const TensorPlaces& results) {
  const std::optional<std::vector<RegionOutput>>& out = region.demand.out;
  const bool fits = !out || out->size() == results.size();
  if (!fits) {
    reporter_.Report(Error(Code::kE0320, absl::StrCat("`out` has ", Entries(out->size()), ", but the call has ",
                                                      Plural(static_cast<int64_t>(results.size()), "result")))
                         .At(region.demand.out_span, "one entry for each result")
                         .At(place, "of this call")
                         .Help("`auto` leaves an entry open"));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::OpId result = results[i].first->as_tensor();
    const ir::OpId border = AddBorder(result, results.size() == 1 ? "out" : absl::StrCat("out_", i), place);
    *results[i].first = Value{TensorValue{border}};
    if (!out || !fits) {
      pins_.RecordDefault(border, region.attribute->span);
      continue;
    }
    const RegionOutput& entry = (*out)[i];
    switch (entry.layout) {
      case RegionOutput::Layout::kAuto:
        break;
      case RegionOutput::Layout::kDataParallel:
        pins_.Record({border, ir::DataParallelPin(), entry.span});
        break;
      case RegionOutput::Layout::kFullBatch:
        pins_.Record({border, ir::ReplicatePin(), entry.span});
        break;
      case RegionOutput::Layout::kCounts: {
        if (!entry.counts) break;  // It was reported.
        const std::string what = results.size() == 1 ? "the result" : absl::StrCat("result ", i);
        if (!CheckBorder(*entry.counts, entry.span, result, what, place)) break;
        pins_.Record({border, ir::ShardPin{.in = {entry.counts}, .out = std::nullopt}, entry.span});
        break;
      }
    }
  }
}

void Regions::PinParameters(const OpenRegion& region, const std::map<ir::OpId, Span>& parameters) {
  std::vector<std::string> known;
  const std::string prefix = region.path.empty() ? "" : absl::StrCat(region.path, ".");
  for (int i = region.first; i < ops_.size(); ++i) {
    const ir::Op& op = ops_.graph().op(ir::OpId(i));
    if (op.kind == ir::OpKind::kParameter && absl::StartsWith(op.name, prefix))
      known.push_back(op.name.substr(prefix.size()));
  }
  std::map<std::string, Span> named;
  for (const RegionParameter& parameter : region.demand.params) {
    const auto [first, is_new] = named.emplace(parameter.path, parameter.path_span);
    if (!is_new) {
      reporter_.Report(CannotPin(absl::StrCat("parameter `", parameter.path, "` is named twice"))
                           .At(parameter.path_span, "named again here")
                           .At(first->second, "first named here"));
      continue;
    }
    if (std::find(known.begin(), known.end(), parameter.path) == known.end()) {
      ReportUnknownParameter(region, parameter, known);
      continue;
    }
    const ir::OpId op = *ops_.graph().Find(absl::StrCat(prefix, parameter.path));
    if (!parameter.counts) continue;
    const Span place = parameters.at(op);
    if (!CheckBorder(*parameter.counts, parameter.span, op, absl::StrCat("`", parameter.path, "`"), place)) continue;
    const ir::Pin pin{op, ir::ShardPin{.in = {}, .out = parameter.counts}, parameter.span};
    if (const ir::Pin* const other = pins_.OtherThan(pin); other != nullptr && passes_over_parameters_) {
      reporter_.Report(CannotPin(absl::StrCat("`", ops_.graph().op(op).name, "` has a pin already"))
                           .At(parameter.path_span, "passed over")
                           .At(other->span, "the pin that is kept"));
      continue;
    }
    pins_.RecordOfRegion(pin);
  }
}

Diagnostic Regions::CannotPin(std::string message) const {
  if (!passes_over_parameters_) return Error(Code::kE0321, std::move(message));
  return Warning(Code::kW0621, std::move(message)).Note("it is passed over, as `parameter_plan = lenient` says");
}

void Regions::ReportUnknownParameter(const OpenRegion& region, const RegionParameter& parameter,
                                     const std::vector<std::string>& known) {
  const std::string& path = region.path;
  Diagnostic error = CannotPin(absl::StrCat("the region has no parameter `", parameter.path, "`"))
                         .At(parameter.path_span, path.empty() ? "a path that begins at the call"
                                                               : absl::StrCat("a path from `", path, "` on"));
  if (const auto nearest = NearestName(parameter.path, known)) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  constexpr size_t kMostListed = 8;
  const size_t listed = std::min(known.size(), kMostListed);
  const std::vector<std::string> first(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(listed));
  std::string note =
      known.empty() ? "the call makes no parameter" : absl::StrCat("there is ", QuotedList(first, "and"));
  if (listed < known.size())
    absl::StrAppend(&note, ", and ", Plural(static_cast<int64_t>(known.size() - listed), "more parameter"));
  error.notes.push_back(std::move(note));
  reporter_.Report(std::move(error));
}

void Regions::Finish(const ir::ParallelSettings& settings) {
  for (size_t region : open_objectives_) regions_[region].objective = settings.objective;
  if (!settings.dataset_given || settings.dataset == ir::DatasetLayout::kFullBatch) return;
  pins_.ReplaceDefaults(ir::DataParallelPin());
}

}  // namespace cleave::frontend
