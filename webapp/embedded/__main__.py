"""`python -m webapp.embedded` is `make run`."""

import sys

from webapp.embedded.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
