compile goood.model --plan-only --quiet
