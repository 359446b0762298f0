"""`python -m proxy` is `turnscope-proxy`."""

from .cli import main

if __name__ == "__main__":
    main()
