compile bad.model --quiet
