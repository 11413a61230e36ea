"""Tells where a read model keeps less of the past than the setting asks for."""

import logging

from domain.reading.horizon import Horizon

log = logging.getLogger("catalog.projections")


def remedy(name: str) -> str:
    """The command that brings back the removed past of a read model.

    Without `--force` it builds nothing: what is kept equals the log.
    """
    return f"catalog-replay rebuild {name} --force"


def log_shortened(name: str, horizon: Horizon, due: int) -> None:
    """Warn where a read model keeps less of the past than is asked for, and say what mends it.

    So it is after the days were raised: what was removed before stays away. `due` is the position
    up to which the past need not be kept.
    """
    if horizon.position > due:
        log.warning(
            "less of the past is kept than CATALOG_HISTORY_DAYS asks for",
            extra={
                "projection": name,
                "horizon": horizon.position,
                "at": horizon.at,
                "mend": remedy(name),
            },
        )
