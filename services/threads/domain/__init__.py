"""Pure: states, commands, events, the table, decide and evolve. Knows no database, network, clock or gRPC."""
