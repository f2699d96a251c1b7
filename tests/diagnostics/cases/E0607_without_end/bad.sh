compile good.model --cluster /dev/zero --plan-only --quiet
