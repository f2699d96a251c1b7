#include "tools/plan_diff/plan_view.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

absl::Status NeedFields(const Json& object, const std::string& where, std::initializer_list<const char*> fields) {
  if (!object.is_object()) return JsonError(where, "expected an object");
  for (const char* field : fields) {
    if (!object.contains(field)) return JsonError(where, absl::StrCat("the field \"", field, "\" is missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Names(const Json& list, const std::string& where) {
  if (!list.is_array()) return JsonError(where, "expected a list of mesh axes");
  std::vector<std::string> names;
  for (const Json& name : list) {
    if (!name.is_string()) return JsonError(where, "expected the name of a mesh axis");
    names.push_back(name.get<std::string>());
  }
  return absl::StrJoin(names, " ");
}

// "[m0 m1, -]"
absl::StatusOr<std::string> LayoutOf(const Json& dimensions, const std::string& where) {
  if (!dimensions.is_array()) return JsonError(where, "expected a list");
  std::vector<std::string> cuts;
  for (const Json& axes : dimensions) {
    CLEAVE_ASSIGN_OR_RETURN(std::string names, Names(axes, where));
    cuts.push_back(names.empty() ? "-" : std::move(names));
  }
  return absl::StrCat("[", absl::StrJoin(cuts, ", "), "]");
}

absl::StatusOr<std::string> CutsOf(const Json& op, const std::string& where) {
  if (!op.at("factors").is_object()) return JsonError(absl::StrCat(where, ".factors"), "expected an object");
  std::vector<std::string> cuts;
  for (const auto& [factor, axes] : op.at("factors").items()) {
    CLEAVE_ASSIGN_OR_RETURN(const std::string names, Names(axes, absl::StrCat(where, ".factors")));
    if (!names.empty()) cuts.push_back(absl::StrCat(factor, ": ", names));
  }
  std::string text = cuts.empty() ? "whole" : absl::StrJoin(cuts, ", ");
  if (op.contains("passes") && op.at("passes").is_array()) {
    for (const Json& pass : op.at("passes")) {
      CLEAVE_RETURN_IF_ERROR(NeedFields(pass, absl::StrCat(where, ".passes"), {"axis"}));
      CLEAVE_ASSIGN_OR_RETURN(const std::string axis, StringAt(pass, "axis", where));
      absl::StrAppend(&text, ", passes ", axis);
    }
  }
  if (op.contains("out_layout") && !op.at("out_layout").is_null()) {
    CLEAVE_ASSIGN_OR_RETURN(const std::string seen, LayoutOf(op.at("out_layout"), absl::StrCat(where, ".out_layout")));
    absl::StrAppend(&text, ", seen as ", seen);
  }
  return text;
}

absl::StatusOr<OpView> OpOf(const Json& op) {
  CLEAVE_RETURN_IF_ERROR(NeedFields(op, "ops", {"name", "factors"}));
  OpView view;
  CLEAVE_ASSIGN_OR_RETURN(view.name, StringAt(op, "name", "ops"));
  const std::string where = absl::StrCat("ops[`", view.name, "`]");
  CLEAVE_ASSIGN_OR_RETURN(view.cuts, CutsOf(op, where));
  if (!op.contains("choices")) return view;
  if (!op.at("choices").is_array()) return JsonError(where, "expected \"choices\" to be a list");
  for (const Json& choice : op.at("choices")) {
    CLEAVE_RETURN_IF_ERROR(NeedFields(choice, absl::StrCat(where, ".choices"), {"cost", "chosen"}));
    CLEAVE_ASSIGN_OR_RETURN(const double cost, NumberAt(choice, "cost", where));
    if (choice.at("chosen") == true) view.cost = cost;
  }
  return view;
}

absl::StatusOr<TensorView> TensorOf(const Json& tensor) {
  CLEAVE_RETURN_IF_ERROR(NeedFields(tensor, "tensors", {"name", "dtype", "shape", "layout", "partial"}));
  TensorView view;
  CLEAVE_ASSIGN_OR_RETURN(view.name, StringAt(tensor, "name", "tensors"));
  const std::string where = absl::StrCat("tensors[`", view.name, "`]");
  CLEAVE_ASSIGN_OR_RETURN(const std::string dtype, StringAt(tensor, "dtype", where));
  CLEAVE_ASSIGN_OR_RETURN(const std::string layout, LayoutOf(tensor.at("layout"), where));
  std::vector<std::string> sizes, partial;
  if (!tensor.at("shape").is_array()) return JsonError(where, "expected \"shape\" to be a list");
  for (const Json& size : tensor.at("shape")) sizes.push_back(size.dump());
  if (!tensor.at("partial").is_object()) return JsonError(where, "expected \"partial\" to be an object");
  for (const auto& [axis, reduction] : tensor.at("partial").items()) {
    if (!reduction.is_string()) return JsonError(where, "expected the name of a reduction");
    partial.push_back(absl::StrCat(axis, ": ", reduction.get<std::string>()));
  }
  view.layout = absl::StrCat(dtype, "[", absl::StrJoin(sizes, ", "), "] as ", layout,
                             partial.empty() ? "" : absl::StrCat(" partial(", absl::StrJoin(partial, ", "), ")"));
  return view;
}

absl::StatusOr<CollectiveView> CollectiveOf(const Json& collective) {
  CLEAVE_RETURN_IF_ERROR(NeedFields(collective, "collectives", {"kind", "phase", "sent_bytes"}));
  CollectiveView view;
  CLEAVE_ASSIGN_OR_RETURN(view.kind, StringAt(collective, "kind", "collectives"));
  CLEAVE_ASSIGN_OR_RETURN(view.phase, StringAt(collective, "phase", "collectives"));
  CLEAVE_ASSIGN_OR_RETURN(view.sent_bytes, NumberAt(collective, "sent_bytes", "collectives"));
  return view;
}

// Every item of the list in `field`, read by `read`.
template <typename Item, typename Read>
absl::Status ReadList(const Json& document, const char* field, const Read& read, std::vector<Item>& items) {
  if (!document.at(field).is_array()) return JsonError(field, "expected a list");
  for (const Json& json : document.at(field)) {
    CLEAVE_ASSIGN_OR_RETURN(Item item, read(json));
    items.push_back(std::move(item));
  }
  return absl::OkStatus();
}

absl::Status ReadSettings(const Json& document, PlanView& view) {
  const auto setting = [&](const std::string& name, const std::string& value) {
    view.settings.emplace_back(name, value);
  };
  const Json& model = document.at("model");
  CLEAVE_RETURN_IF_ERROR(NeedFields(model, "model", {"name", "hash"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string name, StringAt(model, "name", "model"));
  CLEAVE_ASSIGN_OR_RETURN(const std::string hash, StringAt(model, "hash", "model"));
  setting("model", absl::StrCat(name, " ", hash));
  const Json& cluster = document.at("cluster");
  CLEAVE_RETURN_IF_ERROR(NeedFields(cluster, "cluster", {"name", "devices"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string machines, StringAt(cluster, "name", "cluster"));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t devices, IntegerAt(cluster, "devices", "cluster"));
  setting("cluster", absl::StrCat(machines, ", ", Plural(devices, "device")));
  if (!document.at("mesh").is_array()) return JsonError("mesh", "expected a list");
  std::vector<std::string> axes;
  for (const Json& axis : document.at("mesh")) {
    CLEAVE_RETURN_IF_ERROR(NeedFields(axis, "mesh", {"axis", "size"}));
    CLEAVE_ASSIGN_OR_RETURN(const std::string own, StringAt(axis, "axis", "mesh"));
    CLEAVE_ASSIGN_OR_RETURN(const int64_t size, IntegerAt(axis, "size", "mesh"));
    axes.push_back(absl::StrCat(own, "=", size));
  }
  setting("mesh", axes.empty() ? "none" : absl::StrJoin(axes, " "));
  const Json& search = document.at("search");
  CLEAVE_RETURN_IF_ERROR(NeedFields(search, "search", {"algorithm", "objective", "price", "cost"}));
  for (const char* field : {"algorithm", "objective", "price"}) {
    CLEAVE_ASSIGN_OR_RETURN(const std::string value, StringAt(search, field, "search"));
    setting(field, value);
  }
  for (const char* field : {"gradient_weight", "zero"}) {
    if (!search.contains(field)) continue;
    CLEAVE_ASSIGN_OR_RETURN(const double value, NumberAt(search, field, "search"));
    setting(field, absl::StrCat(value));
  }
  return absl::OkStatus();
}

absl::Status ReadFigures(const Json& document, PlanView& view) {
  const auto figures = [&](const Json& object, const std::string& where, const std::string& prefix,
                           std::initializer_list<const char*> fields) -> absl::Status {
    if (!object.is_object()) return JsonError(where, "expected an object");
    for (const char* field : fields) {
      if (!object.contains(field) || object.at(field).is_null()) continue;
      CLEAVE_ASSIGN_OR_RETURN(const double value, NumberAt(object, field, where));
      view.figures.emplace_back(absl::StrCat(prefix, field), value);
    }
    return absl::OkStatus();
  };
  CLEAVE_RETURN_IF_ERROR(figures(document.at("search"), "search", "", {"cost", "lower_bound"}));
  const Json& predicted = document.at("predicted");
  CLEAVE_RETURN_IF_ERROR(figures(predicted, "predicted", "",
                                 {"sent_bytes_per_rank", "step_seconds", "compute_seconds", "communication_seconds"}));
  CLEAVE_RETURN_IF_ERROR(NeedFields(predicted, "predicted", {"memory_per_rank"}));
  return figures(predicted.at("memory_per_rank"), "predicted.memory_per_rank", "memory ",
                 {"parameters", "gradients", "optimizer", "activations", "buffers", "peak"});
}

absl::StatusOr<PlanView> ViewOf(const Json& document) {
  CLEAVE_RETURN_IF_ERROR(NeedFields(document, "plan", {"format", "version"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string format, StringAt(document, "format", "plan"));
  if (format != "cleave-plan") {
    return JsonError("plan.format", absl::StrCat("expected \"cleave-plan\", found \"", format, "\""));
  }
  CLEAVE_ASSIGN_OR_RETURN(const int64_t version, IntegerAt(document, "version", "plan"));
  if (version != 1) return JsonError("plan.version", absl::StrCat("this version reads 1, found ", version));
  CLEAVE_RETURN_IF_ERROR(NeedFields(
      document, "plan", {"model", "cluster", "mesh", "search", "ops", "tensors", "collectives", "predicted"}));
  PlanView view;
  CLEAVE_RETURN_IF_ERROR(ReadSettings(document, view));
  CLEAVE_RETURN_IF_ERROR(ReadList(document, "ops", OpOf, view.ops));
  CLEAVE_RETURN_IF_ERROR(ReadList(document, "tensors", TensorOf, view.tensors));
  CLEAVE_RETURN_IF_ERROR(ReadList(document, "collectives", CollectiveOf, view.collectives));
  CLEAVE_RETURN_IF_ERROR(ReadFigures(document, view));
  return view;
}

}  // namespace

absl::StatusOr<PlanView> ReadPlanView(absl::string_view text) {
  CLEAVE_ASSIGN_OR_RETURN(const Json document, ParseStrictJson(text));
  absl::StatusOr<PlanView> view = ViewOf(document);
  if (!view.ok()) return WithPlace(view.status(), text);
  return view;
}

}  // namespace cleave::tools
