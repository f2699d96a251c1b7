// Training graphs that the tests of the search share.
#ifndef CLEAVE_SEARCH_TESTING_MODELS_H_
#define CLEAVE_SEARCH_TESTING_MODELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/mesh/mesh.h"
#include "ir/strategy/strategy.h"

namespace cleave::testing {

// Dense layers (matmul with a transposed weight, bias, relu but after the last) of `widths` on a batch, the mean
// absolute error, SGD. The layers' matmuls are named "h0", "h1", …; their weights "w0", "w1", ….
Graph Mlp(int64_t batch, const std::vector<int64_t>& widths);

// 784-512-512-1, batch 256.
Graph SeedNetwork();

struct GptShape {
  int64_t batch = 8;
  int64_t seq = 32;
  int64_t vocab = 64;
  int64_t width = 64;
  int64_t heads = 4;
  int layers = 2;
};

// A decoder of pre-norm transformer blocks with learned positions and cross entropy, AdamW.
Graph Gpt(const GptShape& shape);

// A chain of matmuls without anything between, "m0", "m1", …: sizes[0] x sizes[1], times sizes[1] x sizes[2], …; not
// differentiated.
Graph MatmulChain(const std::vector<int64_t>& sizes);

// The strategy of a matmul whose letters say what each axis of `mesh`, outermost first, cuts: i, j or k. `order` gives
// the order in which the axes enter the factors (indexes into the mesh); empty: mesh order.
Strategy Letters(const Graph& graph, const Mesh& mesh, OpId matmul, const std::string& letters,
                 const std::vector<int>& order = {});

// The letters of a strategy.
std::string LettersOf(const Graph& graph, const Mesh& mesh, OpId matmul, const Strategy& strategy);

}  // namespace cleave::testing

#endif  // CLEAVE_SEARCH_TESTING_MODELS_H_
