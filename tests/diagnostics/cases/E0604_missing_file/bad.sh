compile good.model --plan nowhere.json --plan-only --quiet
