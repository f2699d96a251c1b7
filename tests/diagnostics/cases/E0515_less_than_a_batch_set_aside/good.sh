compile good.model --quiet
