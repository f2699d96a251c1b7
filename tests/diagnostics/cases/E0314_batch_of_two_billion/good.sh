compile good.model --devices 1 --out out --quiet
