// An uninterpreted function in place of the body of an op that a model defines, which the compiler cannot run.
//
// It has exactly the structure that the op's rule declares, and nothing else in common with the body. Let p be the
// indexes of parallel factors, r of reduced, w of whole ones in an input and v of whole ones in the output. Then
//
//   y[p, v] = a(v) * sum over r of at(p, r) * sin(1 + sum over inputs j in no linear group of c_j m_j)
//                                           * product over linear groups of (sum over inputs j of the group of c_j m_j)
//   m_j     = sum over w of b_j(w) x_j[p, r, w]                                 (of p and r those that x_j has)
//
// with weights a, b, c and `at` between 0.5 and 1.5 that follow from the op's name and global indexes. So each result
// depends on every element that it may depend on, on its place in the whole, and not linearly where linearity is not
// declared. A partition that breaks the rule changes the result. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_CUSTOM_REFERENCE_H_
#define CLEAVE_IR_GRAPH_OPS_CUSTOM_REFERENCE_H_

#include <string>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {

class CustomReference {
 public:
  // `rule`: of the op itself (also for its gradients), with its linear groups. All tensors are local to `ranges`.
  CustomReference(const std::string& name, const Rule& rule, absl::Span<const FactorRange> ranges);

  void Forward(absl::Span<const Tensor* const> inputs, Tensor& output);

  // Adds the derivative of sum(dy * y) by input `input` to `gradient`.
  void Backward(const Tensor& dy, absl::Span<const Tensor* const> inputs, size_t input, Tensor& gradient);

 private:
  // m_j of one input, over those of its factors that may be cut.
  struct Mixture {
    std::vector<double> values;
    std::vector<int64_t> strides;
  };

  bool IsWhole(int factor) const { return rule_.factors[static_cast<size_t>(factor)].kind == FactorKind::kWhole; }
  // The factors of a tensor that are whole, or those that are not.
  std::vector<int> FactorsOf(const std::vector<FactorList>& dimensions, bool whole) const;
  double WeightAt(uint64_t purpose, const std::vector<int>& factors) const;
  double InputWeight(size_t input) const;
  // Room for one number per local index of the factors of input `input` that may be cut.
  Mixture EmptyMixture(size_t input) const;
  Mixture Mixed(const Tensor& tensor, size_t input);
  // The term of the sum at `index_`; where `by` is an input i, its derivative by m_i.
  double Term(const std::vector<Mixture>& mixtures, std::optional<size_t> by) const;
  std::vector<Mixture> MixedInputs(absl::Span<const Tensor* const> inputs);

  const Rule& rule_;
  absl::Span<const FactorRange> ranges_;
  uint64_t seed_;
  std::vector<int> group_of_;   // Per input its linear group, -1 for none.
  std::vector<int> cut_;        // Factors that may be cut, of all tensors.
  std::vector<int64_t> index_;  // Where the walk is, per factor.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_CUSTOM_REFERENCE_H_
