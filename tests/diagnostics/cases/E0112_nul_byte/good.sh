compile good.model --plan-only --quiet
