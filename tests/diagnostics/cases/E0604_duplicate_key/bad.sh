compile good.model --out plain --quiet
sed -i 's/"version": *1/"version": 1, "version": 1/' plain/plan.json
compile good.model --plan plain/plan.json --plan-only --quiet
