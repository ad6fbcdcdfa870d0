"""What an evaluation shows while it works."""

from attacks.evaluation.processes.work import Silent


class Shown(Silent):
    """Keeps the lines, and the states of the work."""

    def __init__(self):
        self.said, self.states = [], []

    def show(self, state):
        self.states.append(state)

    def say(self, line):
        self.said.append(line)
