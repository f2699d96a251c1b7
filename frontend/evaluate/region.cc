// `#[region(…)]` on a call: the ops that the call makes, with a border of identities around them that carry its pins.
//
// OpenRegion reads the attribute before the call is evaluated, EnterRegion gives the arguments their border once they
// are known, CloseRegion the results. Ops between these two belong to the region.
#include "frontend/attributes/region.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

std::string Entries(size_t count) { return count == 1 ? "1 entry" : absl::StrCat(count, " entries"); }

// The tensors of a value: itself, or the elements of a tuple.
void CollectTensors(Value& value, const syntax::Expression* place,
                    std::vector<std::pair<Value*, const syntax::Expression*>>& tensors) {
  if (value.is_tensor()) tensors.push_back({&value, place});
  if (!value.is_tuple()) return;
  for (Value& element : std::get<TupleValue>(value.kind).elements) CollectTensors(element, place, tensors);
}

const syntax::Call* OutermostCall(const syntax::Expression& expression) {
  if (const auto* attributed = std::get_if<syntax::Attributed>(&expression.kind)) {
    return OutermostCall(*attributed->operand);
  }
  return std::get_if<syntax::Call>(&expression.kind);
}

// The arguments in the order of the signature; those that a last argument takes as they stand come last.
std::vector<const syntax::Argument*> InOrder(const syntax::Call& call,
                                             absl::Span<const syntax::Argument* const> matched) {
  std::vector<const syntax::Argument*> arguments;
  for (const syntax::Argument* argument : matched) {
    if (argument != nullptr) arguments.push_back(argument);
  }
  for (const syntax::Argument& argument : call.arguments) {
    if (std::find(arguments.begin(), arguments.end(), &argument) == arguments.end()) arguments.push_back(&argument);
  }
  return arguments;
}

}  // namespace

bool Evaluator::OpenRegion(const std::vector<syntax::Attribute>& attributes, const syntax::Expression& expression,
                           Frame& frame) {
  const syntax::Attribute* region = nullptr;
  for (const syntax::Attribute& attribute : attributes) {
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
  const syntax::Call* call = OutermostCall(expression);
  if (!MayOpen(*region, call)) return false;
  const IntEvaluator evaluate = [this, &frame](const syntax::Expression& number, const std::string& what) {
    return EvaluateInt(number, what, &frame);
  };
  std::optional<RegionDemand> demand = ReadRegion(*region, evaluate, reporter_);
  if (!demand) return false;
  regions_.push_back({.attribute = region, .call = call, .demand = *std::move(demand), .path = "", .first = -1});
  return true;
}

bool Evaluator::MayOpen(const syntax::Attribute& region, const syntax::Call* call) {
  const auto refuse = [&](Code code, std::string message, std::string label) {
    reporter_.Report(Error(code, std::move(message)).At(region.span, std::move(label)));
    return false;
  };
  if (call == nullptr) {
    return refuse(Code::kE0305, "`#[region]` stands on no call",
                  "a region is what a call of a function or an op makes");
  }
  if (graph().is_manual()) return refuse(Code::kE0322, "a region in a manual model", "every op runs as it is written");
  if (vmap_depth_ > 0) return refuse(Code::kE0322, "a region inside of what `vmap` maps", "opened for each element");
  for (const RegionUnderWay& other : regions_) {
    if (other.first < 0 && other.call != call) continue;
    reporter_.Report(Error(Code::kE0322, "a region inside a region")
                         .At(region.span, "the inner one")
                         .At(other.attribute->span, "the outer one")
                         .Help("keep one of them"));
    return false;
  }
  return true;
}

void Evaluator::EnterRegion(const syntax::Call& call, const std::string& path,
                            absl::Span<const syntax::Argument* const> matched, ArgumentValues& values) {
  if (regions_.empty() || regions_.back().call != &call || regions_.back().first >= 0) return;
  RegionUnderWay& region = regions_.back();
  region.path = path;
  region.first = static_cast<int>(builder_.graph().ops.size());
  std::vector<std::pair<Value*, const syntax::Expression*>> tensors;
  for (const syntax::Argument* argument : InOrder(call, matched)) {
    CollectTensors(values[argument], &*argument->value, tensors);
  }
  const std::optional<std::vector<RegionInput>>& in = region.demand.in;
  const bool fits = !in || in->size() == tensors.size();
  if (!fits) {
    Diagnostic error = Error(Code::kE0320, absl::StrCat("`in` has ", Entries(in->size()), ", but the call takes ",
                                                        Plural(static_cast<int64_t>(tensors.size()), "tensor")))
                           .At(region.demand.in_span, "one entry for each tensor that the call takes");
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorType& type = builder_.type(tensors[i].first->as_tensor());
      error.labels.push_back({tensors[i].second->span, absl::StrCat("tensor ", i, " is ", type.ToString())});
    }
    reporter_.Report(std::move(error).Help("`auto` leaves an entry open"));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const OpId argument = tensors[i].first->as_tensor();
    const OpId border = AddBorder(argument, absl::StrCat("in_", i), tensors[i].second->span);
    *tensors[i].first = Value{TensorValue{border}};
    if (!in || !fits || !(*in)[i].counts) continue;
    const RegionInput& entry = (*in)[i];
    if (!CheckBorder(*entry.counts, entry.span, argument, absl::StrCat("tensor ", i), tensors[i].second->span))
      continue;
    Record({border, ShardPin{.in = {entry.counts}, .out = std::nullopt}, entry.span});
  }
}

OpId Evaluator::AddBorder(OpId value, const std::string& name, Span place) {
  builder_.SetLine(reporter_.ModelLine(place));
  return builder_.Add(OpKind::kIdentity, {value}, {}, Join(regions_.back().path, name));
}

bool Evaluator::CheckBorder(const std::vector<Placed<int64_t>>& counts, Span place, OpId tensor,
                            const std::string& what, Span tensor_place) {
  const TensorType& type = builder_.type(tensor);
  if (static_cast<int>(counts.size()) == type.rank()) return true;
  reporter_.Report(
      Error(Code::kE0320, absl::StrCat("slices for ", Plural(static_cast<int64_t>(counts.size()), "dimension"),
                                       ", but ", what, " has ", type.rank()))
          .At(place, "one number for each dimension")
          .At(tensor_place, absl::StrCat("this is ", type.ToString())));
  return false;
}

Value Evaluator::CloseRegion(Value result, const syntax::Expression& expression) {
  const RegionUnderWay region = regions_.back();
  std::vector<std::pair<Value*, const syntax::Expression*>> tensors;
  CollectTensors(result, &expression, tensors);
  if (region.first < 0 || tensors.empty()) {
    regions_.pop_back();
    if (!result.is_poison()) {
      reporter_.Report(Error(Code::kE0305, "`#[region]` stands on no call of a function or an op")
                           .At(region.attribute->span, "a region is what such a call makes")
                           .At(expression.span, absl::StrCat("this is ", DescribeType(result, graph()))));
    }
    return result;
  }
  PinResults(region, expression.span, tensors);
  PinParameters(region);
  const int end = static_cast<int>(builder_.graph().ops.size());
  Region made{.name = region.path,
              .ops = {},
              .objective = region.demand.objective.value_or(Objective::kSpeed),
              .device = region.demand.device,
              .span = region.attribute->span,
              .device_span = region.demand.device_span};
  if (made.name.empty() && last_operation_) made.name = last_operation_->callee;
  for (int i = region.first; i < end; ++i) {
    if (DefinitionOf(graph().op(OpId(i))).op_class != OpClass::kSource) made.ops.push_back(OpId(i));
  }
  if (!region.demand.objective) open_objectives_.push_back(expansion_.regions.size());
  expansion_.regions.push_back(std::move(made));
  if (last_operation_) {
    last_operation_->first = region.first;
    last_operation_->end = end;
  }
  regions_.pop_back();
  return result;
}

void Evaluator::PinResults(const RegionUnderWay& region, Span place, const TensorPlaces& results) {
  const std::optional<std::vector<RegionOutput>>& out = region.demand.out;
  const bool fits = !out || out->size() == results.size();
  if (!fits) {
    reporter_.Report(Error(Code::kE0320, absl::StrCat("`out` has ", Entries(out->size()), ", but the call has ",
                                                      Plural(static_cast<int64_t>(results.size()), "result")))
                         .At(region.demand.out_span, "one entry for each result")
                         .At(place, "of this call"));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const OpId result = results[i].first->as_tensor();
    const OpId border = AddBorder(result, results.size() == 1 ? "out" : absl::StrCat("out_", i), place);
    *results[i].first = Value{TensorValue{border}};
    if (!out || !fits) {
      default_outputs_.push_back(expansion_.pins.size());
      expansion_.pins.push_back({border, ReplicatePin(), region.attribute->span});
      continue;
    }
    const RegionOutput& entry = (*out)[i];
    switch (entry.layout) {
      case RegionOutput::Layout::kAuto:
        break;
      case RegionOutput::Layout::kDataParallel:
        Record({border, DataParallelPin(), entry.span});
        break;
      case RegionOutput::Layout::kFullBatch:
        Record({border, ReplicatePin(), entry.span});
        break;
      case RegionOutput::Layout::kCounts: {
        if (!entry.counts) break;  // Reported.
        const std::string what = results.size() == 1 ? "the result" : absl::StrCat("result ", i);
        if (!CheckBorder(*entry.counts, entry.span, result, what, place)) break;
        Record({border, ShardPin{.in = {entry.counts}, .out = std::nullopt}, entry.span});
        break;
      }
    }
  }
}

void Evaluator::PinParameters(const RegionUnderWay& region) {
  std::vector<std::string> known;
  const std::string prefix = region.path.empty() ? "" : absl::StrCat(region.path, ".");
  for (int i = region.first; i < static_cast<int>(graph().ops.size()); ++i) {
    const Op& op = graph().op(OpId(i));
    if (op.kind == OpKind::kParameter && absl::StartsWith(op.name, prefix))
      known.push_back(op.name.substr(prefix.size()));
  }
  std::map<std::string, Span> named;
  for (const RegionParameter& parameter : region.demand.params) {
    const auto [first, is_new] = named.emplace(parameter.path, parameter.path_span);
    if (!is_new) {
      reporter_.Report(Error(Code::kE0321, absl::StrCat("parameter `", parameter.path, "` is named twice"))
                           .At(parameter.path_span, "named again here")
                           .At(first->second, "first named here"));
      continue;
    }
    if (std::find(known.begin(), known.end(), parameter.path) == known.end()) {
      ReportUnknownParameter(region, parameter, known);
      continue;
    }
    const OpId op = *graph().Find(absl::StrCat(prefix, parameter.path));
    if (!parameter.counts) continue;
    const Span place = expansion_.parameters.at(op);
    if (!CheckBorder(*parameter.counts, parameter.span, op, absl::StrCat("`", parameter.path, "`"), place)) continue;
    region_parameters_.emplace(op, parameter.path_span);
    Record({op, ShardPin{.in = {}, .out = parameter.counts}, parameter.span});
  }
}

void Evaluator::ReportUnknownParameter(const RegionUnderWay& region, const RegionParameter& parameter,
                                       const std::vector<std::string>& known) {
  const std::string& path = region.path;
  Diagnostic error = Error(Code::kE0321, absl::StrCat("the region has no parameter `", parameter.path, "`"))
                         .At(parameter.path_span, path.empty() ? "a path from that of the call"
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

void Evaluator::FinishRegions(const ParallelSettings& settings) {
  for (size_t region : open_objectives_) expansion_.regions[region].objective = settings.objective;
  if (!settings.dataset_given || settings.dataset == DatasetLayout::kFullBatch) return;
  for (size_t pin : default_outputs_) expansion_.pins[pin].demand = DataParallelPin();
}

}  // namespace cleave::frontend
