"""What check_instrumentor runs of acme-agents."""

import weakref

from acme_agents import Agent, Team, Use

TASK = "How deep is the water over the bar?"
ANSWER = "The bar is four metres deep at low water."
PRAISE = "Four metres will do for our draught."


class Exercise:
    texts = (TASK, "page 4: four metres", ANSWER, PRAISE)

    def run(self):
        team = self._team([Use("read_page", {"page": 4}), ANSWER])
        self._made = weakref.ref(team)
        return team.run(TASK)

    def fail(self, error):
        self._team([error]).run(TASK)

    def stream(self):
        return self._team([Use("read_page", {"page": 4}), ANSWER]).stream(TASK)

    def patched(self):
        return [(Team, "stream"), (Agent, "reply"), (Agent, "ask"), (Agent, "use")]

    def agents(self):
        return [Agent("pilot", len), self._team([])]

    def made(self):
        return [self._made]

    def _team(self, lines):
        def read_page(page):
            return f"page {page}: four metres"

        pilot = Agent("pilot", scripted(lines), {"read_page": read_page})
        return Team("voyage", [pilot, Agent("captain", scripted([PRAISE]))])


def scripted(lines):
    """A model that says its lines one after the other."""
    left = iter(lines)

    def model(request):
        line = next(left)
        if isinstance(line, Exception):
            raise line
        return line

    return model
