compile good.model --set batch=16 --plan-only --quiet
