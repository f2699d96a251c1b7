// What states are after a step of training: `update mean = 0.9 * mean + 0.1 * batch_mean;`.
#ifndef CLEAVE_FRONTEND_EVALUATE_UPDATES_H_
#define CLEAVE_FRONTEND_EVALUATE_UPDATES_H_

#include <map>

#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

class Updates {
 public:
  // `update name = value;` in `frame`: an update of the graph, or a report of what is wrong with it. `is_mapped`:
  // inside of a mapped call, which has a value for each element.
  void Run(const dsl::syntax::Update& update, const Value& value, Frame& frame, bool is_mapped, const Context& context);

 private:
  std::map<ir::OpId, Span> places_;  // By state, where its update stands.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_UPDATES_H_
