// The name of an op. The ops of repeated layers share one text, in which '#' stands for the layer's number:
//
//   OpName("h1.matmul").ToString() == "h1.matmul"
//   OpName("x.#.norm1.layer_norm", 3).ToString() == "x.3.norm1.layer_norm"
#ifndef CLEAVE_RUNTIME_TRACE_OP_NAME_H_
#define CLEAVE_RUNTIME_TRACE_OP_NAME_H_

#include <cstdint>
#include <string>

namespace cleave::runtime {

struct OpName {
  OpName(const char* text) : text(text) {}  // NOLINT: implicit on purpose.
  OpName(const char* text, int64_t layer) : text(text), layer(layer) {}

  std::string ToString() const;

  bool operator==(const OpName& other) const { return text == other.text && layer == other.layer; }

  const char* text;    // Outlives the name, as string literals do; equal texts are one.
  int64_t layer = -1;  // -1: the op is in no repeated layer.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRACE_OP_NAME_H_
