"""The service over HTTP: access, requests, responses and the server."""
