compile bad.model --devices 2 --out out --quiet
