"""Server-streaming RPCs as Server-Sent Events: one Subscribe a stream and process, any number of readers."""
