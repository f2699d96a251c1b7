// `neighbor_exchange_v2`: adds the borders of eight neighbours to images that are cut in space.
#ifndef CLEAVE_FRONTEND_EVALUATE_RANKS_HALO_H_
#define CLEAVE_FRONTEND_EVALUATE_RANKS_HALO_H_

#include "frontend/evaluate/frame/context.h"

namespace cleave::frontend {

Value ExchangeHalo(const CallSite& site, const Context& context);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_RANKS_HALO_H_
