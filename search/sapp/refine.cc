#include "search/sapp/refine.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "search/sapp/choices.h"
#include "search/sapp/greedy.h"

namespace cleave {
namespace {

using Class = std::vector<OpId>;

// "x.3.attn.qkv.matmul" -> "x.#.attn.qkv.matmul"
std::string Place(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (std::string& part : parts) {
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos) part = "#";
  }
  return absl::StrJoin(parts, ".");
}

class Refinement {
 public:
  Refinement(Assignment& assignment, const Bundles& bundles, int64_t work)
      : assignment_(assignment),
        bundles_(bundles),
        last_(assignment.work() + work),
        axes_(assignment.mesh().AxisIds()) {}

  bool Run() {
    const GraphFacts& facts = assignment_.facts();
    std::vector<OpId> products, heads;
    for (OpId product : ProductsOf(facts)) {
      if (!assignment_.fixed(product)) products.push_back(product);
    }
    for (const std::vector<OpId>& bundle : bundles_.bundles) heads.push_back(bundle[0]);
    const Cost start = assignment_.cost();
    const std::vector<Class> product_classes = FoldedClasses(facts, products);
    const std::vector<Class> head_classes = FoldedClasses(facts, heads);
    Descend(product_classes, head_classes, facts);
    // Layers that are equal but for their neighbours may differ in the best plan.
    if (product_classes.size() < products.size() || head_classes.size() < heads.size()) {
      std::vector<Class> single_products, single_heads;
      for (OpId op : products) single_products.push_back({op});
      for (OpId op : heads) single_heads.push_back({op});
      Descend(single_products, single_heads, facts);
    }
    return Cheaper(assignment_.cost(), start);
  }

 private:
  bool Spent() const { return assignment_.work() >= last_; }

  void Descend(const std::vector<Class>& products, const std::vector<Class>& heads, const GraphFacts& facts) {
    bool improved = true;
    while (improved && !Spent()) {
      improved = false;
      for (const Class& products_of_class : products) {
        for (AxisId axis : axes_) improved |= MoveProducts(products_of_class, {axis});
        if (axes_.size() > 1) improved |= MoveProducts(products_of_class, axes_);
        improved |= Reorder(products_of_class);
      }
      for (const Class& heads_of_class : heads) {
        for (AxisId axis : axes_) improved |= MoveBundles(heads_of_class, {axis});
        if (axes_.size() > 1) improved |= MoveBundles(heads_of_class, axes_);
      }
      if (!improved) improved = MovePairs(products, facts);
      if (!improved) improved = MoveSingleLightOps(heads);
    }
  }

  // Keeps the change that `change` makes, alone or with the light ops around `products` following, if the plan gets
  // cheaper.
  template <typename ChangeFn>
  bool Try(const Class& products, const std::vector<AxisId>& axes, const ChangeFn& change) {
    const Cost before = assignment_.cost();
    const int mark = assignment_.mark();
    for (int variant = 0; variant < 4; ++variant) {
      if (!change()) {
        assignment_.Rollback(mark);
        return false;
      }
      for (OpId product : products) {
        for (AxisId axis : axes) {
          if (variant & 1) FollowDown(assignment_, bundles_, product, axis);
          if (variant & 2) FollowUp(assignment_, bundles_, product, axis);
        }
      }
      if (Cheaper(assignment_.cost(), before)) return true;
      assignment_.Rollback(mark);
    }
    return false;
  }

  // All ops of the class to `factor` on `axes`; false where one of them cannot.
  bool Move(const Class& products, const std::vector<AxisId>& axes, int factor) {
    const Rule& rule = assignment_.facts().rule(products[0]);
    std::vector<Change> changes;
    for (OpId product : products) {
      Strategy strategy = assignment_.strategy(product);
      for (AxisId axis : axes) strategy = Without(strategy, axis);
      for (AxisId axis : axes) {
        const std::vector<int> fitting = FactorsFor(strategy, rule, assignment_.mesh(), axis);
        if (std::find(fitting.begin(), fitting.end(), factor) == fitting.end()) return false;
        strategy = *Moved(strategy, rule, assignment_.mesh(), factor, axis);
      }
      changes.push_back({.op = product, .strategy = std::move(strategy)});
    }
    assignment_.Apply(changes);
    return true;
  }

  bool MoveProducts(const Class& products, const std::vector<AxisId>& axes) {
    const Rule& rule = assignment_.facts().rule(products[0]);
    bool improved = false;
    for (int factor = 0; factor < static_cast<int>(rule.factors.size()) && !Spent(); ++factor) {
      const Strategy& current = assignment_.strategy(products[0]);
      if (std::all_of(axes.begin(), axes.end(), [&](AxisId axis) { return FactorCutBy(current, axis) == factor; }))
        continue;
      improved |= Try(products, axes, [&] { return Move(products, axes, factor); });
    }
    return improved;
  }

  // Two neighbouring axes of one factor change places.
  bool Reorder(const Class& products) {
    bool improved = false;
    const size_t factors = assignment_.facts().rule(products[0]).factors.size();
    for (size_t factor = 0; factor < factors; ++factor) {
      const size_t count = assignment_.strategy(products[0]).cuts[factor].size();
      for (size_t i = 0; i + 1 < count && !Spent(); ++i) {
        const std::vector<AxisId> axes = assignment_.strategy(products[0]).cuts[factor];
        improved |= Try(products, {axes[i], axes[i + 1]}, [&] {
          std::vector<Change> changes;
          for (OpId product : products) {
            Strategy strategy = assignment_.strategy(product);
            if (strategy.cuts[factor].size() <= i + 1) return false;
            std::swap(strategy.cuts[factor][i], strategy.cuts[factor][i + 1]);
            changes.push_back({.op = product, .strategy = std::move(strategy)});
          }
          assignment_.Apply(changes);
          return true;
        });
      }
    }
    return improved;
  }

  // Cuts dimension `dimension` (-1: none) of the values of `heads` by `axis`, and takes their bundles along.
  void CarryBundles(const Class& heads, AxisId axis, int dimension) {
    for (OpId head : heads) {
      const Rule& rule = assignment_.facts().rule(head);
      const Strategy without = Without(assignment_.strategy(head), axis);
      std::optional<Strategy> cut;
      if (dimension >= 0) {
        cut =
            WithDimensionCut(without, rule, assignment_.mesh(), rule.output, static_cast<size_t>(dimension), axis, {});
      }
      MoveAxis(assignment_, bundles_, head, assignment_.Intern(head, cut.value_or(without)), axis);
    }
  }

  bool MoveBundles(const Class& heads, const std::vector<AxisId>& axes) {
    bool improved = false;
    const int rank = assignment_.facts().op(heads[0]).type.rank();
    for (int dimension = -1; dimension < rank && !Spent(); ++dimension) {
      const Cost before = assignment_.cost();
      const int mark = assignment_.mark();
      for (AxisId axis : axes) CarryBundles(heads, axis, dimension);
      if (Cheaper(assignment_.cost(), before)) {
        improved = true;
      } else {
        assignment_.Rollback(mark);
      }
    }
    return improved;
  }

  // Two products with light ops between them change together on one axis: neither pays alone.
  bool MovePairs(const std::vector<Class>& products, const GraphFacts& facts) {
    bool improved = false;
    for (const Class& first : products) {
      for (const Class& second : products) {
        if (Spent()) return improved;
        if (first == second || !Adjacent(facts, first[0], second[0])) continue;
        for (AxisId axis : axes_) improved |= MovePair(first, second, axis);
      }
    }
    return improved;
  }

  bool Adjacent(const GraphFacts& facts, OpId first, OpId second) const {
    for (const Read& read : facts.reads[first]) {
      if (read.reader == second) return true;
      const int bundle = bundles_.bundle_of[read.reader];
      for (OpId input : facts.op(second).inputs) {
        if (bundle >= 0 && bundles_.bundle_of[input] == bundle) return true;
      }
    }
    return false;
  }

  bool MovePair(const Class& first, const Class& second, AxisId axis) {
    const GraphFacts& facts = assignment_.facts();
    const int first_factors = static_cast<int>(facts.rule(first[0]).factors.size());
    const int second_factors = static_cast<int>(facts.rule(second[0]).factors.size());
    Class both = first;
    both.insert(both.end(), second.begin(), second.end());
    bool improved = false;
    for (int f = 0; f < first_factors; ++f) {
      if (f == FactorCutBy(assignment_.strategy(first[0]), axis)) continue;
      for (int s = 0; s < second_factors && !Spent(); ++s) {
        if (s == FactorCutBy(assignment_.strategy(second[0]), axis)) continue;
        improved |= Try(both, {axis}, [&] { return Move(first, {axis}, f) && Move(second, {axis}, s); });
      }
    }
    return improved;
  }

  // One light op at a time: where in a bundle a redistribution happens.
  bool MoveSingleLightOps(const std::vector<Class>& heads) {
    bool improved = false;
    for (const Class& head : heads) {
      const auto& bundle = bundles_.bundles[static_cast<size_t>(bundles_.bundle_of[head[0]])];
      for (OpId op : bundle) {
        if (assignment_.fixed(op)) continue;
        const Rule& rule = assignment_.facts().rule(op);
        for (AxisId axis : axes_) {
          for (int factor = -1; factor < static_cast<int>(rule.factors.size()) && !Spent(); ++factor) {
            const Strategy without = Without(assignment_.strategy(op), axis);
            std::optional<Strategy> cut = without;
            if (factor >= 0) cut = WithFactorCut(without, rule, assignment_.mesh(), factor, axis, {});
            if (!cut.has_value() || *cut == assignment_.strategy(op)) continue;
            const Cost before = assignment_.cost();
            const int mark = assignment_.mark();
            assignment_.Apply(std::vector<Change>{{op, *cut}});
            if (Cheaper(assignment_.cost(), before)) {
              improved = true;
            } else {
              assignment_.Rollback(mark);
            }
          }
        }
      }
    }
    return improved;
  }

  Assignment& assignment_;
  const Bundles& bundles_;
  int64_t last_;  // The work at which to stop.
  std::vector<AxisId> axes_;
};

}  // namespace

std::vector<std::vector<OpId>> FoldedClasses(const GraphFacts& facts, const std::vector<OpId>& ops) {
  std::map<std::string, size_t> index;
  std::vector<Class> classes;
  for (OpId op : ops) {
    const auto [found, is_new] =
        index.emplace(absl::StrCat(Place(facts.op(op).name), "|", facts.rule_of[op]), classes.size());
    if (is_new) classes.emplace_back();
    classes[found->second].push_back(op);
  }
  return classes;
}

bool Refine(Assignment& assignment, const Bundles& bundles, const RefineOptions& options) {
  return Refinement(assignment, bundles, options.work).Run();
}

}  // namespace cleave
