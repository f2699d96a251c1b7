compile good.model --cluster h100x8 --plan-only --quiet
