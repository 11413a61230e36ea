"""`python -m benchmarks.screenshots DIRECTORY`: pictures of the main pages, for the README.

They show the generated sample catalog, at two widths, light and dark, in the chromium of the
machine. Nothing is in them but what `generate.py` makes up.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import click
import msgspec
from playwright.sync_api import Browser, sync_playwright

from benchmarks.generate import lines
from benchmarks.running import Server, running
from benchmarks.small_png import smaller
from benchmarks.workspace import catch_up, load
from projections.wiring.stores import open_stores

ENTITIES = 1_500
SIZES = {"wide": (900, 430), "narrow": (390, 640)}
_BINARIES = ("chromium", "chromium-browser", "google-chrome")


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def main(directory: Path) -> None:
    """Take all pictures into DIRECTORY, as `search-wide-dark.png`."""
    binary = next((path for name in _BINARIES if (path := shutil.which(name))), None)
    if binary is None:
        raise click.ClickException("no browser: install chromium")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as data:
        _fill(Path(data))
        command = [sys.executable, "-m", "api.commands", "serve", "--port", "0", "--data", data]
        with running(Path(data), command, role="admin") as server, sync_playwright() as driver:
            # Who runs this in a container is root, and a container has no sandbox of its own.
            browser = driver.chromium.launch(executable_path=binary, args=["--no-sandbox"])
            _take(browser, server, directory)
            browser.close()


def _take(browser: Browser, server: Server, directory: Path) -> None:
    addresses = _addresses(server)
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                base_url=f"http://{server.host}:{server.port}",
                viewport={"width": width, "height": height},
                color_scheme=scheme,
            )
            page = context.new_page()
            page.goto("/sign-in")
            page.get_by_label("A token of the API").fill(server.token)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("/")
            for name, address in addresses.items():
                page.goto(address)
                if name == "audit":
                    page.locator(".event summary").first.click()
                picture = smaller(page.screenshot())
                (directory / f"{name}-{size}-{scheme}.png").write_bytes(picture)
            context.close()


def _addresses(server: Server) -> dict[str, str]:
    """Name of each picture -> the page that it is of."""

    def first(path: str) -> str:
        found = msgspec.json.decode(server.ask(path))["data"]
        return quote(
            max(found, key=lambda each: len(each.get("description") or ""))["fullyQualifiedName"]
        )

    return {
        "home": "/",
        "search": "/search?q=customer",
        "table": f"/entity/table/{first('/v1/tables?limit=50')}",
        "contract": f"/entity/dataContract/{first('/v1/dataContracts?limit=50')}",
        "audit": "/audit",
        "activity": "/activity?days=30",
        "operation": "/operation",
    }


def _fill(directory: Path) -> None:
    stores = open_stores(directory)
    try:
        load(stores.log, lines(ENTITIES))
        catch_up(stores)
    finally:
        stores.close()


if __name__ == "__main__":
    main()
