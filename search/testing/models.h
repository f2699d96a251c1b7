// Training graphs that the tests of the search share.
#ifndef CLEAVE_SEARCH_TESTING_MODELS_H_
#define CLEAVE_SEARCH_TESTING_MODELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::search::testing {

// Dense layers (matmul with a transposed weight, bias, relu but after the last) of `widths` on a batch, the mean
// absolute error, SGD. The layers' matmuls are named "h0", "h1", …; their weights "w0", "w1", ….
ir::Graph Mlp(int64_t batch, const std::vector<int64_t>& widths);

// 784-512-512-1, batch 256.
ir::Graph SeedNetwork();

struct GptShape {
  int64_t batch = 8;
  int64_t seq = 32;
  int64_t vocab = 64;
  int64_t width = 64;
  int64_t heads = 4;
  int layers = 2;
};

// A decoder of pre-norm transformer blocks with learned positions and cross entropy, AdamW.
ir::Graph Gpt(const GptShape& shape);

// 175 billion parameters in 96 blocks (Brown et al. 2020, table 2.1; the vocabulary is padded) on `batch` sequences of
// 2,048 tokens. With more than 5 the scores of a block's attention pass the largest tensor that there may be (E0410).
GptShape Gpt3(int64_t batch);

struct ExpertsShape {
  int64_t tokens = 64;
  int64_t width = 32;
  int64_t hidden = 64;
  int64_t experts = 4;
  int layers = 2;
};

// Pre-norm blocks of a dense mixture of experts (a softmax router, experts of two layers stacked in one weight each)
// between two dense layers, mean squared error, AdamW.
ir::Graph MixtureOfExperts(const ExpertsShape& shape);

// Two products, "by_rows" and "by_columns", read one value, "relu", which is made by light ops from that of a product,
// "first"; their sum, the mean squared error, SGD. All values are rows x columns.
ir::Graph TwoReaders(int64_t rows, int64_t columns);

// A dense layer, the least value of each of its columns, which the backward pass reshapes and compares with the layer's
// values; softplus, the mean, SGD.
ir::Graph LeastOfColumns(int64_t rows, int64_t columns);

// Two branches of the same shape on one input of 16 x 64: a wide product ("left", "right") whose value is flattened, so
// that a cut of its columns goes no further; their sum, the mean squared error, SGD.
ir::Graph TwinBranches();

// A dense layer, "h0", on a batch of rows; each row of its value and the one `by` rows before it, of the first ones the
// last, through a second layer, "h1". The rows that change places are the slices "last" and "others", joined in
// "rolled"; the mean squared error, SGD.
ir::Graph Rolled(int64_t rows, int64_t width, int64_t by);

// A chain of matmuls with nothing between them, "m0", "m1", …: sizes[0] x sizes[1], times sizes[1] x sizes[2], …; not
// differentiated.
ir::Graph MatmulChain(const std::vector<int64_t>& sizes);

// The strategy of a matmul whose letters say what each axis of `mesh`, outermost first, cuts: i, j or k. `order` gives
// the order in which the axes enter the factors (indexes into the mesh); empty: mesh order.
ir::Strategy Letters(const ir::Graph& graph, const ir::Mesh& mesh, ir::OpId matmul, const std::string& letters,
                     const std::vector<int>& order = {});

// The letters of a strategy.
std::string LettersOf(const ir::Graph& graph, const ir::Mesh& mesh, ir::OpId matmul, const ir::Strategy& strategy);

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_MODELS_H_
