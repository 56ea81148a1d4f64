"""Treadle's deployables, one package each; they meet only in generated stubs and in the kernel library."""
