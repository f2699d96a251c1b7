compile good.model --devices 8 --out plain --quiet
compile good.model --plan plain/plan.json --cluster cpu --plan-only --quiet
