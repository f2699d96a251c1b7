compile good.model --cluster cpu --plan-only --quiet
