"""YAML as plain values, whoever wrote it: a run's options come along with the run."""

from typing import Any

import yaml

MOST = 10_000  # values of a file; an alias counts as all that it stands for
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is there


def read(text: str) -> Any:
    """What ``text`` holds. Raises YAMLError: no YAML, a value that there is not (a 13th month),
    nested without end, or more than ``MOST`` values."""
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_number(node)
        return loader.construct_document(node)
    except (ValueError, RecursionError) as error:
        raise yaml.YAMLError(type(error).__name__) from None


def _check_number(root: yaml.Node) -> None:
    """Before values are made of them, as which a few aliases of each other fill any memory."""
    pending, number = [root], 0
    while pending:
        node, number = pending.pop(), number + 1
        if isinstance(node, yaml.MappingNode):
            pending += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            pending += node.value
        if number + len(pending) > MOST:
            raise yaml.YAMLError("too many values")
