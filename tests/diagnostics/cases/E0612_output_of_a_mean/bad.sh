compile good.model --mode predict --output size --plan-only --quiet
