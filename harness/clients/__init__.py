"""Ways to run a client: inside this process, or as a program that speaks JSON Lines. Start at ``spec.open_client``."""
