compile bad.model --run --launch local --quiet
