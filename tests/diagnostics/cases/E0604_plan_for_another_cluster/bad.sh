compile good.model --devices 8 --out plain --quiet
compile good.model --plan plain/plan.json --cluster h100x8 --plan-only --quiet
