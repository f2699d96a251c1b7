compile good.model --out plain --quiet
compile good.model --plan plain/plan.json --plan-only --quiet
