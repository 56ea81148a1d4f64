"""The kernel: a library that every deployable builds on; never deployed alone, knows no business noun."""
