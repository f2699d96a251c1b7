compile good.model --plan /dev/zero --plan-only --quiet
