compile good.model --devices 8 --plan-only --quiet
