printf '// Gr\366\337e\n' > bad.model
compile bad.model --plan-only --quiet
