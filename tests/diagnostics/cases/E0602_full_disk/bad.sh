compile good.model --emit graph > /dev/full
