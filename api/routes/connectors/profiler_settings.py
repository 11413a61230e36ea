"""What OpenMetadata's profiler asks before it measures: which metrics are switched off.

None are, because which of them a run takes is said in its own configuration.
"""

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest

_NAME = "profilerConfiguration"
_SETTINGS = {"config_type": _NAME, "config_value": {"metricConfiguration": []}}


def profiler_settings_routes() -> list[HTTPRouteHandler]:
    """The route of the profiler's settings."""

    def settings(_: AnyRequest) -> Finished:
        return Finished(msgspec.json.encode(_SETTINGS))

    operation = Operation(
        "getProfilerSettings",
        "Get the settings of the profiler",
        "What OpenMetadata's profiler asks before it measures; nothing is set.",
        answer="ProfilerSettings",
    )
    return [operation.at("GET", f"/v1/system/settings/{_NAME}", Permission(Action.VIEW), settings)]
