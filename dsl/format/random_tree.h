// Random syntax trees for the laws of the formatter.
#ifndef CLEAVE_DSL_FORMAT_RANDOM_TREE_H_
#define CLEAVE_DSL_FORMAT_RANDOM_TREE_H_

#include <cstdint>

#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

// A file as Parse could return it, except that all spans are empty. `size` is about the number of items; every
// kind of node appears sooner or later. The same seed gives the same tree.
syntax::File RandomTree(uint64_t seed, int size);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_FORMAT_RANDOM_TREE_H_
