// Several sources as one.
#ifndef CLEAVE_RUNTIME_DATA_MIXTURE_H_
#define CLEAVE_RUNTIME_DATA_MIXTURE_H_

#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// An epoch has as many samples as all parts together, and of each part the share of its weight, rounded. A part is read
// in epochs of its own, one after another, each in an order of its own: so the share of a part may be a fraction of it,
// or it several times. What is set aside and what is tested is that of all parts, whatever their weights.
DataSpec Mix(std::vector<DataSpec> parts, std::vector<double> weights);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_MIXTURE_H_
