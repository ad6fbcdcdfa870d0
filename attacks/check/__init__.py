"""The attackers' own unit tests: do they find what is there, and nothing where nothing is?"""
