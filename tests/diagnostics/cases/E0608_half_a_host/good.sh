compile good.model --cluster h100x8 --devices 8 --plan-only --quiet
