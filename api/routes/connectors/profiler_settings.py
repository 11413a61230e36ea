"""What OpenMetadata's profiler asks before it measures: which metrics are switched off.

None are, because which of them a run takes is said in its own configuration.
"""

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.signatures import AnyRequest, route

_NAME = "profilerConfiguration"
_SETTINGS = {"config_type": _NAME, "config_value": {"metricConfiguration": []}}


def profiler_settings_routes() -> list[HTTPRouteHandler]:
    """The route of the profiler's settings."""

    def settings(_: AnyRequest) -> Finished:
        return Finished(msgspec.json.encode(_SETTINGS))

    path = f"/v1/system/settings/{_NAME}"
    return [route("GET", path, Permission(Action.VIEW), settings, {})]
