// Numbers that tell paths of parameters apart.
//
//   h = relu(dense(h, 64));
//   h = relu(dense(h, 64));    The paths of what this statement makes begin with h_1, not h.
//
// A statement gets a number if a parameter that it makes would have the name of one that another statement of the same
// body has made. That is seen when it has happened, so the model is expanded once more with the numbers that are known
// by then. Names that are not made twice stay as they are, whatever stands elsewhere. A statement has one number in all
// passes of a loop.
#ifndef CLEAVE_FRONTEND_EVALUATE_PATH_NUMBERS_H_
#define CLEAVE_FRONTEND_EVALUATE_PATH_NUMBERS_H_

#include <map>
#include <utility>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/frame.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

class PathNumbers {
 public:
  // An id for one more call of a function.
  int NewFrame() { return frames_++; }

  // The place of the calls in a statement of the calls at `place`.
  int Within(int place, const dsl::syntax::Statement* statement);

  // The number of a statement of the calls at `place`; 0 for none.
  int NumberOf(int place, const dsl::syntax::Statement* statement) const;

  // Notes that two ways lead to one path; false if no number can tell them apart.
  bool Collide(const TextTrail& first, const TextTrail& again);

  // Gives a number to each statement that has collided, so that nothing in `graph` has its new paths. Returns whether
  // there is one: then all of them are to be expanded again.
  bool Settle(const ir::Graph& graph);

 private:
  using Key = std::pair<int, const dsl::syntax::Statement*>;

  int frames_ = 0;
  std::map<Key, int> places_;
  std::map<Key, int> numbers_;
  std::vector<TextStep> collided_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PATH_NUMBERS_H_
