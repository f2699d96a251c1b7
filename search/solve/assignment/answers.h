// Memoizes a function of two small numbers. Private to search/solve/assignment.
//
//   Answers<int> lying_like(/*unknown=*/-1);
//   if (lying_like.Of(rule, layout) < 0) lying_like.Set(rule, layout, …);
//
// Arrays rather than a hash map: a search asks millions of times, mostly what it asked before. A row is one of pages,
// of which only those with answers are there: in a graph whose layers all differ, rows are many and columns too, and
// nearly all pairs have none.
#ifndef CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_
#define CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_

#include <array>
#include <cstddef>
#include <memory>
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
    if (r >= rows_.size() || c / kPage >= rows_[r].size()) return unknown_;
    const std::unique_ptr<Page>& page = rows_[r][c / kPage];
    return page == nullptr ? unknown_ : (*page)[c % kPage];
  }

  void Set(int row, int column, Answer answer) {
    const auto r = static_cast<size_t>(row), c = static_cast<size_t>(column);
    if (r >= rows_.size()) rows_.resize(r + 1);
    if (c / kPage >= rows_[r].size()) rows_[r].resize(c / kPage + 1);
    std::unique_ptr<Page>& page = rows_[r][c / kPage];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      page->fill(unknown_);
    }
    (*page)[c % kPage] = answer;
  }

 private:
  static constexpr size_t kPage = 64;  // Answers.
  using Page = std::array<Answer, kPage>;

  Answer unknown_;
  std::vector<std::vector<std::unique_ptr<Page>>> rows_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ANSWERS_H_
