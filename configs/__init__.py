"""Configurations of `--config NAME`, installed as `anonymize.configs`."""
