compile good.model --target cuda --quiet
