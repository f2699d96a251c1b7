// `vmap(f)(x, w)`: f is expanded on tensors that stand for one element each, and then made for all
// (ir/transforms/vectorize).
#ifndef CLEAVE_FRONTEND_EVALUATE_VMAP_VMAP_H_
#define CLEAVE_FRONTEND_EVALUATE_VMAP_VMAP_H_

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "frontend/evaluate/frame/budget.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/pins/regions.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

// Functions of other pieces that mapped calls need.
struct VmapHooks {
  // Expands the call for one element. While it runs, ValueFor gives the values of its arguments.
  std::function<Value(const CallSite& element)> call;
  // Tells every piece that keeps something about ops to move it: `removed` are ops of one element, which `batched` has
  // replaced by others.
  std::function<void(const std::vector<ir::Op>& removed, const ir::Vectorized& batched)> move_notes;
};

class Vmap {
 public:
  Vmap(VmapHooks hooks, Budget& budget) : hooks_(std::move(hooks)), budget_(budget) {}

  // Whether what is expanded now is a mapped call.
  bool is_mapped() const { return depth_ > 0; }

  // The value of an argument of the mapped call that is expanded now: the tensor that stands for one element. Null for
  // other expressions.
  const Value* ValueFor(const dsl::syntax::Expression& expression) const;

  // `vmap` is the call of that name, `site` the call of the function that it returns. `regions`: the regions whose
  // border may go around both.
  Value Call(const dsl::syntax::Call& vmap, const CallSite& site, Regions& regions, const Context& context);

 private:
  Value ForAllElements(const Value& result, ir::OpId first, const std::vector<ir::MappedInput>& inputs, Span span,
                       const Context& context);

  VmapHooks hooks_;
  Budget& budget_;
  int depth_ = 0;
  std::map<const dsl::syntax::Expression*, Value> values_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_VMAP_VMAP_H_
