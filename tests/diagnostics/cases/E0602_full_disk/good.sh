compile good.model --emit graph > graph.ir
