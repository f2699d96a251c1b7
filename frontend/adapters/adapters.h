// `adapt = lora(rank = 16, alpha = 32, on = "*.attn.*")`: adapters beside the weights whose names match, which are
// trained, and no other parameters but those that match `also`.
#ifndef CLEAVE_FRONTEND_ADAPTERS_ADAPTERS_H_
#define CLEAVE_FRONTEND_ADAPTERS_ADAPTERS_H_

#include <set>
#include <string>

#include "frontend/evaluate/expansion.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"

namespace cleave::frontend {

// Adds the adapters to `model` (ir/transforms/adapt), and what is demanded of a product to the ops beside it. Returns
// the names of the parameters that are trained no more. Reports patterns without parameters, and weights that can have
// no adapter; then nothing changes.
std::set<std::string> AddAdapters(const AdaptSetting& setting, Expansion& model, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ADAPTERS_ADAPTERS_H_
