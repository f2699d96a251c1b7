// Memoizes a function of two small numbers. Private to search/solve/assignment.
//
//   Answers<int> lying_like(/*unknown=*/-1);
//   if (lying_like.Of(rule, layout) < 0) lying_like.Set(rule, layout, …);
//
// An array rather than a hash map: a search asks millions of times, mostly what it asked before.
#ifndef CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_
#define CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_

#include <cstddef>
#include <vector>

namespace cleave::search {

template <typename Answer>
class Answers {
 public:
  // `unknown`: a value that is no answer.
  explicit Answers(Answer unknown) : unknown_(unknown) {}

  // The answer, or `unknown`. REQUIRES (as for Set): the numbers are not negative.
  Answer Of(int row, int column) const {
    const auto r = static_cast<size_t>(row), c = static_cast<size_t>(column);
    return r < rows_.size() && c < rows_[r].size() ? rows_[r][c] : unknown_;
  }

  void Set(int row, int column, Answer answer) {
    const auto r = static_cast<size_t>(row), c = static_cast<size_t>(column);
    if (r >= rows_.size()) rows_.resize(r + 1);
    if (c >= rows_[r].size()) rows_[r].resize(c + 1, unknown_);
    rows_[r][c] = answer;
  }

 private:
  Answer unknown_;
  std::vector<std::vector<Answer>> rows_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_
