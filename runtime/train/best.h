// Private to runtime/train: the best evaluation so far, and whether a better one is still waited for.
#ifndef CLEAVE_RUNTIME_TRAIN_BEST_H_
#define CLEAVE_RUNTIME_TRAIN_BEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// "min(loss)"; empty where nothing is looked for.
std::string CriterionText(const Criterion& criterion);

class Best {
 public:
  // `patience`: after how many evaluations without a better one training stops; 0: it does not.
  Best(const Criterion& criterion, int64_t patience);

  bool is_on() const { return so_far_.has_value(); }
  const std::string& measure() const { return criterion_.measure; }
  const std::optional<BestSoFar>& so_far() const { return so_far_; }

  // Goes on from what a checkpoint says, unless that is about another criterion.
  void GoOnFrom(const std::optional<BestSoFar>& then);

  // An evaluation after `step` steps. Returns whether it is the best so far; a value that is not finite never is.
  bool Take(int64_t step, double value);

  bool patience_is_over() const { return is_on() && patience_ > 0 && so_far_->since >= patience_; }

  // "min(loss) is 0.3125, of step 400"
  std::string Text() const;

 private:
  const Criterion criterion_;
  const int64_t patience_;
  std::optional<BestSoFar> so_far_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_BEST_H_
