"""``python -m tacit``: the command line."""

from tacit.cli.main import run

if __name__ == "__main__":
    run()
