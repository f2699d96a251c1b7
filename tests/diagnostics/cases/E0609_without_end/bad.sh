compile good.model --launch rank-table /dev/zero --quiet
