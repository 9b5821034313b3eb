"""``python -m bundler.worker FLAVOUR``: start a zygote whose control socket is descriptor 0."""

import sys

from bundler.worker.zygote import main

if __name__ == "__main__":
    main(sys.argv[1])
