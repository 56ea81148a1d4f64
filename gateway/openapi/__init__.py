"""The OpenAPI 3.1 document, out of the same descriptors as the routes, and the page that shows it."""
