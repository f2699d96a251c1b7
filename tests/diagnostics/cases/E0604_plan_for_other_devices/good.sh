compile good.model --devices 2 --out plain --quiet
compile good.model --plan plain/plan.json --devices 2 --plan-only --quiet
