"""The tests: a package, so that what they share is imported by full name (`from tests.site import …`)."""
