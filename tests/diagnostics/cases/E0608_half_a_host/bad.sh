compile good.model --cluster h100x8 --devices 12 --plan-only --quiet
