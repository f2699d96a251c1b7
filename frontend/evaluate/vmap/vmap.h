// `vmap(f)(x, w)`: f is expanded on tensors that stand for one element each, and then made for all (ir/transforms/vectorize).
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

// What mapped calls need of others.
struct VmapHooks {
  // Expands the call for one element. While it runs, ValueFor gives the values of its arguments.
  std::function<Value(const CallSite& element)> call;
  // Everything that has noted something of an op moves it: `removed` are ops of one element, in whose place `batched`
  // has put others.
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

  // `vmap` is the call of that name, `site` that of what it gives. `regions`: whose border may go around both.
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
