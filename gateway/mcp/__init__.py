"""Tools for agents: the Model Context Protocol at `/mcp`, made from the descriptors (design/gateway.md)."""
