compile good.model --set bach=16 --plan-only --quiet
