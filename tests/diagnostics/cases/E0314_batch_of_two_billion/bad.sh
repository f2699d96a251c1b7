compile bad.model --devices 1 --out out --quiet
