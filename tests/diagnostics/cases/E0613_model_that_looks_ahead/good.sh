compile good.model --mode generate --plan-only --quiet
