compile good.model --cluster h10x8 --plan-only --quiet
