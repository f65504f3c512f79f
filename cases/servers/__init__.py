"""Cases in which a server is judged: the mock against the corpus, the live server against the corpus, one against the other."""
