compile good.model --out plain --quiet
sed 's/dense(x, 3)/dense(x, 5)/' good.model > wider.model
compile wider.model --plan plain/plan.json --plan-only --quiet
