#include "frontend/attributes/attributes.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/attributes/counts.h"

namespace cleave::frontend {
namespace {

class AttributeReader {
 public:
  AttributeReader(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate, Reporter& reporter)
      : attribute_(attribute), evaluate_(evaluate), reporter_(reporter) {}

  std::optional<Demand> Read() {
    const std::string& name = attribute_.name.text;
    if (name == "shard") return ReadShard();
    if (name == "layout") return ReadLayout();
    if (name == "replicate") return ReadWord(ir::ReplicatePin());
    if (name == "priority") return ReadNumber<PriorityDemand>("a priority");
    if (name == "stage") return ReadNumber<StageDemand>("a stage");
    for (const ir::Retention retention : {ir::Retention::kRecompute, ir::Retention::kKeep, ir::Retention::kOffload}) {
      if (name == ir::RetentionName(retention)) return ReadWord(RetentionDemand{retention});
    }
    if (name == "region") {
      reporter_.Report(Error(Code::kE0305, "`region` applies to no call")
                           .At(attribute_.span, "a region consists of the ops of one call")
                           .Help("write `#[region(…)]` before the call"));
      return std::nullopt;
    }
    if (name == "manual" || name == "local") {
      reporter_.Report(
          Error(Code::kE0305, absl::StrCat("`#[", name, "]` has no meaning here"))
              .At(attribute_.span, name == "manual" ? "is written above the model" : "applies to no `param`"));
      return std::nullopt;
    }
    const std::vector<std::string> names = {"shard",     "layout", "replicate", "priority", "stage",
                                            "recompute", "keep",   "offload",   "region"};
    Diagnostic error = Error(Code::kE0303, absl::StrCat("unknown attribute `", name, "`"))
                           .At(attribute_.name.span, absl::StrCat("expected ", QuotedList(names, "or")));
    if (name == "share") {
      error.help.push_back(
          "calls of one layer share parameters: `let tower = layer f(…);`, then `tower(x)`, `tower(y)`");
    } else if (auto nearest = NearestName(name, names)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    reporter_.Report(std::move(error));
    return std::nullopt;
  }

 private:
  void Malformed(Span span, std::string message, std::string label, std::string help = "") {
    ReportMalformed(span, std::move(message), std::move(label), std::move(help), reporter_);
    ok_ = false;
  }

  ir::CountsPin ReadCounts(const dsl::syntax::Expression& expression) {
    return frontend::ReadCounts(expression, evaluate_, reporter_, ok_);
  }

  std::optional<Demand> ReadShard() {
    ir::ShardPin pin;
    bool in_given = false;
    if (attribute_.arguments.empty()) {
      Malformed(attribute_.span, "`shard` needs the slices of each input", "nothing given",
                "such as `#[shard((4, 2), (1, 2))]`");
    }
    for (const dsl::syntax::Argument& argument : attribute_.arguments) {
      if (!argument.name) {
        if (in_given) Malformed(argument.span, "inputs are given twice", "`in = …` has them already");
        pin.in.push_back(ReadCounts(*argument.value));
      } else if (argument.name->text == "in") {
        const auto* tuple = std::get_if<dsl::syntax::Tuple>(&argument.value->kind);
        if (in_given || !pin.in.empty()) Malformed(argument.span, "inputs are given twice", "given again here");
        in_given = true;
        if (IsWord(*argument.value, "auto")) continue;
        if (tuple == nullptr) {
          Malformed(argument.value->span, "`in` is a tuple with one entry per input", "expected a tuple",
                    "such as `in = ((8, 1), auto)`");
          continue;
        }
        for (const dsl::syntax::Argument& element : tuple->elements) pin.in.push_back(ReadCounts(*element.value));
      } else if (argument.name->text == "out") {
        if (pin.out) Malformed(argument.span, "`out` is given twice", "given again here");
        pin.out = ReadCounts(*argument.value);
      } else {
        Malformed(argument.name->span, absl::StrCat("`shard` has no argument `", argument.name->text, "`"),
                  "expected `in` or `out`");
      }
    }
    if (!ok_) return std::nullopt;
    return Demand(std::move(pin));
  }

  void ReadAxis(const dsl::syntax::Expression& expression, std::vector<ir::Placed<std::string>>& axes) {
    if (const auto* text = std::get_if<dsl::syntax::StringLiteral>(&expression.kind)) {
      axes.push_back({text->value, expression.span});
      for (const ir::Placed<std::string>& earlier : axes_) {
        if (earlier.value != text->value) continue;
        reporter_.Report(Error(Code::kE0308, absl::StrCat("mesh axis `", text->value, "` is used twice in one layout"))
                             .At(expression.span, "used again here")
                             .At(earlier.span, "first used here")
                             .Note("an axis cuts at most one dimension of a tensor"));
        ok_ = false;
        return;
      }
      axes_.push_back(axes.back());
      return;
    }
    Malformed(expression.span, "a layout names mesh axes", "expected a string such as \"dp\", or `_`");
  }

  std::optional<Demand> ReadLayout() {
    ir::LayoutPin pin;
    for (const dsl::syntax::Argument& argument : attribute_.arguments) {
      if (argument.name) Malformed(argument.name->span, "the dimensions of a layout have no names", "no name here");
      std::vector<ir::Placed<std::string>> axes;
      if (const auto* tuple = std::get_if<dsl::syntax::Tuple>(&argument.value->kind)) {
        for (const dsl::syntax::Argument& element : tuple->elements) ReadAxis(*element.value, axes);
      } else if (!std::holds_alternative<dsl::syntax::Wildcard>(argument.value->kind)) {
        ReadAxis(*argument.value, axes);
      }
      pin.dimensions.push_back(std::move(axes));
    }
    if (!ok_) return std::nullopt;
    return Demand(std::move(pin));
  }

  // An attribute whose name says everything.
  std::optional<Demand> ReadWord(Demand demand) {
    const std::string& name = attribute_.name.text;
    if (!attribute_.arguments.empty()) {
      Malformed(attribute_.arguments.front().span, absl::StrCat("`", name, "` takes no arguments"),
                absl::StrCat("write `#[", name, "]`"));
      return std::nullopt;
    }
    return demand;
  }

  template <typename Number>
  std::optional<Demand> ReadNumber(const std::string& what) {
    const std::string& name = attribute_.name.text;
    if (attribute_.arguments.size() != 1 || attribute_.arguments[0].name) {
      Malformed(attribute_.span, absl::StrCat("`", name, "` takes one int"),
                absl::StrCat("such as `#[", name, "(0)]`"));
      return std::nullopt;
    }
    const std::optional<int64_t> value = evaluate_(*attribute_.arguments[0].value, what);
    if (!value) return std::nullopt;
    if (*value < 0) {
      Malformed(attribute_.arguments[0].span, absl::StrCat(what, " is not negative"), absl::StrCat("this is ", *value));
      return std::nullopt;
    }
    return Demand(Number{*value});
  }

  const dsl::syntax::Attribute& attribute_;
  const IntEvaluator& evaluate_;
  Reporter& reporter_;
  std::vector<ir::Placed<std::string>> axes_;
  bool ok_ = true;
};

}  // namespace

bool IsAboutOne(const std::string& attribute) { return attribute == "shard" || attribute == "layout"; }

std::optional<Demand> ReadAttribute(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                    Reporter& reporter) {
  return AttributeReader(attribute, evaluate, reporter).Read();
}

std::optional<dsl::syntax::Attribute> TakeAttribute(const std::string& name,
                                                    std::vector<dsl::syntax::Attribute>& attributes,
                                                    Reporter& reporter) {
  std::optional<dsl::syntax::Attribute> taken;
  std::vector<dsl::syntax::Attribute> others;
  for (dsl::syntax::Attribute& attribute : attributes) {
    if (attribute.name.text != name) {
      others.push_back(std::move(attribute));
    } else if (!taken.has_value()) {
      taken = std::move(attribute);
    } else {
      reporter.Report(Error(Code::kE0202, absl::StrCat("`", name, "` is given twice"))
                          .At(attribute.span, "given again here")
                          .At(taken->span, "first given here"));
    }
  }
  attributes = std::move(others);
  return taken;
}

}  // namespace cleave::frontend
