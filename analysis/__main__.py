"""`python -m analysis`: the same as the command `turnscope`."""

from .cli import main

if __name__ == "__main__":
    main()
