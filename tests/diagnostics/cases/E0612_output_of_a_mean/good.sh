compile good.model --mode predict --output y --plan-only --quiet
