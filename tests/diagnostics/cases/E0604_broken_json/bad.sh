compile good.model --out plain --quiet
head -c 200 plain/plan.json > short.json
mv short.json plain/plan.json
compile good.model --plan plain/plan.json --plan-only --quiet
