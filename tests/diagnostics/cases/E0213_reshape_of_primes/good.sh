compile good.model --devices 2 --out out --quiet
