"""The tests: a package, so that helpers are imported by full name (`from tests.site import …`)."""
