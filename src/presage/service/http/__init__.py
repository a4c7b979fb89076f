"""The service over HTTP: what is asked, who may ask, and what is answered."""
