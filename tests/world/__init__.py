"""beeline against packages of other people, each set in a virtual environment of its own."""
