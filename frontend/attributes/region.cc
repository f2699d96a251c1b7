#include "frontend/attributes/region.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/attributes/counts.h"

namespace cleave::frontend {
namespace {

struct NamedObjective {
  const char* name;
  int64_t level;
  ir::Objective value;
};

constexpr std::array<NamedObjective, 3> kObjectives = {{
    {"compute_to_communication", 0, ir::Objective::kComputeToCommunication},
    {"memory", 1, ir::Objective::kMemory},
    {"speed", 2, ir::Objective::kSpeed},
}};

class RegionReader {
 public:
  RegionReader(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate, Reporter& reporter)
      : attribute_(attribute), evaluate_(evaluate), reporter_(reporter) {}

  std::optional<RegionDemand> Read() {
    std::set<std::string> given;
    for (const dsl::syntax::Argument& argument : attribute_.arguments) {
      if (!argument.name) {
        Malformed(argument.span, "the arguments of `region` have names", "expected a name before this",
                  "such as `in = ((4, 2), auto)`");
      } else if (!given.insert(argument.name->text).second) {
        Malformed(argument.span, absl::StrCat("`", argument.name->text, "` is given twice"), "given again here");
      } else {
        ReadArgument(*argument.name, *argument.value);
      }
    }
    if (!ok_) return std::nullopt;
    return std::move(demand_);
  }

 private:
  void Malformed(Span span, std::string message, std::string label, std::string help = "") {
    ReportMalformed(span, std::move(message), std::move(label), std::move(help), reporter_);
    ok_ = false;
  }

  void ReadArgument(const dsl::syntax::Identifier& name, const dsl::syntax::Expression& value) {
    if (name.text == "in") return ReadIn(value);
    if (name.text == "out") return ReadOut(value);
    if (name.text == "params") return ReadParams(value);
    if (name.text == "objective") return ReadObjective(value);
    if (name.text == "device") return ReadDevice(value);
    const std::vector<std::string> names = {"in", "out", "params", "objective", "device"};
    const auto nearest = NearestName(name.text, names);
    Malformed(name.span, absl::StrCat("`region` has no argument `", name.text, "`"),
              absl::StrCat("expected ", QuotedList(names, "or")),
              nearest ? absl::StrCat("did you mean `", *nearest, "`?") : "");
  }

  void ReadIn(const dsl::syntax::Expression& value) {
    demand_.in_span = value.span;
    if (IsWord(value, "auto")) return;
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&value.kind);
    if (tuple == nullptr) {
      Malformed(value.span, "`in` is a tuple with one entry per argument", "expected a tuple",
                "such as `in = ((8, 1), auto)`");
      return;
    }
    demand_.in.emplace();
    for (const dsl::syntax::Argument& element : tuple->elements) {
      demand_.in->push_back({ReadCounts(*element.value, evaluate_, reporter_, ok_), element.span});
    }
  }

  static bool IsLayoutWord(const dsl::syntax::Expression& expression) {
    return IsWord(expression, "auto") || IsWord(expression, "data_parallel") || IsWord(expression, "full_batch");
  }

  RegionOutput ReadResult(const dsl::syntax::Expression& value) {
    RegionOutput output{.layout = RegionOutput::Layout::kAuto, .counts = std::nullopt, .span = value.span};
    if (IsWord(value, "data_parallel")) {
      output.layout = RegionOutput::Layout::kDataParallel;
    } else if (IsWord(value, "full_batch")) {
      output.layout = RegionOutput::Layout::kFullBatch;
    } else if (!IsWord(value, "auto")) {
      output.layout = RegionOutput::Layout::kCounts;
      output.counts = ReadCounts(value, evaluate_, reporter_, ok_);
    }
    return output;
  }

  void ReadOut(const dsl::syntax::Expression& value) {
    demand_.out_span = value.span;
    demand_.out.emplace();
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&value.kind);
    if (tuple == nullptr && !IsLayoutWord(value)) {
      Malformed(value.span, "`out` gives the layout of the result",
                "expected `data_parallel`, `full_batch`, `auto` or a tuple with one number per dimension");
      return;
    }
    const bool has_entries =
        tuple != nullptr &&
        std::any_of(tuple->elements.begin(), tuple->elements.end(), [](const dsl::syntax::Argument& element) {
          return std::holds_alternative<dsl::syntax::Tuple>(element.value->kind) || IsLayoutWord(*element.value);
        });
    if (!has_entries) {
      demand_.out->push_back(ReadResult(value));
      return;
    }
    for (const dsl::syntax::Argument& element : tuple->elements) demand_.out->push_back(ReadResult(*element.value));
  }

  void ReadParams(const dsl::syntax::Expression& value) {
    const auto* map = std::get_if<dsl::syntax::Map>(&value.kind);
    if (map == nullptr) {
      Malformed(value.span, "`params` gives parameters their slices by name", "expected a map",
                "such as `params = { \"dense2.weight\": (8, 1) }`");
      return;
    }
    for (const dsl::syntax::MapEntry& entry : map->entries) {
      demand_.params.push_back({.path = entry.key.value,
                                .path_span = entry.key_span,
                                .counts = ReadCounts(*entry.value, evaluate_, reporter_, ok_),
                                .span = entry.value->span});
    }
  }

  void ReadObjective(const dsl::syntax::Expression& value) {
    const auto* level = std::get_if<dsl::syntax::IntegerLiteral>(&value.kind);
    std::vector<std::string> names;
    for (const NamedObjective& objective : kObjectives) {
      names.push_back(objective.name);
      if (IsWord(value, objective.name) || (level != nullptr && level->value == objective.level)) {
        demand_.objective = objective.value;
        return;
      }
    }
    Malformed(value.span, "`objective` takes one of a few words",
              absl::StrCat("expected ", QuotedList(names, "or"), ", which are the levels 0, 1 and 2"));
  }

  void ReadDevice(const dsl::syntax::Expression& value) {
    demand_.device_span = value.span;
    if (IsWord(value, "cpu")) {
      demand_.device = ir::RegionDevice::kCpu;
    } else if (IsWord(value, "gpu")) {
      demand_.device = ir::RegionDevice::kGpu;
    } else {
      Malformed(value.span, "`device` takes one of two words", "expected `cpu` or `gpu`");
    }
  }

  const dsl::syntax::Attribute& attribute_;
  const IntEvaluator& evaluate_;
  Reporter& reporter_;
  RegionDemand demand_;
  bool ok_ = true;
};

}  // namespace

std::optional<RegionDemand> ReadRegion(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                       Reporter& reporter) {
  return RegionReader(attribute, evaluate, reporter).Read();
}

}  // namespace cleave::frontend
