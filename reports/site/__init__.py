"""The site of drift and compatibility: static pages, made of what captures, specification and runs say."""
