"""A person looks at every picture of a release, accepts it or sends it to quarantine."""
