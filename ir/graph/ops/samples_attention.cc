#include "ir/graph/ops/sample_maker.h"

namespace cleave::ir {
namespace {

// The value of an op on whole inputs.
Tensor ValueOf(OpKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs) {
  const OpDefinition& definition = DefinitionOf(kind);
  std::vector<TensorType> types;
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) {
    types.push_back({DType::kF32, input.shape});
    pointers.push_back(&input);
  }
  if (attributes.Get(attribute::kRanges)) types.end()[-1].dtype = types.end()[-2].dtype = DType::kI32;
  const TensorType output = std::get<TensorType>(definition.infer(types, attributes));
  Tensor value = Zeros(output.shape);
  definition.evaluate({.attributes = attributes,
                       .inputs = pointers,
                       .ranges = WholeRanges(definition.rule(types, output, attributes)),
                       .output = value});
  return value;
}

// `own`, which are some of the inputs of an op, with its bias and ranges behind them.
std::vector<Tensor> WithOthers(const Attributes& attributes, std::vector<Tensor> own,
                               const std::vector<Tensor>& inputs) {
  const int others = (attributes.Get(attribute::kBiased) ? 1 : 0) + (attributes.Get(attribute::kRanges) ? 2 : 0);
  own.insert(own.end(), inputs.end() - others, inputs.end());
  return own;
}

Tensor LogsumexpOf(const Attributes& attributes, const std::vector<Tensor>& inputs) {
  return ValueOf(OpKind::kAttentionLogsumexp, attributes, WithOthers(attributes, {inputs[0], inputs[1]}, inputs));
}

// q, k, v, logsumexp
void CompleteForward(const Attributes& attributes, std::vector<Tensor>& inputs) {
  inputs[3] = LogsumexpOf(attributes, inputs);
}

// q, k, v, y, logsumexp, dy
void CompleteGradient(const Attributes& attributes, std::vector<Tensor>& inputs) {
  inputs[4] = LogsumexpOf(attributes, inputs);
  inputs[3] =
      ValueOf(OpKind::kAttention, attributes, WithOthers(attributes, {inputs[0], inputs[1], inputs[2]}, inputs));
}

// q, k, logsumexp, dy
void CompleteValueGradient(const Attributes& attributes, std::vector<Tensor>& inputs) {
  inputs[2] = LogsumexpOf(attributes, inputs);
}

// The tensors of one attention.
struct Case {
  InputForm q, k, v, y, logsumexp;
  std::vector<InputForm> others;  // Bias, first and end, or none of them.
  Attributes attributes;

  std::vector<InputForm> Inputs(std::vector<InputForm> own) const {
    own.insert(own.end(), others.begin(), others.end());
    return own;
  }
};

// With heads inside of rows and outside, in groups and not, with samples and without; with all ways to see keys.
std::vector<Case> CasesOf(Maker& maker) {
  std::vector<Case> cases;
  int64_t rows = maker.Size();
  int64_t columns = maker.Size();
  const int64_t head = maker.Size(), of_values = maker.Size(), key_heads = maker.Size();
  const auto add = [&](const Shape& leading, int64_t heads, int64_t of_keys, const Ints& inside,
                       const Attributes& sight) {
    const auto shape = [&](size_t part, int64_t own_heads, int64_t own_rows) {
      Shape sizes = leading;
      sizes.push_back(inside[part] != 0 ? own_rows : own_heads);
      sizes.push_back(inside[part] != 0 ? own_heads : own_rows);
      sizes.push_back(part < 2 ? head : of_values);
      return InputForm{sizes};
    };
    Shape statistics = leading;
    statistics.insert(statistics.end(), {heads, rows});
    cases.push_back({.q = shape(0, heads, rows),
                     .k = shape(1, of_keys, columns),
                     .v = shape(2, of_keys, columns),
                     .y = shape(3, heads, rows),
                     .logsumexp = {statistics},
                     .attributes = sight});
    cases.back().attributes.Set(attribute::kFactor, 0.7);
    cases.back().attributes.Set(attribute::kHeadsInside, inside);
    std::vector<InputForm>& others = cases.back().others;
    if (sight.Has(attribute::kBiased)) others.push_back({{heads, rows + columns}});
    if (sight.Has(attribute::kRanges)) {
      Shape of_rows = leading;
      of_rows.push_back(rows);
      others.insert(others.end(), 2, {of_rows, Fill::kLabels});
    }
  };
  add({2}, key_heads, key_heads, {1, 1, 1, 1}, {{attribute::kCausal, true}});
  add({}, key_heads, key_heads, {0, 0, 0, 0}, {});
  add({2}, 2 * key_heads, key_heads, {0, 1, 0, 1},
      {{attribute::kCausal, true}, {attribute::kWindow, 2}, {attribute::kCap, 1.5}});
  add({2}, 2 * key_heads, key_heads, {1, 1, 0, 1},
      {{attribute::kRate, 0.4}, {attribute::kKey, "h1.attn.dropout"}, {attribute::kCap, 1.2}});
  add({2}, 2 * key_heads, key_heads, {0, 0, 1, 1}, {{attribute::kBiased, true}, {attribute::kCausal, true}});
  add({1, 2}, 3, 1, {1, 0, 1, 0}, {{attribute::kRanges, true}, {attribute::kBiased, true}});
  add({2}, 2, 2, {1, 1, 1, 1}, {{attribute::kCausal, true}, {attribute::kRanges, true}, {attribute::kCap, 0.8}});
  rows = 4 * maker.Size();
  add({2}, 2, 2, {1, 1, 1, 1}, {{attribute::kCausal, true}, {attribute::kZigzag, 2}});
  add({}, 4, 2, {0, 1, 0, 0}, {{attribute::kCausal, true}, {attribute::kZigzag, 2}, {attribute::kWindow, 3}});
  add({2}, 2, 1, {1, 0, 1, 1}, {{attribute::kCausal, true}, {attribute::kZigzag, 1}, {attribute::kRanges, true}});
  rows = columns = 6;  // On two and on three ranks.
  add({}, 2, 1, {1, 1, 0, 1}, {{attribute::kCausal, true}, {attribute::kCap, 1.5}, {attribute::kRing, true}});
  add({}, 2, 2, {0, 0, 0, 0}, {{attribute::kRanges, true}, {attribute::kRing, true}});
  return cases;
}

}  // namespace

void AddAttentionSamples(Forms& forms) {
  forms[OpKind::kAttention] = [](Maker& maker) {
    for (const Case& one : CasesOf(maker)) {
      maker.Add(one.Inputs({one.q, one.k, one.v}), one.attributes);
      maker.Add(one.Inputs({one.q, one.k, one.v, one.logsumexp}), one.attributes, CompleteForward);
    }
  };
  forms[OpKind::kAttentionLogsumexp] = [](Maker& maker) {
    for (const Case& one : CasesOf(maker)) maker.Add(one.Inputs({one.q, one.k}), one.attributes);
  };
  for (const OpKind kind :
       {OpKind::kAttentionGradientQuery, OpKind::kAttentionGradientKey, OpKind::kAttentionGradientBias}) {
    forms[kind] = [kind](Maker& maker) {
      for (const Case& one : CasesOf(maker)) {
        if (kind == OpKind::kAttentionGradientBias && !one.attributes.IsSet(attribute::kBiased)) continue;
        maker.Add(one.Inputs({one.q, one.k, one.v, one.y, one.logsumexp, one.y}), one.attributes, CompleteGradient);
      }
    };
  }
  forms[OpKind::kAttentionGradientValue] = [](Maker& maker) {
    for (const Case& one : CasesOf(maker))
      maker.Add(one.Inputs({one.q, one.k, one.logsumexp, one.y}), one.attributes, CompleteValueGradient);
  };
}

}  // namespace cleave::ir
