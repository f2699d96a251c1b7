PATH=/nowhere "$(command -v compile)" good.model --run --quiet
