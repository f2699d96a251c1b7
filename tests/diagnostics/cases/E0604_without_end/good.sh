compile good.model --out plain --quiet
cat plain/plan.json | compile good.model --plan /dev/stdin --plan-only --quiet
