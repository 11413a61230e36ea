"""Exits 0 when the catalog of this container answers `/healthz`, and 1 otherwise.

The health check of the image runs it with Python alone: no proxy of the environment is asked.
"""

import http.client
import os
import sys

TIMEOUT_SECONDS = 4
"""Less than the timeout of the health check in the Dockerfile, so that the reason is printed."""


def main() -> None:
    """Ask `/healthz` on the port that the server listens on; exits with a sentence if it fails."""
    port = os.environ["CATALOG_PORT"]
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"port {port} does not answer: {error!r}")
    if status != http.client.OK:
        sys.exit(f"/healthz answers {status}")


if __name__ == "__main__":
    main()
