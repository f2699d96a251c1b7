#include "frontend/variance/variance.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/text.h"
#include "ir/graph/manual/manual.h"

namespace cleave::frontend {
namespace {

class VarianceCheck {
 public:
  VarianceCheck(const Expansion& expansion, Reporter& reporter)
      : expansion_(expansion), graph_(expansion.graph), reporter_(reporter), variance_(ir::VarianceOf(graph_)) {}

  void Run() {
    if (graph_.loss) CheckEqual(*graph_.loss, "loss", *expansion_.loss);
    for (size_t i = 0; i < graph_.metrics.size(); ++i) {
      CheckEqual(graph_.metrics[i].value, "metric", expansion_.metrics[i]);
    }
    for (const ir::Op& op : graph_.ops) {
      if (op.kind == ir::OpKind::kAllReduce) CheckReduced(op);
    }
    CheckGradients();
    const IdVector<ir::OpId, std::vector<ir::OpId>> users = ir::Users(graph_);
    for (const auto& [input, span] : expansion_.inputs) CheckTaken(graph_.op(input), users[input]);
  }

 private:
  // The op that makes the value differ on an axis: going upwards from `id`, the last op that does not get the
  // difference from an input.
  ir::OpId Origin(ir::OpId id, ir::RankAxisSet axes) const {
    for (;;) {
      const std::vector<ir::OpId>& inputs = graph_.op(id).inputs;
      const auto varies = [&](ir::OpId input) { return !(variance_[input] & axes).empty(); };
      const auto next = std::find_if(inputs.begin(), inputs.end(), varies);
      if (next == inputs.end()) return id;
      id = *next;
    }
  }

  // The gradients of a manual model are proven against differences of its loss (ir/proof/check/directional.h), so they
  // are those of the whole loss.
  void CheckGradients() {
    const auto refuse = [&](const std::string& what, Span span) {
      reporter_.Report(Error(Code::kE0220, absl::StrCat(what, " in a manual model"))
                           .At(span, "gradients are not those of the whole loss")
                           .Note("the proof of a manual model compares its gradients with differences of the loss"));
    };
    for (const Trainer& trainer : expansion_.trainers) refuse("`trains`", trainer.span);
    for (const ir::Op& op : graph_.ops) {
      if (op.kind != ir::OpKind::kStopGradient) continue;
      return refuse(absl::StrCat("`stop_gradient`, line ", op.line, ","), *expansion_.loss);
    }
  }

  void CheckEqual(ir::OpId id, const std::string& what, Span span) {
    const ir::RankAxisSet axes = variance_[id];
    if (axes.empty()) return;
    Diagnostic error = Error(Code::kE0706, absl::StrCat("the ", what, " differs between ranks"))
                           .At(span, ir::VarianceText(graph_.rank_axes, axes));
    const auto origin = expansion_.rank_places.find(Origin(id, axes));
    if (origin != expansion_.rank_places.end()) {
      error.labels.push_back({origin->second, "from here on ranks have values of their own"});
    }
    const bool all = axes == ir::AllAxes(graph_.rank_axes);
    const std::string group = all ? "" : absl::StrCat(", group = group(", GroupNames(axes), ")");
    reporter_.Report(std::move(error)
                         .Note("ranks have one value of it: they train one model")
                         .Help(absl::StrCat("`", what, " all_reduce(…, mean", group, ");`")));
  }

  // "dp", "tp"
  std::string GroupNames(ir::RankAxisSet group) const {
    return absl::StrCat("\"", absl::StrJoin(ir::NamesOf(graph_.rank_axes, group), "\", \""), "\"");
  }

  // A maximum or minimum of equal values is that value; a sum or product is not.
  void CheckReduced(const ir::Op& op) {
    const ir::RankAxisSet group = ir::GroupOf(graph_.rank_axes, op.attributes.Get(ir::attribute::kGroup));
    const std::string& reduction = op.attributes.Get(ir::attribute::kReduction);
    const int64_t members = ir::GroupSize(graph_.rank_axes, group);
    const ir::RankAxisSet varying = variance_[op.inputs[0]];
    const int64_t copies = ir::GroupSize(graph_.rank_axes, group - varying);
    if (members == 1 || copies == 1 || reduction == "max" || reduction == "min") return;
    const auto place = expansion_.rank_places.find(op.id);
    if (place == expansion_.rank_places.end()) return;
    const bool all = copies == members;
    const std::string what = all ? "is equal on all ranks of the group"
                                 : absl::StrCat("is equal on ranks that differ on ", GroupNames(group - varying));
    reporter_.Report(Warning(Code::kW0701, "an all_reduce of a value that is already equal")
                         .At(place->second, absl::StrCat("`x` ", what))
                         .Note(reduction == "sum" ? absl::StrCat("the sum counts it ", copies, " times")
                                                  : absl::StrCat("the product takes it ", copies, " times"))
                         .Help("leave the all_reduce out, or divide by that number: `mean` does"));
  }

  // Whether the ranks' slices of an input leave out samples.
  void CheckTaken(const ir::Op& input, const std::vector<ir::OpId>& users) {
    if (users.empty()) return;
    const int64_t batch = input.type.shape.empty() ? 1 : input.type.shape[0];
    std::vector<bool> taken(static_cast<size_t>(batch), false);
    for (const ir::OpId id : users) {
      const ir::Op& user = graph_.op(id);
      if (user.kind != ir::OpKind::kRankSlice || user.attributes.Get(ir::attribute::kAxis) != 0) return;
      for (const int64_t start : user.attributes.Get(ir::attribute::kStarts)) {
        std::fill_n(taken.begin() + start, user.attributes.Get(ir::attribute::kSize), true);
      }
    }
    const int64_t left = std::count(taken.begin(), taken.end(), false);
    const auto place = expansion_.rank_places.find(users.front());
    if (left == 0 || place == expansion_.rank_places.end()) return;
    const int64_t ranks = ir::RankCount(graph_.rank_axes);
    reporter_.Report(
        Warning(Code::kW0702, absl::StrCat("no rank reads ", left, " of the ", batch, " samples of `", input.name, "`"))
            .At(place->second, absl::StrCat("the slices of ", ranks, " ranks leave them out"))
            .Help(absl::StrCat("take a batch that ", Plural(ranks, "rank"), " divide evenly")));
  }

  const Expansion& expansion_;
  const ir::Graph& graph_;
  Reporter& reporter_;
  const IdVector<ir::OpId, ir::RankAxisSet> variance_;
};

}  // namespace

void CheckVariance(const Expansion& expansion, Reporter& reporter) { VarianceCheck(expansion, reporter).Run(); }

}  // namespace cleave::frontend
