compile good.model --plan-only --quiet --expect good.model
