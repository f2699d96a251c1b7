touch results
compile good.model --out results/small --quiet
