"""``anonymize recommend``, which the package that attacks brings along."""

from anonymize.plugins import plugin

command = plugin("anonymize.commands", "recommend")
