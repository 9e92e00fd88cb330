"""Agents of your own, without a framework: say what happens, be watched like any other.

Run it with ``python app.py``. The clerk asks the same shelf again and again; the third time
mastwatch says so, while the loop is still going.
"""

import mastwatch

STOCK = {"A": "empty", "B": "12 boxes"}


def look(shelf: str) -> str:
    return STOCK[shelf]


def main() -> None:
    mastwatch.instrument()
    mastwatch.on_finding(
        lambda f: print(f"{f.mode} {f.severity.label}: {f.agent}, row {f.message_index}")
    )
    with mastwatch.run("stock check", task="Find twelve boxes.") as run:
        mastwatch.message("Planner", "Find a shelf with twelve boxes.", to="Clerk")
        for _ in range(4):
            mastwatch.message("Clerk", "I look at shelf A for the twelve boxes.", to="Planner")
            with mastwatch.tool("look", {"shelf": "A"}, agent="Clerk") as call:
                call.result = look("A")
        mastwatch.outcome(success=False)
    print(f"run {run.id}")


if __name__ == "__main__":
    main()
